package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

func (r *root) pluginTestCmd() *cobra.Command {
	var sandbox string
	var update bool
	cmd := &cobra.Command{
		Use:   "test [MODULE] DIR…",
		Short: "Hold what a plugin answers against what is wanted",
		Long: "Ask a plugin the requests of test folders, without a cluster, and hold what it says against what is\n" +
			"wanted there. Each folder in DIR that has a request.json is a test:\n\n" +
			"  request.json   what the plugin is asked; its config is the plugin's configuration\n" +
			"  answers.json   what it is answered when it asks, a list of {request, answer}; absent where it asks nothing\n" +
			"  response.json  the wanted response, however it is written\n" +
			"  call.json      {\"maxFuel\": N}, the most fuel that it may take; {\"error\": KIND} where it is wanted to fail\n\n" +
			"Without MODULE it is the one .wasm file beside the plugin.yaml of DIR, or of the next folder above.",
		Example: "  zarf-host plugin test guard.wasm testdata\n  zarf-host plugin test plugins/guard --update",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.pluginTest(cmd.Context(), args, sandbox, update)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write what the plugin says as what is wanted, and a ceiling for its fuel")
	sandboxFlag(cmd, &sandbox)
	r.outputFlag(cmd, "table", "json")
	return cmd
}

func (r *root) pluginTest(ctx context.Context, args []string, sandbox string, update bool) error {
	options, err := r.playOptions(sandbox)
	if err != nil {
		return err
	}
	suites, err := testSuites(args)
	if err != nil {
		return err
	}
	var tests []host.Tested
	for _, s := range suites {
		module, err := r.readPlugin(ctx, s.module)
		if err != nil {
			return err
		}
		done, err := host.TestPlugin(ctx, module, s.dirs, host.TestPluginOptions{PluginOptions: options, Update: update})
		tests = append(tests, done...)
		if err != nil {
			return err
		}
	}
	if r.format == "json" {
		err = r.writeDocument(tests)
	} else {
		err = render.Tested(r.streams.Out, tests)
	}
	if err != nil {
		return err
	}
	failed := 0
	for _, t := range tests {
		if len(t.Problems) > 0 {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d tests failed", failed, len(tests))
	}
	return nil
}

// likeGoTest lets `plugin test -update` be written with one dash, as authors know it from go test, where
// this command line's flags would take it for six letters.
func likeGoTest(args []string) []string {
	verb := slices.Index(args, "plugin")
	if verb < 0 || verb+1 >= len(args) || args[verb+1] != "test" {
		return args
	}
	out := slices.Clone(args)
	for i, arg := range out[verb+2:] {
		if arg == "-update" {
			out[verb+2+i] = "--update"
		}
	}
	return out
}

// suite is a module with the folders of its tests.
type suite struct {
	module string
	dirs   []string
}

// testSuites reads the arguments: a module and folders, or folders alone whose modules are found.
func testSuites(args []string) ([]suite, error) {
	named := strings.HasPrefix(args[0], "oci://")
	if !named {
		info, err := os.Stat(args[0])
		if err != nil {
			return nil, fmt.Errorf("looking for the plugin's tests: %w", err)
		}
		named = info.Mode().IsRegular()
	}
	if named {
		if len(args) == 1 {
			return nil, fmt.Errorf("which tests? name the folders that hold them: zarf-host plugin test %s DIR…", args[0])
		}
		return []suite{{args[0], args[1:]}}, nil
	}
	var out []suite
	for _, dir := range args {
		module, err := moduleOf(dir)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(out, func(s suite) bool { return s.module == module }); i >= 0 {
			out[i].dirs = append(out[i].dirs, dir)
			continue
		}
		out = append(out, suite{module, []string{dir}})
	}
	return out, nil
}

// moduleOf finds the module that the tests in a folder are of.
func moduleOf(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("looking for the module of %q: %w", dir, err)
	}
	for at := abs; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, "plugin.yaml"))
		switch {
		case err == nil:
			return onlyModule(at)
		case !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("looking for the module of %q: %w", dir, err)
		case at == filepath.Dir(at):
			return "", fmt.Errorf("which module are the tests in %q of? neither it nor a folder above has a plugin.yaml: "+
				"name the module first: zarf-host plugin test MODULE %s", dir, dir)
		}
	}
}

// onlyModule returns the one module in a plugin's folder.
func onlyModule(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("looking for a module: %w", err)
	}
	var modules []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".wasm" && !e.IsDir() {
			modules = append(modules, filepath.Join(dir, e.Name()))
		}
	}
	if len(modules) != 1 {
		return "", fmt.Errorf("the folder %q has %d modules, not one: build it, or name the module first: zarf-host plugin test MODULE DIR…", dir, len(modules))
	}
	return modules[0], nil
}
