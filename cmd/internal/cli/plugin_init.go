package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/plugins/starter"
	"github.com/zarf-host/zarf-host/plugins/toolchain"
)

func (r *root) pluginInitCmd() *cobra.Command {
	var language, name string
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a plugin to begin with",
		Long: "Write a plugin to begin with into a new folder: one that denies a prune of objects in protected\n" +
			"namespaces, with its metadata, its tests, and what it is built with. It needs no network to build,\n" +
			"but for AssemblyScript's and, without the distribution's packages, Rust's libraries.",
		Example: "  zarf-host plugin init --lang go prod\n  zarf-host plugin build prod",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := toolchain.ParseLanguage(language)
			if err != nil {
				return fmt.Errorf("--lang: %w", err)
			}
			started, err := starter.Write(args[0], starter.Options{Language: l, Name: name})
			if err != nil {
				return err
			}
			return r.show([]byte(startedText(args[0], started)))
		},
	}
	var languages []string
	for _, l := range toolchain.Languages() {
		languages = append(languages, string(l))
	}
	cmd.Flags().StringVar(&language, "lang", string(toolchain.Go), "`language`: "+strings.Join(languages, ", "))
	cmd.Flags().StringVar(&name, "name", "", "`name` of the plugin; left out, as the folder")
	return cmd
}

// startedText says what was written, and what an author does next.
func startedText(dir string, s starter.Started) string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin %s in %s:\n", s.Name, render.Line(dir))
	for _, f := range s.Files {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	module := filepath.Join(dir, s.Name+".wasm")
	fmt.Fprintf(&b, "next:\n  zarf-host plugin build %[1]s\n  zarf-host plugin test %[2]s %[3]s\n"+
		"  zarf-host deploy PACKAGE --prune --plugin %[2]s --plugin-config %[4]s.namespaces='[prod]'\n",
		render.Line(dir), render.Line(module), render.Line(filepath.Join(dir, "tests")), s.Name)
	return b.String()
}
