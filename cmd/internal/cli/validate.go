package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/validate"
)

// maxValidated is the most that a file to validate may hold.
const maxValidated = 1 << 20

// validation is the JSON of validate.
type validation struct {
	Files       int                   `json:"files"`
	Valid       bool                  `json:"valid"`
	Diagnostics []validate.Diagnostic `json:"diagnostics"`
}

func (r *root) validateCmd() *cobra.Command {
	var schemaOnly bool
	var as string
	var rules validatePolicies
	cmd := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check package definitions and other files against their schemas",
		Long: "Check package definitions, policies, plans and whatever else has a schema: files, folders that hold a\n" +
			"zarf.yaml, or - for standard input. What a file is, its apiVersion and kind say, or its name: plugin.yaml,\n" +
			"zarf-config.yaml; --schema says it of others. Every fault is reported as file:line:col: path: message.\n" +
			"Exit code 0: valid; 1: invalid; 2: unreadable.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("validate what? usage: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			check, err := checkAs(as, validate.Options{SchemaOnly: schemaOnly})
			if err != nil {
				return err
			}
			policies, err := rules.read(cmd.Context(), r)
			if err != nil {
				return err
			}
			out := validation{Valid: true, Diagnostics: []validate.Diagnostic{}}
			var unread []error
			for _, arg := range args {
				name, data, err := r.readDefinition(arg)
				if err != nil {
					unread = append(unread, err)
					continue
				}
				result := check(name, data)
				result.Diagnostics = append(result.Diagnostics, violations(policies, name, data)...)
				out.Files++
				out.Valid = out.Valid && result.Valid()
				out.Diagnostics = append(out.Diagnostics, result.Diagnostics...)
			}
			if err := r.showValidation(out); err != nil {
				return err
			}
			switch {
			case len(unread) > 0:
				return &codeError{code: exitUnreadable, err: errors.Join(unread...)}
			case !out.Valid:
				return &codeError{code: exitFailed}
			}
			return nil
		},
	}
	rules.add(cmd.Flags())
	cmd.Flags().BoolVar(&schemaOnly, "schema-only", false, "leave out what a schema cannot express, and warnings")
	cmd.Flags().StringVar(&as, "schema", "", "`name` of the schema that the files are checked against; by what they say of themselves if left out")
	r.outputFlag(cmd, "table", "json", "yaml", "sarif", "github")
	return cmd
}

// checkAs returns what checks a file: against the schema of a name, or the one that the file asks for.
func checkAs(schema string, opts validate.Options) (func(name string, data []byte) validate.Result, error) {
	v, err := validate.New()
	if err != nil {
		return nil, err
	}
	if schema == "" {
		return func(name string, data []byte) validate.Result { return v.Any(name, data, opts) }, nil
	}
	s, err := validate.FindSchema(schema)
	if err != nil {
		return nil, err
	}
	return func(name string, data []byte) validate.Result { return v.FileAs(s, name, data, opts) }, nil
}

func (r *root) showValidation(v validation) error {
	switch r.format {
	case "github":
		return render.Annotations(r.streams.Out, v.Diagnostics)
	case "sarif":
		return r.writeDocument(render.NewSARIF(r.version, v.Diagnostics))
	case "json", "yaml":
		return r.writeDocument(v)
	}
	warnings := 0
	for _, d := range v.Diagnostics {
		text := d.String()
		if d.Severity == validate.Warning {
			text += " (warning)"
			warnings++
		}
		if _, err := fmt.Fprintln(r.streams.Out, render.Line(text)); err != nil {
			return err
		}
	}
	if !v.Valid || v.Files == 0 {
		return nil
	}
	return r.write([]byte(fmt.Sprintf("valid: %s, %s\n", count(v.Files, "file"), count(warnings, "warning"))))
}

// count writes a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// readDefinition reads a file, the zarf.yaml of a folder, or standard input.
func (r *root) readDefinition(arg string) (name string, data []byte, err error) {
	if arg == "-" {
		data, err = io.ReadAll(io.LimitReader(r.streams.In, maxValidated+1))
		return "<stdin>", data, tooLarge("<stdin>", data, err)
	}
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		arg = filepath.Join(arg, bundle.DefinitionPath)
	}
	f, err := os.Open(arg)
	if err != nil {
		return arg, nil, fmt.Errorf("reading: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	data, err = io.ReadAll(io.LimitReader(f, maxValidated+1))
	return arg, data, tooLarge(arg, data, err)
}

func tooLarge(name string, data []byte, err error) error {
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if len(data) > maxValidated {
		return fmt.Errorf("reading %s: it holds more than %d bytes, which no definition may", name, maxValidated)
	}
	return nil
}
