package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host/validate"
)

func (r *root) schemaCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "schema", Short: "The schemas of the files that are read and written",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(r.schemaPrintCmd(), r.schemaListCmd())
	return cmd
}

func (r *root) schemaPrintCmd() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "print NAME",
		Short: "Print a schema, for editors and other programs",
		Long: "Print a schema: as it is written, in CUE, or as a JSON schema or an OpenAPI document, which editors\n" +
			"and other programs read. \"schema list\" has the names.",
		Example: "zarf-host schema print package --format jsonschema > zarf.schema.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("print which schema? \"zarf-host schema list\" has the names")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := validate.FindSchema(args[0])
			if err != nil {
				return err
			}
			v, err := validate.New()
			if err != nil {
				return err
			}
			text, err := v.Export(s, validate.Format(format))
			if err != nil {
				return err
			}
			return r.write(text)
		},
	}
	cmd.Flags().StringVar(&format, "format", string(validate.FormatCUE), "`format` of the schema: cue, jsonschema, openapi")
	return cmd
}

func (r *root) schemaListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the schemas",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schemas := validate.Schemas()
			if r.format != "table" {
				return r.writeDocument(schemas)
			}
			w := tabwriter.NewWriter(r.streams.Out, 0, 0, 3, ' ', 0)
			for _, s := range schemas {
				if _, err := fmt.Fprintf(w, "%s\t%s\n", s.Name, s.About); err != nil {
					return err
				}
			}
			return w.Flush()
		},
	}
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
