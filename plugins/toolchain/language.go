package toolchain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Language is one that plugins are written in.
type Language string

// The languages.
const (
	Go             Language = "go"
	C              Language = "c"
	Rust           Language = "rust"
	AssemblyScript Language = "assemblyscript"
)

// Languages returns all of them.
func Languages() []Language { return []Language{Go, C, Rust, AssemblyScript} }

// ParseLanguage reads a language's name.
func ParseLanguage(name string) (Language, error) {
	if l := Language(name); slices.Contains(Languages(), l) {
		return l, nil
	}
	return "", fmt.Errorf("language %q is none of %s", name, list(Languages()))
}

// Detect says in which language a folder's plugin is written, by the files that its compiler wants. A
// folder that two compilers want, or none, is an error.
func Detect(dir string) (Language, error) {
	if info, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("looking for a plugin's sources: %w", err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("%q is no folder: name the one with the plugin's sources", dir)
	}
	var found []Language
	for _, sign := range []struct {
		language Language
		pattern  string
	}{{Go, "*.go"}, {C, "*.c"}, {Rust, "Cargo.toml"}, {AssemblyScript, "asconfig.json"}} {
		matches, err := filepath.Glob(filepath.Join(escaped(dir), sign.pattern))
		if err != nil {
			return "", fmt.Errorf("looking for a plugin's sources in %q: %w", dir, err)
		}
		if len(matches) > 0 {
			found = append(found, sign.language)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &noSourcesError{dir}
	default:
		return "", fmt.Errorf("%q has sources for %s: a plugin is written in one language", dir, list(found))
	}
}

type noSourcesError struct{ dir string }

func (e *noSourcesError) Error() string {
	return fmt.Sprintf("%q has no sources of a plugin: no *.go, *.c, Cargo.toml or asconfig.json", e.dir)
}

// Hint says how sources come to be.
func (e *noSourcesError) Hint() string {
	return "`zarf-host plugin init --lang " + strings.Join(names(Languages()), "|") + " DIR` writes a plugin to begin with"
}

// IsMissing says whether an error means that a language's compiler is not on this machine.
func IsMissing(err error) bool { return errors.As(err, new(*MissingError)) }

// MissingError says that something which a language's plugins are built with is not on this machine.
type MissingError struct {
	Language Language
	// What is missing, such as clang.
	What string
	// Get says how it is had.
	Get string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("plugins in %s are built with %s, which is not on this machine", e.Language, e.What)
}

// Hint says how the missing thing is had.
func (e *MissingError) Hint() string { return e.Get }

func names(languages []Language) []string {
	out := make([]string, len(languages))
	for i, l := range languages {
		out[i] = string(l)
	}
	return out
}

func list(languages []Language) string { return strings.Join(names(languages), ", ") }

// escaped is a path as a pattern that only it fits.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
