package bundle_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/spec"
)

const plainDefinition = `kind: ZarfPackageConfig
metadata:
  name: hostile
  version: 0.1.0
components:
- name: web
  required: true
  manifests:
  - name: maps
    files:
    - one.yaml
`

var plainFiles = map[string]string{"one.yaml": "kind: ConfigMap\n"}

// hostile is a kind of package that must be refused, naming file and reason.
type hostile struct {
	kind   string
	o      packagetest.Options
	limits bundle.Limits
	file   string // part of RefusedError.File
	reason string // part of RefusedError.Reason
}

func appendEntry(e ...packagetest.Entry) func([]packagetest.Entry) []packagetest.Entry {
	return func(entries []packagetest.Entry) []packagetest.Entry { return append(entries, e...) }
}

// inComponent appends entries to the tar of the one component.
func inComponent(e ...packagetest.Entry) packagetest.Options {
	return packagetest.Options{Component: func(_ string, entries []packagetest.Entry) []packagetest.Entry { return append(entries, e...) }}
}

func inPackage(e ...packagetest.Entry) packagetest.Options {
	return packagetest.Options{Entries: appendEntry(e...)}
}

func replaced(name string, change func([]byte) []byte) packagetest.Options {
	return packagetest.Options{Entries: func(entries []packagetest.Entry) []packagetest.Entry {
		for i, e := range entries {
			if e.Name == name {
				entries[i].Body = change(e.Body)
			}
		}
		return entries
	}}
}

func without(name string) packagetest.Options {
	return packagetest.Options{Entries: func(entries []packagetest.Entry) []packagetest.Entry {
		return slices.DeleteFunc(entries, func(e packagetest.Entry) bool { return e.Name == name })
	}}
}

func bytesOf(change func([]byte) []byte) packagetest.Options {
	return packagetest.Options{Archive: change}
}

func file(name string) packagetest.Entry {
	return packagetest.Entry{Name: name, Mode: 0o600, Body: []byte("x")}
}

func symlink(name, target string) packagetest.Entry {
	return packagetest.Entry{Name: name, Type: tar.TypeSymlink, Link: target}
}

func hardLink(name, target string) packagetest.Entry {
	return packagetest.Entry{Name: name, Type: tar.TypeLink, Link: target}
}

func built(change func(*spec.Package)) packagetest.Options {
	return packagetest.Options{Name: "hostile", Built: change}
}

func deep(n int) string { return strings.Repeat("d/", n) + "x" }

