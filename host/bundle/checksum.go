package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Integrity says what was checked when a package was opened, for people who have to show it.
type Integrity struct {
	// Files is how many files were checked against checksums.txt.
	Files int
	// Digest is the package's digest, "" if it has none.
	Digest string
	// OK says that every file is what its definition vouches for.
	OK bool
	// Reason says why OK is false.
	Reason string
	// OnDemand says that files are fetched, and their bytes verified, when they are read. When the
	// package was opened, what the registry declares of them was checked in their place.
	OnDemand bool
}

// parseChecksums reads the content of checksums.txt: lines of a sha256, one space and a path.
// The error is a reason to refuse the package.
func parseChecksums(data []byte, limits Limits) (map[string]string, error) {
	sums := map[string]string{}
	seen := newNames(limits, "")
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) == 0 {
			continue // a package without files has one empty line
		}
		sum, name, ok := strings.Cut(string(line), " ")
		if !ok || !isSHA256(sum) {
			return nil, fmt.Errorf("line %d is not a sha256, a space and a path", n)
		}
		clean, reason := seen.add(name, false)
		if reason == "" {
			reason = plainName(name)
		}
		if reason == "" && clean != name {
			reason = "path is not in its shortest form"
		}
		if reason != "" {
			return nil, fmt.Errorf("line %d: %q: %s", n, name, reason)
		}
		sums[name] = sum
	}
	return sums, nil
}

func isSHA256(s string) bool {
	if len(s) != sha256.Size*2 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// verify compares the files of a package with its checksums.txt, and that with the definition.
func verify(pkg *spec.Package, files []File, checksums []byte, limits Limits) (Integrity, error) {
	aggregate := pkg.Metadata.AggregateChecksum
	if checksums == nil {
		if aggregate != "" {
			return Integrity{}, refuse(ChecksumsPath, "missing, though %s declares its checksum", DefinitionPath)
		}
		return Integrity{Reason: "the package has no " + ChecksumsPath}, nil
	}
	if got := hashOf(checksums); aggregate != "" && got != aggregate {
		return Integrity{}, refuse(ChecksumsPath, "aggregate checksum is %s, %s declares %s", got, DefinitionPath, aggregate)
	}
	sums, err := parseChecksums(checksums, limits)
	if err != nil {
		return Integrity{}, &RefusedError{File: ChecksumsPath, Reason: err.Error()}
	}
	checked := 0
	for _, f := range files {
		want, listed := sums[f.Path]
		switch {
		case listed && want != f.SHA256:
			return Integrity{}, refuse(f.Path, "checksum is %s, %s declares %s", f.SHA256, ChecksumsPath, want)
		case listed:
			checked++
		case !exempt(pkg, f.Path):
			return Integrity{}, refuse(f.Path, "not listed in %s", ChecksumsPath)
		}
	}
	if checked < len(sums) {
		return Integrity{}, refuse(firstMissing(sums, files), "listed in %s but missing", ChecksumsPath)
	}
	if aggregate == "" {
		return Integrity{Files: checked, Reason: DefinitionPath + " has no aggregateChecksum, so nothing vouches for " + ChecksumsPath}, nil
	}
	return Integrity{Files: checked, OK: true}, nil
}

// exempt reports whether a file need not be in checksums.txt. What a signed definition names as
// provenance counts only if it is no part of the payload: until its signature is verified, the
// definition must not be able to exempt what will be installed.
func exempt(pkg *spec.Package, path string) bool {
	switch path {
	case DefinitionPath, ChecksumsPath, SignaturePath, LegacySignaturePath:
		return true
	case ValuesYAMLPath, ValuesSchemaPath, DocumentationPath, SBOMPath:
		return false
	}
	signed := pkg.Build.Signed != nil && *pkg.Build.Signed
	return signed && !strings.Contains(path, "/") && slices.Contains(pkg.Build.ProvenanceFiles, path)
}

func firstMissing(sums map[string]string, files []File) string {
	have := make(map[string]bool, len(files))
	for _, f := range files {
		have[f.Path] = true
	}
	missing := ""
	for path := range sums {
		if !have[path] && (missing == "" || cmp.Less(path, missing)) {
			missing = path
		}
	}
	return missing
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
