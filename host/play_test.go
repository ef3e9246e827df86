package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
)

const (
	firstCall  = `{"op":"k8s.get/v1","apiVersion":"v1","kind":"ConfigMap","namespace":"a","name":"b"}`
	secondCall = `{"op":"package.file/v1","path":"zarf.yaml"}`
)

// module gives code metadata; it asks the host where it declares a capability.
func module(t *testing.T, version string, code []byte, capabilities ...hook.Capability) PluginModule {
	t.Helper()
	out, err := wasm.Annotate(code, hook.Metadata{Name: "guest", Version: version, ABI: []string{"v1"}, Capabilities: capabilities,
		Hooks: []hook.Use{{Name: hook.PreDeploy}, {Name: hook.PrePrune}}})
	if err != nil {
		t.Fatal(err)
	}
	return PluginModule{Source: "guest.wasm", Bytes: out}
}

// saying answers without a look at the request.
func saying(t *testing.T, version, response string) PluginModule {
	return module(t, version, guests.Command(1, func(p *guests.Program) []byte { return p.Print(1, response) }))
}

// asking asks the host for texts and answers.
func asking(t *testing.T, version string, asks ...string) PluginModule {
	return module(t, version, guests.Asking(1, func(p *guests.Program) []byte {
		var code []byte
		for _, ask := range asks {
			code = append(append(code, p.Ask(ask)...), guests.Drop)
		}
		return append(code, p.Print(1, guests.Answer("r1", "allow"))...)
	}), hook.K8sGet, hook.PackageFile)
}

func trapping(t *testing.T) PluginModule {
	return module(t, "1", guests.Command(1, func(*guests.Program) []byte { return guests.Op(guests.Unreachable) }))
}

func inProcess() PluginOptions {
	return PluginOptions{Sandbox: wasm.SandboxInProcess, CacheDir: guests.CompiledDir()}
}

func played() hook.Request {
	return hook.Request{ID: "r1", Hook: hook.PreDeploy, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), User: "ann"}
}