// namesAndKinds are the rules that hold for the entries of the package and of component tars alike.
func namesAndKinds(prefix string, wrap func(...packagetest.Entry) packagetest.Options) []hostile {
	in := func(kind string, e packagetest.Entry, file, reason string) hostile {
		return hostile{kind: kind, o: wrap(e), file: file, reason: reason}
	}
	p := prefix
	return []hostile{
		in("dot-dot", file("../evil"), "../evil", `leaves the tree with ".."`),
		in("dot-dot inside", file(p+"a/../../evil"), "a/../../evil", `leaves the tree with ".."`),
		in("dot-dot with backslashes", file(p+`a\..\..\evil`), "evil", `leaves the tree with ".."`),
		in("absolute path", file("/etc/evil"), "/etc/evil", "absolute path"),
		in("absolute path of Windows", file(`C:\evil`), "evil", "absolute path"),
		in("absolute path with backslash", file(`\evil`), "evil", "absolute path"),
		in("path not in its shortest form", file(p+"a//b"), "a//b", "shortest form"),
		in("path too deep", file(p+deep(10_000)), "d/d/d/", "name too long"),
		in("path too deep for its length", file(p+deep(1_000)), "d/d/d/", "too deep"),
		in("symbolic link that leaves the tree", symlink(p+"l", "../../etc/passwd"), p+"l", "link leaves the tree"),
		in("symbolic link to an absolute path", symlink(p+"l", "/etc/passwd"), p+"l", "link leaves the tree"),
		in("symbolic link that may go through another link", symlink(p+"l", "a/../x"), p+"l", "link leaves the tree"),
		in("hard link that leaves the tree", hardLink(p+"l", "../../etc/passwd"), p+"l", "hard link leaves the tree"),
		in("hard link", hardLink(p+"l", p+"x"), p+"l", "hard link"),
		in("character device", packagetest.Entry{Name: p + "d", Type: tar.TypeChar}, p+"d", "device file"),
		in("block device", packagetest.Entry{Name: p + "d", Type: tar.TypeBlock}, p+"d", "device file"),
		in("named pipe", packagetest.Entry{Name: p + "d", Type: tar.TypeFifo}, p+"d", "named pipe"),
		in("unknown type", packagetest.Entry{Name: p + "d", Type: 'Z'}, p+"d", "unknown type"),
		{kind: "sparse file", o: wrap(packagetest.Entry{Name: "x", Raw: sparseEntry(p + "sparse")}), file: p + "sparse", reason: "sparse"},
		{kind: "sparse file by its extended header", o: wrap(packagetest.Entry{Name: "x", Raw: paxEntry("GNU.sparse.realsize", "1073741824")}), file: "x", reason: "sparse"},
		{kind: "duplicate entry", o: wrap(file(p+"twin"), file(p+"twin")), file: p + "twin", reason: "duplicate entry"},
		{kind: "duplicate entry by case", o: wrap(file(p+"twin"), file(p+"Twin")), file: p + "Twin", reason: "by case only"},
		{kind: "duplicate entry by case beyond ASCII", o: wrap(file(p+"straK"), file(p+"stra\u212a")), file: p + "stra\u212a", reason: "by case only"},
		{kind: "duplicate folder by case", o: wrap(file(p+"twin/a"), file(p+"TWIN/b")), file: p + "TWIN/b", reason: "by case only"},
		{kind: "file and folder of one name", o: wrap(file(p+"twin"), file(p+"twin/a")), file: p + "twin/a", reason: "not a folder"},
		{kind: "folder and file of one name", o: wrap(file(p+"twin/a"), file(p+"twin")), file: p + "twin", reason: "duplicate entry"},
		{kind: "NUL in a name", o: wrap(packagetest.Entry{Name: "x", Raw: paxEntry("path", p+"a\x00b")}), file: "", reason: "malformed tar header"},
		{kind: "too many entries", o: wrap(file(p+"a"), file(p+"b"), file(p+"c")), limits: bundle.Limits{Entries: 5}, file: "", reason: "more entries than allowed"},
	}
}

