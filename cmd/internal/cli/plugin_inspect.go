package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// inspected is what `plugin inspect` tells of a module.
type inspected struct {
	wasm.Info
	// Walls are what would stand around its process on this machine.
	Walls []wasm.Wall `json:"walls,omitempty"`
}

func (r *root) pluginInspectCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect MODULE",
		Short: "Show what a plugin is, where it wants to be asked and what it could do, without running it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			module, err := r.readModule(cmd.Context(), args[0], wasm.Limits{})
			if err != nil {
				return err
			}
			info, err := wasm.Inspect(module, wasm.Limits{})
			if err != nil {
				return fmt.Errorf("inspecting %q: %w", args[0], err)
			}
			out := inspected{Info: info}
			if info.Refused == "" {
				opts := wasm.Options{Name: args[0], CacheDir: r.remote.cacheDir()}
				if out.Walls, err = wasm.Probe(cmd.Context(), module, opts); err != nil {
					return fmt.Errorf("looking what walls a plugin off on this machine: %w", err)
				}
			}
			if r.format != "table" {
				return r.writeDocument(out)
			}
			return r.show([]byte(out.text()))
		},
	}
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

func (i inspected) text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-15s%s\n", name+":", render.Line(fmt.Sprintf(format, args...)))
	}
	line("name", "%s", i.Metadata.Name)
	line("version", "%s", i.Metadata.Version)
	line("digest", "%s", i.Digest)
	var hooks, asks []string
	for _, h := range i.Metadata.Hooks {
		hooks = append(hooks, string(h.Name))
	}
	for _, c := range i.Metadata.Capabilities {
		asks = append(asks, string(c))
	}
	line("hooks", "%s", strings.Join(hooks, ", "))
	if len(asks) > 0 {
		line("asks for", "%s", strings.Join(asks, ", "))
	}
	line("configuration", "%s", map[bool]string{true: "has a schema", false: "has no schema"}[len(i.Metadata.ConfigSchema) > 0])
	line("module", "%d bytes, %d functions, the largest of %d bytes, %d bytes of memory to begin with", i.Size, i.Functions, i.Largest, i.Memory)
	line("imports", "%s", strings.Join(i.Imports, ", "))
	if i.Metadata.Fuel > 0 {
		line("fuel", "at most %d, its author says", i.Metadata.Fuel)
	}
	for _, w := range i.Walls {
		state := "holds"
		if !w.Held {
			state = "is missing"
		}
		if w.Detail != "" {
			state += " (" + w.Detail + ")"
		}
		line("wall", "%s %s", w.Name, state)
	}
	if i.Refused != "" {
		line("refused", "%s", i.Refused)
	}
	return b.String()
}
