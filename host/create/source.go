package create

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/validate"
)

// sources knows the definitions that were read, and where the folders of an author's paths lie.
type sources struct {
	base   string // the folder of the package
	places map[string]*validate.Places
	// mounts are folders that stand in for what was fetched: paths of the definition that begin with
	// the key lie below the value.
	mounts map[string]string
}

// read reads a definition on disk.
func (s *sources) read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the definition: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, definition.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the definition %q: %w", file, err)
	}
	return data, s.know(file, data)
}

// know remembers where in a definition what is.
func (s *sources) know(name string, data []byte) error {
	p, err := validate.NewPlaces(name, data)
	if err != nil {
		return fmt.Errorf("reading the definition: %w", err)
	}
	s.places[name] = p
	return nil
}

// place is where an author wrote something, for people.
func (s *sources) place(p compose.Place) string {
	if known := s.places[p.Source]; known != nil {
		return known.At(p.Path...)
	}
	return p.Source
}

// errOutside is the reason for not following a link.
var errOutside = errors.New("it is a link, or lies behind one, that leads out of the folder")

// located is where a path of the definition lies, with the folder that links in it may not leave.
type located struct {
	path, root string
}

// locate finds what a path of the definition names. The folder that links may not leave is the
// package's, or the one that the steps up at the path's beginning lead to.
func (s *sources) locate(p string) (located, error) {
	root, rest := s.base, filepath.FromSlash(p)
	switch mount, inside, ok := s.mounted(p); {
	case ok:
		root, rest = mount, filepath.FromSlash(inside)
	case filepath.IsAbs(rest):
		root, rest = filepath.Split(filepath.Clean(rest))
	default:
		rest = filepath.Clean(rest)
		for up := ".." + string(filepath.Separator); strings.HasPrefix(rest, up); rest = rest[len(up):] {
			root = filepath.Join(root, "..")
		}
		if rest == ".." {
			root, rest = filepath.Join(root, ".."), "."
		}
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return located{}, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return located{}, err
	}
	real, err := follow(filepath.Join(root, rest), root)
	return located{path: real, root: root}, err
}

func (s *sources) mounted(p string) (mount, inside string, ok bool) {
	for prefix, folder := range s.mounts {
		if p == prefix {
			return folder, ".", true
		}
		if inside, ok := strings.CutPrefix(p, prefix+"/"); ok {
			return folder, inside, true
		}
	}
	return "", "", false
}

// follow is what a path leads to, if that is in the folder.
func follow(path, root string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if !within(real, root) {
		return "", fmt.Errorf("%q: %w", path, errOutside)
	}
	return real, nil
}

func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// maxTree bounds how many files a folder that is packed may have.
const maxTree = 1_000_000

// walk calls fn for every file below a folder, with its path in it. Links are followed, so long as they
// stay in the root; one that leads around in a circle does not.
func (l located) walk(ctx context.Context, fn func(inside, file string, info os.FileInfo) error) error {
	count := 0
	var visit func(dir, inside string, above []string) error
	visit = func(dir, inside string, above []string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if count++; count > maxTree {
				return fmt.Errorf("the folder has more than %d files", maxTree)
			}
			file, err := follow(filepath.Join(dir, e.Name()), l.root)
			if err != nil {
				return err
			}
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			name := filepath.Join(inside, e.Name())
			switch {
			case info.IsDir():
				for _, a := range above {
					if a == file {
						return fmt.Errorf("%q is a link to a folder that it lies in", filepath.Join(dir, e.Name()))
					}
				}
				if err := fn(filepath.ToSlash(name), file, info); err != nil {
					return err
				}
				if err := visit(file, name, append(above[:len(above):len(above)], file)); err != nil {
					return err
				}
			case info.Mode().IsRegular():
				if err := fn(filepath.ToSlash(name), file, info); err != nil {
					return err
				}
			default:
				return fmt.Errorf("%q is neither a file nor a folder", filepath.Join(dir, e.Name()))
			}
		}
		return nil
	}
	return visit(l.path, "", []string{l.path})
}

// definitionIn is the definition of a package's folder.
func definitionIn(folder string) string { return filepath.Join(folder, bundle.DefinitionPath) }