// FAULTS I1 and I2, and SPEC 3: the package's own entries.
func TestI1OpenRefusesHostilePackages(t *testing.T) {
	cases := namesAndKinds("", inPackage)
	cases = append(cases,
		hostile{kind: "symbolic link that stays", o: inPackage(symlink("l", "zarf.yaml")), file: "l", reason: "links have no place"},
		hostile{kind: "file through a symbolic link", o: inPackage(symlink("l", "."), file("l/x")), file: "l", reason: "links have no place"},
		hostile{kind: "backslash", o: inPackage(file(`a\b`)), file: `a\b`, reason: "backslash"},
		hostile{kind: "newline", o: inPackage(file("a\nb")), file: "a\nb", reason: "control character"},
		hostile{kind: "not UTF-8", o: inPackage(packagetest.Entry{Name: "x", Raw: ustarEntry("a\xff", nil)}), file: "a\xff", reason: "not UTF-8"},
		hostile{kind: "second definition", o: inPackage(file("zarf.yaml")), file: "zarf.yaml", reason: "duplicate entry"},
		hostile{kind: "second definition by case", o: inPackage(file("Zarf.yaml")), file: "Zarf.yaml", reason: "by case only"},
		hostile{kind: "second definition by another spelling", o: inPackage(file("./zarf.yaml")), file: "zarf.yaml", reason: "duplicate entry"},

		hostile{kind: "file not in checksums.txt", o: inPackage(file("extra")), file: "extra", reason: "not listed in checksums.txt"},
		hostile{kind: "file missing", o: without("components/web.tar"), file: "components/web.tar", reason: "listed in checksums.txt but missing"},
		hostile{kind: "checksum mismatch", o: replaced("components/web.tar", func([]byte) []byte { return make([]byte, 1024) }), file: "components/web.tar", reason: "checksum is"},
		hostile{kind: "aggregate mismatch", o: replaced("checksums.txt", func(b []byte) []byte { return append(b, '\n') }), file: "checksums.txt", reason: "aggregate checksum is"},
		hostile{kind: "checksums.txt missing", o: without("checksums.txt"), file: "checksums.txt", reason: "missing"},
		hostile{kind: "checksums.txt malformed", o: packagetest.Options{Checksums: func(s string) string { return "zz " + s }}, file: "checksums.txt", reason: "line 1 is not a sha256"},
		hostile{kind: "checksums.txt with a twin", o: packagetest.Options{Checksums: func(s string) string { return s + s }}, file: "checksums.txt", reason: "duplicate entry"},
		hostile{kind: "checksums.txt with dot-dot", o: packagetest.Options{Checksums: func(s string) string { return strings.Replace(s, " components", " ../components", 1) }}, file: "checksums.txt", reason: `".."`},
		hostile{kind: "checksums.txt with NUL", o: packagetest.Options{Checksums: func(s string) string { return strings.Replace(s, ".tar", "\x00.tar", 1) }}, file: "checksums.txt", reason: "NUL in the name"},
		hostile{kind: "checksums.txt too large", limits: bundle.Limits{ChecksumsBytes: 50}, file: "checksums.txt", reason: "allowed are 50"},
		hostile{kind: "payload exempted as provenance", o: packagetest.Options{
			Signed: true,
			Built: func(p *spec.Package) {
				p.Build.ProvenanceFiles = append(p.Build.ProvenanceFiles, "components/evil.tar", "values.yaml")
			},
			Entries: appendEntry(file("values.yaml")),
		}, file: "values.yaml", reason: "not listed"},

		hostile{kind: "zarf.yaml missing", o: without("zarf.yaml"), file: "zarf.yaml", reason: "missing"},
		hostile{kind: "zarf.yaml over 1 MiB", o: replaced("zarf.yaml", func(b []byte) []byte { return append(b, bytes.Repeat([]byte("#"), 1<<20)...) }), file: "zarf.yaml", reason: "allowed are 1048576"},
		hostile{kind: "zarf.yaml that is none", o: replaced("zarf.yaml", func([]byte) []byte { return []byte("a: [") }), file: "zarf.yaml", reason: "not a package definition"},
		hostile{kind: "build time missing", o: built(func(p *spec.Package) { p.Build.Timestamp = "yesterday" }), file: "zarf.yaml", reason: "no digest"},

		hostile{kind: "package name as a path", o: built(func(p *spec.Package) { p.Metadata.Name = "a/b" }), file: "zarf.yaml", reason: `metadata.name "a/b"`},
		hostile{kind: "package name dot-dot", o: built(func(p *spec.Package) { p.Metadata.Name = ".." }), file: "zarf.yaml", reason: `metadata.name ".."`},
		hostile{kind: "version as a path", o: built(func(p *spec.Package) { p.Metadata.Version = `1\2` }), file: "zarf.yaml", reason: "metadata.version"},
		hostile{kind: "flavor as a path", o: built(func(p *spec.Package) { p.Build.Flavor = "../x" }), file: "zarf.yaml", reason: "build.flavor"},
		hostile{kind: "architecture as a path", o: built(func(p *spec.Package) { p.Build.Architecture = "../x" }), file: "zarf.yaml", reason: "build.architecture"},
		hostile{kind: "base version as a path", o: built(func(p *spec.Package) { p.Build.DifferentialPackageVersion = "a/b" }), file: "zarf.yaml", reason: "build.differentialPackageVersion"},
		hostile{kind: "component name as a path", o: built(func(p *spec.Package) { p.Components[0].Name = "../web" }), file: "zarf.yaml", reason: `component name "../web"`},
		hostile{kind: "chart name as a path", o: built(func(p *spec.Package) { p.Components[0].Charts = []spec.Chart{{Name: "a/b"}} }), file: "zarf.yaml", reason: `chart name "a/b"`},
		hostile{kind: "manifest name as a path", o: built(func(p *spec.Package) { p.Components[0].Manifests[0].Name = `a\b` }), file: "zarf.yaml", reason: "manifest name"},

		hostile{kind: "truncated archive", o: bytesOf(func(b []byte) []byte { return b[:len(b)-20] }), file: "hostile", reason: "truncated archive"},
		hostile{kind: "trailing garbage", o: bytesOf(func(b []byte) []byte { return append(b, "garbage!"...) }), file: "hostile", reason: "trailing data"},
		hostile{kind: "trailing garbage in a frame", o: bytesOf(func(b []byte) []byte { return append(b, frame("garbage!")...) }), file: "hostile", reason: "trailing data"},
		hostile{kind: "corrupt archive", o: bytesOf(func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b }), file: "hostile", reason: ""},
		hostile{kind: "no archive", o: bytesOf(func([]byte) []byte { return bytes.Repeat([]byte("no tar "), 400) }), file: "hostile", reason: "malformed tar header"},
		hostile{kind: "empty file", o: bytesOf(func([]byte) []byte { return nil }), file: "hostile", reason: "truncated archive"},
		hostile{kind: "size over the one of the frame", o: bytesOf(understated), file: "hostile", reason: "size over the one that its frame declares"},
		hostile{kind: "entry larger than the rest of the archive", o: inPackage(packagetest.Entry{Name: "x", Raw: oversized("big")}), file: "hostile", reason: "truncated archive"},

		hostile{kind: "decompression bomb", o: inPackage(packagetest.Entry{Name: "bomb", Body: make([]byte, 80<<20)}), file: "hostile", reason: "decompression bomb: more than 250 times"},
		hostile{kind: "decompression bomb behind the end", o: bytesOf(func(b []byte) []byte { return append(b, frame(string(make([]byte, 80<<20)))...) }), file: "hostile", reason: "decompression bomb: more than 250 times"},
		hostile{kind: "more bytes than allowed", limits: bundle.Limits{Bytes: 4096}, file: "hostile", reason: "decompression bomb: more than the allowed 4096 bytes"},
		hostile{kind: "window larger than allowed", o: bytesOf(func([]byte) []byte { return hugeWindow() }), file: "hostile", reason: "window is larger"},
	)
	run(t, cases)
}

