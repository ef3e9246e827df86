package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/comparison"
)

func (r *root) diffCmd() *cobra.Command {
	var source sourceFlags
	cmd := &cobra.Command{
		Use:   "diff PACKAGE|NAME PACKAGE|NAME",
		Short: "Show in what two packages differ",
		Long: "Show in what two packages differ: components, images, charts, manifests, files, values, repositories\n" +
			"and sizes. Each is an archive, a folder, an oci:// or https:// reference, or the name of a deployed\n" +
			"package, NAME or NAME/NAMESPACE, whose definition alone is known. What was supplied to a deployment\n" +
			"is not compared. Exit code 0, whether they differ or not.",
		Example: "  zarf-host diff shop-1.0.0.tar.zst shop-2.0.0.tar.zst\n" +
			"  zarf-host diff shop oci://registry.example/shop:2.0.0 -o json",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := host.Diff(cmd.Context(), host.DiffOptions{
				From: args[0], To: args[1], Open: r.open(source), Cluster: r.cluster(),
			})
			if err != nil {
				return err
			}
			if r.format != "table" {
				return r.writeDocument(found)
			}
			return r.showDiff(found)
		},
	}
	source.add(cmd)
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

func (r *root) showDiff(d comparison.Diff) error {
	w := tabwriter.NewWriter(r.streams.Out, 0, 8, 2, ' ', 0)
	for _, s := range []struct {
		mark string
		comparison.Subject
	}{{"from", d.From}, {"to", d.To}} {
		line := fmt.Sprintf("%s\t%s\t%s", s.mark, render.Line(s.Name+" "+s.Version), render.Line(s.Source))
		if s.Bytes > 0 {
			line += fmt.Sprintf("\t%d bytes", s.Bytes)
		}
		if s.Partial {
			line += "\ta difference that does not say which images and repositories it leaves out: they are not compared"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(d.Changes) == 0 {
		_, err := fmt.Fprintln(r.streams.Out, "they do not differ")
		return err
	}
	marks := map[comparison.Action]string{comparison.Added: "+", comparison.Removed: "-", comparison.Changed: "~"}
	for _, c := range d.Changes {
		name := c.Name
		if c.Component != "" {
			name = c.Component + ": " + name
		}
		line := fmt.Sprintf("%s %s\t%s", marks[c.Action], c.Part, render.Line(name))
		if _, err := fmt.Fprintf(w, "%s\t%s\n", line, render.Line(strings.Join(differences(c), ", "))); err != nil {
			return err
		}
	}
	return w.Flush()
}

// differences are the words for how something changed.
func differences(c comparison.Change) []string {
	var out []string
	if c.Before != "" {
		out = append(out, "was "+c.Before)
	}
	for _, f := range c.Fields {
		if f.From == "" && f.To == "" {
			out = append(out, f.Name+" changed")
			continue
		}
		out = append(out, fmt.Sprintf("%s %s → %s", f.Name, cmp.Or(f.From, "none"), cmp.Or(f.To, "none")))
	}
	if c.FromDigest != "" && c.ToDigest != "" {
		out = append(out, fmt.Sprintf("content %s → %s", short(c.FromDigest), short(c.ToDigest)))
	}
	switch {
	case c.FromBytes > 0 && c.ToBytes > 0 && c.FromBytes != c.ToBytes:
		out = append(out, fmt.Sprintf("%d → %d bytes", c.FromBytes, c.ToBytes))
	case c.Action != comparison.Changed && c.FromBytes+c.ToBytes > 0:
		out = append(out, fmt.Sprintf("%d bytes", c.FromBytes+c.ToBytes))
	}
	return out
}

// short is as much of a digest as tells it from others.
func short(digest string) string {
	algorithm, hex, ok := strings.Cut(digest, ":")
	if !ok || len(hex) < 12 {
		return digest
	}
	return algorithm + ":" + hex[:12]
}
