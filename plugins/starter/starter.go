package starter

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/sdk"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

//go:embed all:go all:c all:rust all:assemblyscript all:shared
var files embed.FS

// nameMark stands for the plugin's name in the files.
const nameMark = "@NAME@"

// Options say what is written.
type Options struct {
	Language toolchain.Language
	// Name is what the plugin is called; empty means as the folder.
	Name string
}

// Started is what was written.
type Started struct {
	Name  string
	Files []string // relative to the folder, with slashes, sorted
}

// Write writes a plugin to begin with into a folder that does not exist or is empty.
func Write(dir string, o Options) (Started, error) {
	if !slices.Contains(toolchain.Languages(), o.Language) {
		return Started{}, fmt.Errorf("there is no plugin to begin with in %q", o.Language)
	}
	if o.Name == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Started{}, fmt.Errorf("finding the folder: %w", err)
		}
		o.Name = filepath.Base(abs)
	}
	// The name of a plugin (host/hook), and of a Cargo and an npm package as well.
	if !regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(o.Name) {
		return Started{}, fmt.Errorf("no plugin can be called %q: names are lower-case letters, digits and dashes, begin with a letter and have at most 63; name the folder so, or set --name", o.Name)
	}
	contents, err := contentsOf(o)
	if err != nil {
		return Started{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Started{}, fmt.Errorf("making the plugin's folder: %w", err)
	}
	switch entries, err := os.ReadDir(dir); {
	case err != nil:
		return Started{}, fmt.Errorf("looking into the plugin's folder: %w", err)
	case len(entries) > 0:
		return Started{}, fmt.Errorf("%q is not empty: name a new folder", dir)
	}
	started := Started{Name: o.Name}
	for name := range contents {
		started.Files = append(started.Files, name)
	}
	slices.Sort(started.Files)
	for _, name := range started.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return Started{}, fmt.Errorf("writing the plugin: %w", err)
		}
		if err := os.WriteFile(file, contents[name], 0o644); err != nil {
			return Started{}, fmt.Errorf("writing the plugin: %w", err)
		}
	}
	return started, nil
}

// contentsOf returns the files of a plugin by their names.
func contentsOf(o Options) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, folder := range []string{"shared", string(o.Language)} {
		if err := collect(out, files, folder, ""); err != nil {
			return nil, err
		}
	}
	if o.Language == toolchain.Go {
		if err := collect(out, sdk.Source(), ".", "sdk"); err != nil {
			return nil, err
		}
		out["go.mod"] = []byte(goMod)
		for name := range out {
			if strings.HasPrefix(name, "sdk/") && (strings.HasSuffix(name, "_test.go") || name == "sdk/source.go") {
				delete(out, name) // what only this repository needs
			}
		}
	}
	for name, content := range out {
		out[name] = bytes.ReplaceAll(content, []byte(nameMark), []byte(o.Name))
	}
	return out, nil
}

// goMod is that of a plugin in Go. It is no file, since a folder with a go.mod cannot be embedded.
const goMod = `module ` + nameMark + `

go 1.22

require github.com/zarf-host/zarf-host/plugins/sdk v0.0.0

// The copy beside this file, so that the plugin builds without a network.
replace github.com/zarf-host/zarf-host/plugins/sdk => ./sdk
`

// collect reads the files of a folder into out, below a folder of its own.
func collect(out map[string][]byte, from fs.FS, folder, below string) error {
	err := fs.WalkDir(from, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		name = path.Join(below, strings.TrimPrefix(name, folder+"/"))
		if _, ok := out[name]; ok {
			return errors.New("two files are called " + name)
		}
		out[name] = content
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the files of a plugin to begin with: %w", err)
	}
	return nil
}
