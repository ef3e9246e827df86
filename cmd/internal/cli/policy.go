package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/wasm"
)

func (r *root) policyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Rules for everyone who deploys to a cluster",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("do what with policies? apply, show, remove or test")
		},
	}
	cmd.AddCommand(r.policyApplyCmd(), r.policyShowCmd(), r.policyRemoveCmd(), r.policyTestCmd())
	return cmd
}

func (r *root) policyApplyCmd() *cobra.Command {
	var plugins map[string]string
	var confirm bool
	cmd := &cobra.Command{
		Use:     "apply POLICY",
		Short:   "Make a policy hold for everyone who deploys to the cluster",
		Example: "  zarf-host policy apply policies/required-metadata/policy.cue\n  zarf-host policy apply guard.yaml --plugin guard=oci://registry.example.com/plugins/guard:0.1.0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := (pluginSourceFlags{}).source(r)
			if err != nil {
				return err
			}
			policies, err := host.ReadPolicies(cmd.Context(), args[0], source)
			if err != nil {
				return &codeError{code: exitFailed, err: err}
			}
			if len(policies) != 1 {
				return fmt.Errorf("%s has %d policies: apply one at a time", args[0], len(policies))
			}
			p, err := policies[0].Pin(cmd.Context(), plugins, source)
			if err != nil {
				return err
			}
			if err := p.Applicable(); err != nil {
				return err
			}
			if err := r.sure(cmd.Context(), confirm, fmt.Sprintf("make policy %q hold for everyone who deploys to this cluster?", p.Metadata.Name)); err != nil {
				return err
			}
			if err := host.ApplyPolicy(cmd.Context(), r.cluster(), p); err != nil {
				return reading(err)
			}
			return r.show(fmt.Appendf(nil, "policy %s (%s) applies to the cluster\n", p.Metadata.Name, p.Digest))
		},
	}
	cmd.Flags().StringToStringVar(&plugins, "plugin", nil, "where a plugin of the policy comes from, NAME=oci://…, pinned by the digest that it has now; repeatable")
	cmd.Flags().BoolVarP(&confirm, "confirm", "c", false, "go on without asking")
	return cmd
}

// sure asks for confirmation; a no is host.ErrDeclined.
func (r *root) sure(ctx context.Context, confirm bool, question string) error {
	if confirm {
		return nil
	}
	yes, err := r.prompts().ask(ctx, question, false)
	if err == nil && !yes {
		err = host.ErrDeclined
	}
	return err
}

// policyDocument is a policy in machine output.
type policyDocument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Digest      string `json:"digest"`
	From        string `json:"from"`
	Text        string `json:"text"`
}

func (r *root) policyShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show the policies of the cluster, or the text of one",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			policies, err := host.PoliciesOf(cmd.Context(), r.cluster())
			if err != nil {
				return reading(err)
			}
			docs := []policyDocument{}
			for _, p := range policies {
				if len(args) == 0 || p.Metadata.Name == args[0] {
					docs = append(docs, policyDocument{p.Metadata.Name, p.Metadata.Description, p.Digest, p.From, string(p.Text)})
				}
			}
			if len(args) == 1 && len(docs) == 0 {
				return fmt.Errorf("the cluster has no policy %q: `zarf-host policy show` lists those that it has", args[0])
			}
			if r.format != "table" {
				return r.writeDocument(docs)
			}
			var out []byte
			for _, d := range docs {
				if len(args) == 1 {
					out = append(out, d.Text...)
					continue
				}
				out = fmt.Appendf(out, "%s %s from %s\n", d.Name, d.Digest, d.From)
			}
			return r.show(out)
		},
	}
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}

func (r *root) policyRemoveCmd() *cobra.Command {
	var confirm bool
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a policy from the cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.sure(cmd.Context(), confirm, fmt.Sprintf("take policy %q from this cluster?", args[0])); err != nil {
				return err
			}
			if err := host.RemovePolicy(cmd.Context(), r.cluster(), args[0]); err != nil {
				return reading(err)
			}
			return r.show(fmt.Appendf(nil, "policy %s is removed\n", args[0]))
		},
	}
	cmd.Flags().BoolVarP(&confirm, "confirm", "c", false, "go on without asking")
	return cmd
}

func (r *root) policyTestCmd() *cobra.Command {
	var plugins map[string]string
	var sandbox string
	cmd := &cobra.Command{
		Use:   "test POLICY…",
		Short: "Hold what policies say of recorded requests against what is wanted",
		Long: "Hold what policies say of recorded requests against what is wanted, without a cluster. In the folder of a\n" +
			"policy each folder with a request.json, as `deploy --record` writes it, is a test; verdict.json beside it\n" +
			"says what is wanted: {\"verdict\": \"deny\", \"messages\": [\"…\"]}.",
		Example: "  zarf-host policy test policies/* --plugin guard=bin/plugins/guard.wasm",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := (pluginSourceFlags{}).source(r)
			if err != nil {
				return err
			}
			box, err := wasm.ParseSandbox(sandbox)
			if err != nil {
				return fmt.Errorf("--plugin-sandbox: %w", err)
			}
			options := host.TestPolicyOptions{Modules: plugins, PolicyPlugins: host.PolicyPlugins{
				Source: source, Options: host.PluginOptions{Sandbox: box, CacheDir: r.remote.cacheDir()},
			}}
			tests, err := testPolicies(cmd.Context(), args, source, options)
			if err != nil {
				return err
			}
			return r.testedPolicies(tests)
		},
	}
	cmd.Flags().StringToStringVar(&plugins, "plugin", nil, "module of a plugin in place of the one that the policy names, NAME=FILE; repeatable")
	sandboxFlag(cmd, &sandbox)
	r.outputFlag(cmd, "table", "json")
	return cmd
}

func testPolicies(ctx context.Context, refs []string, source host.PluginSource, o host.TestPolicyOptions) ([]host.TestedPolicy, error) {
	var tests []host.TestedPolicy
	for _, ref := range refs {
		policies, err := host.ReadPolicies(ctx, ref, source)
		if err != nil {
			return nil, &codeError{code: exitFailed, err: err}
		}
		if len(policies) != 1 {
			return nil, fmt.Errorf("%s has %d policies: a folder with tests has one", ref, len(policies))
		}
		dir := ref
		if filepath.Base(ref) == policies[0].File {
			dir = filepath.Dir(ref)
		}
		done, err := host.TestPolicy(ctx, policies[0], dir, o)
		tests = append(tests, done...)
		if err != nil {
			return tests, &codeError{code: exitFailed, err: err}
		}
	}
	return tests, nil
}

func (r *root) testedPolicies(tests []host.TestedPolicy) error {
	failed := 0
	var out []byte
	for _, t := range tests {
		word := "ok"
		if len(t.Problems) > 0 {
			failed++
			word = "FAIL"
		}
		out = fmt.Appendf(out, "%s %s: %s\n", word, render.Line(t.Call), t.Verdict)
		for _, text := range t.Problems {
			out = fmt.Appendf(out, "  %s\n", render.Line(text))
		}
		if len(t.Problems) > 0 {
			for _, f := range t.Findings {
				out = fmt.Appendf(out, "  said: %s\n", render.Line(f))
			}
		}
	}
	var err error
	if r.format == "json" {
		err = r.writeDocument(tests)
	} else {
		err = r.show(out)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d tests failed", failed, len(tests))
	}
	return err
}
