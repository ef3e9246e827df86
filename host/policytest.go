package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/policy"
	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// verdictFile is what is wanted of a policy in the folder of a recorded request.
const verdictFile = "verdict.json"

// wantedVerdict is what a verdict.json holds.
type wantedVerdict struct {
	Verdict hook.Verdict `json:"verdict"`
	// Messages are texts, each of which some finding has to hold.
	Messages []string `json:"messages,omitempty"`
}

// TestPolicyOptions say how a policy is tested.
type TestPolicyOptions struct {
	PolicyPlugins
	// Modules are the files of modules in place of where the policy has its plugins from, by their names.
	Modules map[string]string
}

// TestedPolicy is a request that a policy was tested with.
type TestedPolicy struct {
	Call     string       `json:"call"` // its folder
	Verdict  hook.Verdict `json:"verdict"`
	Findings []string     `json:"findings,omitempty"`
	// Problems are what is not as wanted; empty where it passes.
	Problems []string `json:"problems,omitempty"`
}

// TestPolicy holds what a policy says of the recorded requests in a folder against the verdicts that are
// wanted there, without a cluster.
func TestPolicy(ctx context.Context, p Policy, dir string, o TestPolicyOptions) ([]TestedPolicy, error) {
	folders, err := recording.Find(dir)
	if err != nil {
		return nil, err
	}
	var out []TestedPolicy
	for _, folder := range folders {
		tested, err := testPolicy(ctx, p, folder, o)
		if err != nil {
			return out, fmt.Errorf("testing with %q: %w", folder, err)
		}
		out = append(out, tested)
	}
	return out, nil
}

func testPolicy(ctx context.Context, p Policy, folder string, o TestPolicyOptions) (TestedPolicy, error) {
	call, err := recording.Read(folder)
	if err != nil {
		return TestedPolicy{}, err
	}
	wanted, err := readWanted(folder)
	if err != nil {
		return TestedPolicy{}, err
	}
	request, err := hook.ParseRequest(call.Request)
	if err != nil {
		return TestedPolicy{}, err
	}
	t := TestedPolicy{Call: folder, Verdict: hook.Allow}
	if request.Hook == hook.PreDeploy {
		findings, err := judgeRecorded(p, request)
		if err != nil {
			return t, err
		}
		for _, f := range findings {
			t.Verdict = hook.Deny
			t.Findings = append(t.Findings, f.Rule+": "+f.Message)
		}
	}
	if err := askRecorded(ctx, p, request, call.Answers, o, &t); err != nil {
		return t, err
	}
	if t.Verdict != wanted.Verdict {
		t.Problems = append(t.Problems, fmt.Sprintf("it says %s, wanted is %s", t.Verdict, wanted.Verdict))
	}
	for _, text := range wanted.Messages {
		if !slices.ContainsFunc(t.Findings, func(f string) bool { return strings.Contains(f, text) }) {
			t.Problems = append(t.Problems, fmt.Sprintf("no finding holds %q", text))
		}
	}
	return t, nil
}

func readWanted(folder string) (wantedVerdict, error) {
	data, err := os.ReadFile(filepath.Join(folder, verdictFile))
	if errors.Is(err, fs.ErrNotExist) {
		return wantedVerdict{}, fmt.Errorf("there is no %s that says what is wanted: {\"verdict\": \"deny\", \"messages\": [\"…\"]}", verdictFile)
	}
	if err != nil {
		return wantedVerdict{}, err
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	var w wantedVerdict
	if err := dec.Decode(&w); err != nil {
		return w, fmt.Errorf("%s: %w", verdictFile, err)
	}
	if !slices.Contains([]hook.Verdict{hook.Allow, hook.Warn, hook.Deny}, w.Verdict) {
		return w, fmt.Errorf("%s: verdict %q is none of allow, warn, deny", verdictFile, w.Verdict)
	}
	return w, nil
}

// judgeRecorded is what a policy says itself of what a request shows.
func judgeRecorded(p Policy, request hook.Request) ([]plan.Finding, error) {
	var out []plan.Finding
	var o policy.Operation
	if request.Package != nil {
		o.Source = request.Package.Source
		if p.definition != nil {
			definition, err := json.Marshal(request.Package) // JSON is YAML
			if err != nil {
				return nil, err
			}
			if out, err = constrained([]Policy{p}, definition, nil); err != nil {
				return nil, err
			}
		}
	}
	if p.config != nil {
		config := request.DeployConfig
		if config == nil {
			config = &hook.DeployConfig{}
		}
		result, err := p.config.Value("configuration", config)
		if err != nil {
			return nil, err
		}
		for _, d := range result.Errors() {
			out = append(out, p.Finding(d.String(), ""))
		}
	}
	var shown struct {
		Package plan.Package `json:"package"`
	}
	if len(request.Plan) > 0 {
		if err := json.Unmarshal(request.Plan, &shown); err != nil {
			return nil, fmt.Errorf("reading the plan of the request: %w", err)
		}
	}
	o.Signed = shown.Package.Signed
	o.TakeOwnership = request.Operation.Flags["take-ownership"] == "true"
	if kinds := request.Operation.Flags["accept-collision"]; kinds != "" {
		accept, err := plan.ParseCollisionKinds(strings.Split(kinds, ","))
		if err != nil {
			return nil, err
		}
		o.Accept = accept
	}
	return append(out, policySet([]Policy{p}).Judge(o)...), nil
}

// askRecorded asks the plugins of the policy what a request asks.
func askRecorded(ctx context.Context, p Policy, request hook.Request, answers []hook.Exchange, o TestPolicyOptions, t *TestedPolicy) error {
	point, err := hook.Find(request.Hook)
	if err != nil {
		return err
	}
	for i := range p.Plugins {
		if path := o.Modules[p.Plugins[i].Name]; path != "" {
			p.Plugins = slices.Clone(p.Plugins)
			p.Plugins[i].Source, p.Plugins[i].Digest = path, ""
			p.dir = "/" // no path of a module is from the policy's folder
			abs, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			p.Plugins[i].Source = abs
		}
	}
	bound, err := Common{PolicyPlugins: o.PolicyPlugins}.bind(ctx, []Policy{p}, nil)
	defer func() { (&guarded{bound: bound}).release(ctx) }()
	if err != nil {
		return err
	}
	var all []hook.Answer
	for _, b := range bound {
		if !slices.Contains(b.Hooks(), request.Hook) {
			continue
		}
		asked := request
		asked.Config = nil // the policy's own, which the plugin has
		script := wasm.NewScript(answers)
		response, err := b.call(ctx, asked, script)
		if err == nil {
			err = script.Strayed()
		}
		all = append(all, hook.Answer{Plugin: b.Name(), Failure: b.FailurePolicy(), Response: response, Err: err})
	}
	outcome := hook.Fold(point, all)
	t.Verdict = t.Verdict.Stricter(outcome.Verdict)
	for _, c := range hook.Judge(request.Collisions, all) {
		t.Verdict = t.Verdict.Stricter(c.Verdict)
		t.Findings = append(t.Findings, fmt.Sprintf("%s: %s: %s", c.Plugin, c.ID, c.Message))
	}
	for _, f := range outcome.Findings {
		t.Findings = append(t.Findings, f.Plugin+": "+f.Message)
	}
	for _, f := range outcome.Failures {
		t.Findings = append(t.Findings, fmt.Sprintf("%s: no answer: %v", f.Plugin, f.Err))
	}
	for _, k := range outcome.Keep {
		t.Findings = append(t.Findings, fmt.Sprintf("%s: keeps %s: %s", k.Plugin, k.Target(), k.Reason))
	}
	return nil
}