// The same rules hold in component tars, and are applied when the package is opened.
func TestI1OpenRefusesHostileComponents(t *testing.T) {
	cases := namesAndKinds("web/", inComponent)
	body := func(change func([]byte) []byte) packagetest.Options {
		return packagetest.Options{Content: func(entries []packagetest.Entry) []packagetest.Entry {
			for i, e := range entries {
				if e.Name == "components/web.tar" {
					entries[i].Body = change(e.Body)
				}
			}
			return entries
		}}
	}
	cases = append(cases,
		hostile{kind: "not in the component's folder", o: inComponent(file("other/x")), file: "other/x", reason: "folder of its component"},
		hostile{kind: "link to another component's folder", o: inComponent(symlink("web/l", "../other")), file: "web/l", reason: "link leaves the tree"},
		hostile{kind: "file through a symbolic link", o: inComponent(symlink("web/l", "manifests"), file("web/l/x")), file: "web/l/x", reason: "not a folder"},
		hostile{kind: "truncated tar", o: body(func(b []byte) []byte { return b[:len(b)-1024] }), file: "components/web.tar", reason: "truncated archive"},
		hostile{kind: "tar cut in a file", o: body(func(b []byte) []byte { return b[:1600] }), file: "components/web.tar", reason: "truncated archive"},
		hostile{kind: "trailing data", o: body(func(b []byte) []byte { return append(b, "garbage"...) }), file: "components/web.tar", reason: "trailing data"},
		hostile{kind: "no tar", o: body(func([]byte) []byte { return bytes.Repeat([]byte("no tar "), 400) }), file: "components/web.tar", reason: "malformed tar header"},
		hostile{kind: "entry larger than the tar", o: inComponent(packagetest.Entry{Name: "x", Raw: oversized("web/big")}), file: "components/web.tar", reason: "truncated archive"},
	)
	for i := range cases {
		if cases[i].file == "" {
			cases[i].file = "components/web.tar"
		}
	}
	run(t, cases)
}

