package wasm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// built compiles a guest once for the whole test binary.
func built(t testing.TB, folder string) []byte {
	t.Helper()
	module, err := guests.Build(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// guard is the shipped plugin as a user makes it: compiled, then annotated from its plugin.yaml.
func guard(t testing.TB) []byte {
	t.Helper()
	root, err := guests.Root()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(root, "plugins", "guard", "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := wasm.ParseManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	out, err := wasm.Annotate(built(t, "plugins/guard"), meta)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// prune is a request in which a claim and a config map would go.
func prune() hook.Request {
	return hook.Request{ID: "r1", Hook: hook.PrePrune, Time: time.Unix(1, 0), Plan: json.RawMessage(`{"digest":"d","prune":{"objects":[` +
		`{"apiVersion":"v1","kind":"ConfigMap","namespace":"web","name":"settings","labels":{"a":"b"},"holdsData":false},` +
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"db","name":"pg-0","holdsData":true}]}}`)}
}

func TestGuard(t *testing.T) {
	module, cache := guard(t), guests.CompiledDir()
	tests := map[string]struct {
		config  map[string]any
		verdict hook.Verdict
		found   string
		kept    string
	}{
		"denies data":         {nil, hook.Deny, "PersistentVolumeClaim/db/pg-0", ""},
		"allows what may go":  {map[string]any{"allow": []string{"PersistentVolumeClaim/db/*"}}, hook.Allow, "", ""},
		"keeps where told to": {map[string]any{"action": "keep"}, hook.Warn, "keeping PersistentVolumeClaim/db/pg-0", "PersistentVolumeClaim/db/pg-0"},
		"protects namespaces": {map[string]any{"data": false, "namespaces": []string{"w*"}}, hook.Deny, "ConfigMap/web/settings", ""},
		"protects labels":     {map[string]any{"data": false, "labels": map[string]string{"a": ""}}, hook.Deny, "ConfigMap/web/settings", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := load(t, module, wasm.Options{Config: tt.config, CacheDir: cache})
			if err != nil {
				t.Fatal(err)
			}
			res, err := p.Call(t.Context(), prune())
			if err != nil {
				t.Fatalf("%v\n%s", err, res.Log)
			}
			if res.Response.Verdict != tt.verdict {
				t.Errorf("verdict is %q, wanted %q", res.Response.Verdict, tt.verdict)
			}
			found, kept := "", ""
			for _, f := range res.Response.Findings {
				found += f.Message
			}
			for _, k := range res.Response.Keep {
				kept += k.Object.String()
			}
			if (tt.found == "") != (found == "") || !strings.Contains(found, tt.found) || kept != tt.kept {
				t.Errorf("found %q and kept %q, wanted %q and %q", found, kept, tt.found, tt.kept)
			}
		})
	}
	t.Run("refuses a configuration outside its schema", func(t *testing.T) {
		for _, config := range []map[string]any{{"namespace": []string{"web"}}, {"data": "yes"}, {"action": "shout"}, {"allow": []string{"Secret"}}} {
			_, err := load(t, module, wasm.Options{Config: config, CacheDir: cache})
			var failure *wasm.Error
			if !errors.As(err, &failure) || failure.Kind != wasm.KindRequest {
				t.Errorf("%v: error is %v", config, err)
			}
		}
	})
}

// TestL15NothingBesideTheRequest shows what a guest sees: the same on every machine and in every run.
func TestL15NothingBesideTheRequest(t *testing.T) {
	module, err := wasm.Annotate(built(t, "host/internal/guests/probe"), hook.Metadata{Name: "probe", Version: "1", ABI: []string{"v1"},
		Hooks:        []hook.Use{{Name: hook.PreDeploy, Inputs: hook.Inputs{"operation"}}},
		ConfigSchema: json.RawMessage(`{"type":"object"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET", "s")
	p, err := load(t, module, wasm.Options{Config: map[string]any{"b": 1, "a": "x"}, CacheDir: guests.CompiledDir()})
	if err != nil {
		t.Fatal(err)
	}
	req := request()
	req.User = "somebody"
	var outputs [][]byte
	var fuel []uint64
	for range 3 {
		res, err := p.Call(t.Context(), req)
		if err != nil {
			t.Fatalf("%v\n%s", err, res.Log)
		}
		if res.Log != "a line of log\n" || res.Memory == 0 {
			t.Errorf("log is %q, memory %d", res.Log, res.Memory)
		}
		outputs = append(outputs, res.Output)
		fuel = append(fuel, res.Fuel)
		var said []string
		for _, f := range res.Response.Findings {
			said = append(said, f.Message)
		}
		said[4], _, _ = strings.Cut(said[4], " ")
		want := `args probe pre-deploy; environment of 0; now 2026-01-02T03:04:05.000000006Z; slept 1h0m0s; random; file true; write true; user ""; config {"a":"x","b":1}`
		if got := strings.Join(said, "; "); got != want {
			t.Errorf("it saw\n%s, wanted\n%s", got, want)
		}
		if res.Took > 5*time.Second {
			t.Errorf("sleeping took %v", res.Took)
		}
	}
	if !bytes.Equal(outputs[0], outputs[1]) || !bytes.Equal(outputs[0], outputs[2]) {
		t.Error("the same request has different answers")
	}
	if fuel[0] < 1_000_000 || fuel[0] != fuel[1] || fuel[0] != fuel[2] {
		t.Errorf("the same request takes %d fuel", fuel)
	}
	req.ID = "r2"
	res, err := p.Call(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(outputs[0], []byte(res.Response.Findings[4].Message)) {
		t.Error("another request has the same randomness")
	}
}

func TestL12ConcurrentCalls(t *testing.T) {
	for mode, sandbox := range sandboxes() {
		t.Run(mode, func(t *testing.T) { concurrentCalls(t, sandbox) })
	}
}

func concurrentCalls(t *testing.T, sandbox wasm.Sandbox) {
	p, err := load(t, annotated(t, guests.Command(1, func(p *guests.Program) []byte {
		return p.Print(1, guests.Answer("r1", "allow"))
	})), wasm.Options{Sandbox: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 100 {
				if res, err := p.Call(context.Background(), request()); err != nil || res.Response.Verdict != hook.Allow {
					t.Errorf("answered %+v, %v", res.Response, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestFuelGolden fixes what one module uses, whole: its own instructions, two calls of the host and 8
// bytes moved for each unit.
func TestFuelGolden(t *testing.T) {
	text := guests.Answer("r1", "allow")
	for name, tt := range map[string]struct {
		code func(p *guests.Program) []byte
		want uint64
	}{
		"returns": {func(p *guests.Program) []byte { return p.Print(1, text) }, 7 + 100 + uint64(len(text))/8},
		"exits":   {func(p *guests.Program) []byte { return append(p.Print(1, text), p.Exit(0)...) }, 9 + 200 + uint64(len(text))/8},
	} {
		p, err := load(t, annotated(t, guests.Command(1, tt.code)), wasm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.Call(t.Context(), request())
		if err != nil || res.Fuel != tt.want {
			t.Errorf("%s: used %d, %v, wanted %d", name, res.Fuel, err, tt.want)
		}
	}
}

func TestCallAfterClose(t *testing.T) {
	p, err := wasm.Load(t.Context(), annotated(t, guests.Command(1, func(p *guests.Program) []byte { return nil })), wasm.Options{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Call(t.Context(), request()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("error is %v", err)
	}
}

func TestCallRefusesWhatItCannotAsk(t *testing.T) {
	p, err := load(t, annotated(t, guests.Command(1, func(p *guests.Program) []byte { return nil })), wasm.Options{Limits: wasm.Limits{Request: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	large := request()
	large.User = strings.Repeat("u", 1000)
	other := request()
	other.Hook = hook.PostRemove
	for want, req := range map[string]hook.Request{"at most 1000 bytes": large, "does not answer post-remove": other} {
		_, err := p.Call(t.Context(), req)
		var failure *wasm.Error
		if !errors.As(err, &failure) || failure.Kind != wasm.KindRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, wanted %q", err, want)
		}
	}
	if p.Answers(hook.PostRemove) || !p.Answers(hook.PrePrune) {
		t.Error("Answers contradicts the metadata")
	}
}
