package recording_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/recording"
)

const request = `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookRequest","id":"r1","hook":"pre-prune","time":"2026-01-02T03:04:05Z"}`

func call() recording.Call {
	return recording.Call{
		Request: []byte(request), Response: []byte("{\"verdict\":\"allow\"}\n"),
		Answers: []hook.Exchange{hook.NewExchange([]byte(`{"op":"k8s.get/v1"}`), []byte(`{"object":{}}`))},
		Summary: recording.Summary{Plugin: &plan.Plugin{Name: "guard", Version: "1", Digest: "sha256:aa"}, Fuel: 17, Hidden: true},
	}
}

func TestRecording(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	log, err := recording.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	failed := recording.Call{Request: []byte(request), Summary: recording.Summary{Error: "fuel"}}
	for _, c := range []recording.Call{call(), failed} {
		if err := log.Add(hook.PrePrune, c); err != nil {
			t.Fatal(err)
		}
	}
	module := []byte("a module")
	if err := errors.Join(log.AddModule(module), log.AddModule(module)); err != nil {
		t.Fatal(err)
	}
	found, err := recording.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "001-pre-prune-guard"), filepath.Join(dir, "002-pre-prune-plugin")}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Fatal(diff)
	}
	for i, c := range []recording.Call{call(), failed} {
		got, err := recording.Read(found[i])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Error(diff)
		}
	}
	// Nobody else reads it.
	err = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const digest = "sha256:c2e24f30b0ee27b0d54e58c61af5f9bd0ef2dc1d1a3cd6a8de7bc28c2e2b7b9a"
	if _, err := recording.Module(found[0], digest); !errors.Is(err, recording.ErrNoModule) {
		t.Errorf("a module that is not there: %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "modules"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("the modules are %v, %v", entries, err)
	}
	name := entries[0].Name()
	kept, err := recording.Module(found[0], "sha256:"+strings.TrimSuffix(name, ".wasm"))
	if err != nil || string(kept) != "a module" {
		t.Errorf("the module is %q, %v", kept, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "modules", name), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Module(found[0], "sha256:"+strings.TrimSuffix(name, ".wasm")); err == nil || !strings.Contains(err.Error(), "another one") {
		t.Errorf("a module that was exchanged: %v", err)
	}
	if _, err := recording.Create(dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second recording in the folder: %v", err)
	}
	if _, err := recording.Find(t.TempDir()); err == nil {
		t.Error("an empty folder has calls")
	}
}

func TestReadRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ file, content, want string }{
		"a misspelt ceiling":   {"call.json", `{"maxfuell": 3}`, "maxfuell"},
		"two summaries":        {"call.json", `{}{}`, "more than one"},
		"answers of no form":   {"answers.json", `{}`, "no list"},
		"an answer to nothing": {"answers.json", `[{"answer":{}}]`, "answer 1"},
		"half a request":       {"request.json", `{`, "request"},
		"a request of another": {"request.json", `{"apiVersion":"v9","kind":"HookRequest"}`, "v9"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := call().Write(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := recording.Read(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestEqual(t *testing.T) {
	if !recording.Equal([]byte(`{"a":1,"b":2.50}`), []byte("{\n\"b\": 2.50, \"a\": 1 }\n")) {
		t.Error("the same in another order is not equal")
	}
	if recording.Equal([]byte(`{"a":12345678901234567890}`), []byte(`{"a":12345678901234567891}`)) {
		t.Error("two large numbers are one")
	}
	if recording.Same([]byte(`{"a":1}`), []byte(`{ "a":1}`)) || !recording.Same([]byte("{}\n"), []byte("{}")) {
		t.Error("the same is to the byte, but for what is around")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(request), []byte(`[{"request":{},"answer":{}}]`), []byte(`{"fuel":1}`))
	f.Fuzz(func(t *testing.T, request, answers, summary []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"request.json": request, "answers.json": answers, "call.json": summary} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := recording.Read(dir)
		if err != nil {
			return
		}
		// What was read can be written and is the same when it is read again.
		again := t.TempDir()
		if err := c.Write(again); err != nil {
			t.Fatal(err)
		}
		d, err := recording.Read(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.Summary, d.Summary); diff != "" || len(c.Answers) != len(d.Answers) || string(c.Request) != string(d.Request) {
			t.Error(diff)
		}
	})
}