func run(t *testing.T, cases []hostile) {
	good := packagetest.Build(t, t.TempDir(), plainDefinition, plainFiles)
	b, err := bundle.Open(context.Background(), good, bundle.Options{})
	if err != nil {
		t.Fatalf("the package that the cases change is refused itself: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			path := packagetest.BuildWith(t, t.TempDir(), plainDefinition, plainFiles, c.o)
			refusal(t, path, bundle.Options{Limits: c.limits}, c.file, c.reason)
		})
	}
}

// refusal opens a package that must be refused.
func refusal(t *testing.T, path string, o bundle.Options, file, reason string) {
	t.Helper()
	b, err := bundle.Open(context.Background(), path, o)
	if err == nil {
		b.Close()
		t.Fatal("the package was opened")
	}
	var refused *bundle.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("error is %v, want a *RefusedError", err)
	}
	if !strings.Contains(refused.File, file) || !strings.Contains(refused.Reason, reason) {
		t.Errorf("refused %q: %q, want %q: %q", refused.File, refused.Reason, file, reason)
	}
	if refused.Hint() == "" || !strings.Contains(err.Error(), path) {
		t.Errorf("error %q names not the package, or has no hint", err)
	}
}

// ustarEntry is one header block with a name that Go's writer would refuse, and content.
func ustarEntry(name string, content []byte) []byte {
	return rawEntry(name, tar.TypeReg, content, len(content))
}

func rawEntry(name string, kind byte, content []byte, size int) []byte {
	block := make([]byte, 512)
	copy(block, name)
	copy(block[100:], "0000600\x000000000\x000000000\x00")
	copy(block[124:], fmt.Sprintf("%011o\x00", size))
	copy(block[136:], "00000000000\x00        ")
	block[156] = kind
	copy(block[257:], "ustar\x0000")
	sum := 0
	for _, c := range block {
		sum += int(c)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	padded := make([]byte, (len(content)+511)/512*512)
	copy(padded, content)
	return append(block, padded...)
}

// paxEntry is a file whose extended header has one record, whatever is in it.
func paxEntry(key, value string) []byte {
	record := " " + key + "=" + value + "\n"
	n := len(record) + 1
	for len(fmt.Sprint(n))+len(record) != n {
		n++
	}
	return append(rawEntry("pax", tar.TypeXHeader, []byte(fmt.Sprint(n)+record), n), ustarEntry("x", nil)...)
}

// sparseEntry is a file of GNU's old sparse format: huge, with hardly any data.
func sparseEntry(name string) []byte {
	block := make([]byte, 512)
	copy(block, name)
	copy(block[100:], "0000600\x000000000\x000000000\x00")
	copy(block[124:], "00000000000\x00")
	copy(block[136:], "00000000000\x00        ")
	block[156] = tar.TypeGNUSparse
	copy(block[257:], "ustar  \x00")
	copy(block[386:], fmt.Sprintf("%011o\x00%011o\x00", 1<<30, 0)) // one fragment of nothing, at the end
	copy(block[483:], fmt.Sprintf("%011o\x00", 1<<30))
	sum := 0
	for _, c := range block {
		sum += int(c)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return block
}

// oversized declares a file far larger than what follows.
func oversized(name string) []byte { return rawEntry(name, tar.TypeReg, []byte("x"), 1<<30) }

func frame(content string) []byte {
	encoder, err := zstd.NewWriter(nil, zstd.WithWindowSize(8<<20))
	if err != nil {
		panic(err)
	}
	defer encoder.Close()
	return encoder.EncodeAll([]byte(content), nil)
}

// understated replaces the archive's frame by one that declares to be smaller than it is.
func understated(archive []byte) []byte {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		panic(err)
	}
	defer decoder.Close()
	plain, err := decoder.DecodeAll(archive, nil)
	if err != nil {
		panic(err)
	}
	// Descriptor: 4-byte content size; a window of 1 MiB; the size; one raw block.
	out := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, 10 << 3}
	declared := len(plain) - 512
	out = append(out, byte(declared), byte(declared>>8), byte(declared>>16), byte(declared>>24))
	header := len(plain)<<3 | 1 // last block, raw
	out = append(out, byte(header), byte(header>>8), byte(header>>16))
	return append(out, plain...)
}

// hugeWindow is a frame header that asks for a window of 2 GiB.
func hugeWindow() []byte {
	return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3}, 0x01, 0x00, 0x00)
}