// record asks a module as a deployment does and returns the recording's folder.
func record(t *testing.T, m PluginModule, fails bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recording")
	log, err := recording.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := inProcess()
	o.Recording = log
	p, err := LoadPlugin(t.Context(), m.Source, m.Bytes, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Ask(t.Context(), played()); (err != nil) != fails {
		t.Fatalf("the plugin failed: %v", err)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReplay(t *testing.T) {
	const guest = "001-pre-deploy-guest"
	rewrite := func(name, old, by string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, guest, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), old) {
				t.Fatalf("%s has no %q: %s", name, old, text)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, by, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	allow := saying(t, "1", guests.Answer("r1", "allow"))
	other := saying(t, "2", guests.Answer("r1", "deny"))
	tests := map[string]struct {
		module  PluginModule
		fails   bool
		change  func(t *testing.T, dir string)
		instead *PluginModule
		want    []string // what each difference says; none is the same
	}{
		"the same":                {module: allow},
		"the same host calls":     {module: asking(t, "1", firstCall, secondCall)},
		"the same failure":        {module: trapping(t), fails: true},
		"other bytes":             {module: allow, change: rewrite("response.json", "allow", "warn"), want: []string{"other bytes"}},
		"other fuel":              {module: allow, change: rewrite("call.json", `"fuel": `, `"fuel": 1`), want: []string{"fuel, recorded are 1"}},
		"another question":        {module: asking(t, "1", firstCall), change: rewrite("answers.json", "k8s.get", "k8s.list"), want: []string{"question 1 is", "fuel"}},
		"it fails now":            {module: allow, instead: ptr(trapping(t)), want: []string{"the module is", "it fails now", "fuel"}},
		"another module":          {module: allow, instead: &other, want: []string{"the module is guest 2", "other bytes"}},
		"a failure of other kind": {module: trapping(t), fails: true, change: rewrite("call.json", `"trap"`, `"memory"`), want: []string{"kind trap, recorded was memory"}},
		"an answer for a failure": {module: trapping(t), fails: true, instead: &allow, want: []string{"the module is", "recorded was a failure of kind trap", "fuel"}},
		"something was hidden":    {module: allow, change: rewrite("call.json", `"fuel"`, `"hidden": true, "fuel"`), want: []string{"no recording holds"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := record(t, tt.module, tt.fails)
			if tt.change != nil {
				tt.change(t, dir)
			}
			for _, from := range []string{dir, filepath.Join(dir, guest)} { // all calls, or one
				got, err := ReplayPlugins(t.Context(), from, tt.instead, inProcess())
				if err != nil || len(got) != 1 {
					t.Fatalf("%v, %v", got, err)
				}
				differences := got[0].Differences
				if len(tt.want) != len(differences) {
					t.Fatalf("differences are %q, wanted %q", differences, tt.want)
				}
				for i, want := range tt.want {
					if !strings.Contains(differences[i], want) {
						t.Errorf("difference %d is %q, wanted %q in it", i, differences[i], want)
					}
				}
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestReplayRefuses(t *testing.T) {
	dir := record(t, saying(t, "1", guests.Answer("r1", "allow")), false)
	if err := os.RemoveAll(filepath.Join(dir, "modules")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReplayPlugins(t.Context(), dir, nil, inProcess()); err == nil || !strings.Contains(err.Error(), "name it with --plugin") {
		t.Errorf("without its module: %v", err)
	}
	byHand := filepath.Join(t.TempDir(), "test")
	if err := (recording.Call{Request: requestOf(t, played())}).Write(byHand); err != nil {
		t.Fatal(err)
	}
	if _, err := ReplayPlugins(t.Context(), byHand, nil, inProcess()); err == nil || !strings.Contains(err.Error(), "plugin test") {
		t.Errorf("a test by hand: %v", err)
	}
}

func requestOf(t *testing.T, r hook.Request) []byte {
	t.Helper()
	dir := record(t, saying(t, "1", guests.Answer("r1", "allow")), false)
	call, err := recording.Read(filepath.Join(dir, "001-pre-deploy-guest"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hook.ParseRequest(call.Request); err != nil || got.ID != r.ID {
		t.Fatalf("recorded is %s, %v", call.Request, err)
	}
	return call.Request
}

func TestTestPlugin(t *testing.T) {
	answers := []hook.Exchange{hook.NewExchange([]byte(firstCall), []byte(`{"object":{"data":{"a":"1"}}}`))}
	allow := []byte(guests.Answer("r1", "allow"))
	tests := map[string]struct {
		module PluginModule
		want   recording.Call
		says   string // of the one problem; empty is none
		update bool   // whether --update can put it right
	}{
		"as wanted":           {saying(t, "1", string(allow)), recording.Call{Response: allow}, "", true},
		"written otherwise":   {saying(t, "1", string(allow)), recording.Call{Response: []byte("{\n\"verdict\": \"allow\", \"id\":\"r1\", \"kind\": \"HookResponse\", \"apiVersion\": \"hooks.zarf-host.dev/v1\"}")}, "", true},
		"another verdict":     {saying(t, "1", string(allow)), recording.Call{Response: []byte(guests.Answer("r1", "deny"))}, `its verdict: "allow", wanted is "deny"`, true},
		"nothing wanted":      {saying(t, "1", string(allow)), recording.Call{}, "--update writes it", true},
		"too much fuel":       {saying(t, "1", string(allow)), recording.Call{Response: allow, Summary: recording.Summary{MaxFuel: 1}}, "at most 1", true},
		"asks as recorded":    {asking(t, "1", firstCall), recording.Call{Response: allow, Answers: answers}, "", true},
		"asks less":           {saying(t, "1", string(allow)), recording.Call{Response: allow, Answers: answers}, "did not ask for the last 1", false},
		"asks more":           {asking(t, "1", firstCall, secondCall), recording.Call{Response: allow, Answers: answers}, "asks once more", false},
		"fails as wanted":     {trapping(t), recording.Call{Summary: recording.Summary{Error: "trap"}}, "", true},
		"fails unwanted":      {trapping(t), recording.Call{Response: allow}, "it fails: ", true},
		"fails otherwise":     {trapping(t), recording.Call{Summary: recording.Summary{Error: "memory"}}, "kind trap, wanted is memory", true},
		"answers, should not": {saying(t, "1", string(allow)), recording.Call{Summary: recording.Summary{Error: "trap"}}, "it answers allow, wanted is a failure of kind trap", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "case")
			tt.want.Request = []byte(`{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookRequest","id":"r1","hook":"pre-deploy","time":"2026-01-02T03:04:05Z"}`)
			if err := tt.want.Write(dir); err != nil {
				t.Fatal(err)
			}
			run := func(update bool) Tested {
				t.Helper()
				got, err := TestPlugin(t.Context(), tt.module, []string{dir}, TestPluginOptions{PluginOptions: inProcess(), Update: update})
				if err != nil || len(got) != 1 {
					t.Fatalf("%v, %v", got, err)
				}
				return got[0]
			}
			first := run(false)
			if tt.says == "" && len(first.Problems) > 0 || tt.says != "" && (len(first.Problems) != 1 || !strings.Contains(first.Problems[0], tt.says)) {
				t.Errorf("problems are %q, wanted %q", first.Problems, tt.says)
			}
			if updated := run(true); updated.Updated != tt.update {
				t.Errorf("updated is %v", updated.Updated)
			}
			if again := run(false); (len(again.Problems) == 0) != tt.update {
				t.Errorf("after the update the problems are %q", again.Problems)
			}
			if again := run(true); tt.update { // and updating twice changes nothing
				before, err := recording.Read(dir)
				if err != nil {
					t.Fatal(err)
				}
				run(true)
				after, err := recording.Read(dir)
				if diff := cmp.Diff(before, after); err != nil || diff != "" {
					t.Errorf("%v %s, %+v", err, diff, again)
				}
			}
		})
	}
}

func TestDiffPlugins(t *testing.T) {
	response := func(rest string) string {
		return strings.TrimSuffix(guests.Answer("r1", "warn"), "}") + rest + "}"
	}
	keep := func(name string) string {
		return response(`,"keep":[{"object":{"apiVersion":"v1","kind":"ConfigMap","namespace":"a","name":"` + name + `"},"reason":"r"}]`)
	}
	finding := func(text string) string {
		return response(`,"findings":[{"severity":"warn","message":"` + text + `"}]`)
	}
	allow := saying(t, "1", guests.Answer("r1", "allow"))
	for name, tt := range map[string]struct {
		before, after PluginModule
		changes       []string
		wording       bool
	}{
		"nothing":      {allow, saying(t, "2", guests.Answer("r1", "allow")), nil, false},
		"a verdict":    {allow, saying(t, "2", guests.Answer("r1", "deny")), []string{"verdict: allow -> deny"}, false},
		"wording":      {saying(t, "1", finding("one")), saying(t, "2", finding("two")), nil, true},
		"what is kept": {saying(t, "1", keep("x")), saying(t, "2", keep("y")), []string{"keep: object v1 ConfigMap/a/x no more", "keep: object v1 ConfigMap/a/y is new"}, false},
		"a failure":    {allow, trapping(t), []string{"verdict: allow -> fails: trap"}, false},
		"a host call":  {allow, asking(t, "2", firstCall), []string{"host calls: "}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "one.json")
			request := requestOf(t, played())
			request = []byte(strings.Replace(string(request), `"pre-deploy"`, `"pre-prune"`, 1)) // which may keep
			if err := os.WriteFile(file, request, 0o600); err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(dir, "two")
			if err := (recording.Call{Request: request}).Write(folder); err != nil {
				t.Fatal(err)
			}
			got, err := DiffPlugins(t.Context(), tt.before, tt.after, []string{file, folder}, inProcess())
			if err != nil || len(got) != 2 {
				t.Fatalf("%v, %v", got, err)
			}
			for _, c := range got {
				if len(c.Changes) != len(tt.changes) || c.Wording != tt.wording {
					t.Fatalf("changes are %q, wording %v", c.Changes, c.Wording)
				}
				for i, want := range tt.changes {
					if !strings.HasPrefix(c.Changes[i], want) {
						t.Errorf("change %q, wanted %q", c.Changes[i], want)
					}
				}
			}
		})
	}
}

// TestTrace: what is told names plugin, hook, verdict and what it took, and each thing that was asked.
func TestTrace(t *testing.T) {
	var told []string
	o := inProcess()
	o.Trace = true
	o.Sink = event.Func(func(e event.Event) { told = append(told, e.Message) })
	m := asking(t, "1", firstCall)
	p, err := LoadPlugin(t.Context(), m.Source, m.Bytes, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.Background()) }()
	if _, err := p.Ask(t.Context(), played()); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(told, "\n")
	for _, want := range []string{
		`plugin "guest" at pre-deploy: host call 1: k8s.get/v1 v1 ConfigMap a b: unavailable`,
		`plugin "guest" at pre-deploy: allow; `, " fuel, ", " bytes of memory, 1 host calls, ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("told is %s, without %q", all, want)
		}
	}
}
