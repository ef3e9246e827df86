package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
)

func TestProject(t *testing.T) {
	const head = `"apiVersion":"v","config":{"a":1},"hook":"h","id":"i","kind":"k"`
	doc := `{"kind":"k","apiVersion":"v","id":"i","hook":"h","config":{"a":1},"user":"u",` +
		`"plan":{"digest":"d","prune":{"objects":[{"kind":"A","name":"a","labels":{"x":"1","y.z/w":"2"}},{"name":"b"},7],"n":9007199254740993}}}`
	tests := map[string]struct {
		inputs hook.Inputs
		want   string
	}{
		"one field":                {hook.Inputs{"user"}, `{` + head + `,"user":"u"}`},
		"through a list":           {hook.Inputs{"plan.prune.objects.kind"}, `{` + head + `,"plan":{"prune":{"objects":[{"kind":"A"},{},null]}}}`},
		"a subtree":                {hook.Inputs{"plan.prune.objects.labels"}, `{` + head + `,"plan":{"prune":{"objects":[{"labels":{"x":"1","y.z/w":"2"}},{},null]}}}`},
		"two fields":               {hook.Inputs{"plan.digest", "plan.prune.objects.name"}, `{` + head + `,"plan":{"digest":"d","prune":{"objects":[{"name":"a"},{"name":"b"},null]}}}`},
		"short wins after long":    {hook.Inputs{"plan.prune.objects.name", "plan.prune.objects"}, `{` + head + `,"plan":{"prune":{"objects":[{"kind":"A","labels":{"x":"1","y.z/w":"2"},"name":"a"},{"name":"b"},7]}}}`},
		"short wins before long":   {hook.Inputs{"plan.prune.objects", "plan.prune.objects.name"}, `{` + head + `,"plan":{"prune":{"objects":[{"kind":"A","labels":{"x":"1","y.z/w":"2"},"name":"a"},{"name":"b"},7]}}}`},
		"big numbers stay":         {hook.Inputs{"plan.prune.n"}, `{` + head + `,"plan":{"prune":{"n":9007199254740993}}}`},
		"absent":                   {hook.Inputs{"deployed.version"}, `{` + head + `}`},
		"config is always whole":   {hook.Inputs{"config.b"}, `{` + head + `}`},
		"no inputs, the whole doc": {nil, doc},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := hook.Project([]byte(doc), tt.inputs)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("projected to\n%s, wanted\n%s", got, tt.want)
			}
		})
	}
	if _, err := hook.Project([]byte(`{`), hook.Inputs{"user"}); err == nil {
		t.Error("half a document was accepted")
	}
}

func FuzzProject(f *testing.F) {
	f.Add(`{"id":"i","plan":{"prune":{"objects":[{"kind":"A"}]}}}`, "plan.prune.objects.kind")
	f.Add(`{"plan":[[1]]}`, "plan.a.b")
	f.Fuzz(func(t *testing.T, doc, path string) {
		in := hook.Inputs{path}
		if in.Validate() != nil {
			return
		}
		once, err := hook.Project([]byte(doc), in)
		if err != nil {
			return
		}
		twice, err := hook.Project(once, in)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q by %q gives %s, then %s (%v)", doc, path, once, twice, err)
		}
	})
}

func TestInputsValidate(t *testing.T) {
	for path, want := range map[string]string{
		"plan.prune.objects.kind": "",
		"user":                    "",
		"":                        "not a path",
		"plan..kind":              "not a path",
		".plan":                   "not a path",
		"plan[0]":                 "not a path",
		"plna.prune":              "names no field",
	} {
		err := hook.Inputs{path}.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, wanted %q", path, err, want)
		}
	}
}

func TestParseMetadata(t *testing.T) {
	good := `{"name":"guard","version":"0.1.0","abi":["v1"],"hooks":[{"name":"pre-prune","inputs":["plan.prune"]}],"capabilities":["k8s:get"],"configSchema":{"type":"object"},"fuel":5}`
	m, err := hook.ParseMetadata([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if use, ok := m.Use(hook.PrePrune); !ok || len(use.Inputs) != 1 || m.Fuel != 5 {
		t.Errorf("read as %+v", m)
	}
	if _, ok := m.Use(hook.PreDeploy); ok {
		t.Error("answers a hook that it does not name")
	}
	for _, tt := range []struct{ from, to, want string }{
		{`"guard"`, `"Guard"`, "metadata name"},
		{`"0.1.0"`, `""`, "metadata version"},
		{`["v1"]`, `["v2"]`, `speaks abi ["v2"], this host speaks "v1"`},
		{`"pre-prune"`, `"pre-lunch"`, "unknown hook"},
		{`[{"name":"pre-prune","inputs":["plan.prune"]}]`, `[]`, "names no hook"},
		{`[{"name"`, `[{"name":"pre-prune"},{"name"`, "twice"},
		{`plan.prune`, `plam.prune`, "names no field"},
		{`k8s:get`, `k8s:delete`, "capability"},
		{`["k8s:get"]`, `["k8s:get","k8s:get"]`, "twice"},
		{`{"type":"object"}`, `7`, "configSchema"},
		{`"fuel"`, `"fule"`, "unknown field"},
		{`}` + "", `}}`, ""},
	} {
		bad := strings.Replace(good, tt.from, tt.to, 1)
		if _, err := hook.ParseMetadata([]byte(bad)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s → %s: error is %v, wanted %q", tt.from, tt.to, err, tt.want)
		}
	}
	if _, err := hook.ParseMetadata([]byte(good + good)); err == nil {
		t.Error("two documents were accepted")
	}
}

func TestRequestIsDeterministic(t *testing.T) {
	r := hook.Request{ID: "i", Hook: hook.PrePrune, User: "u", Plan: json.RawMessage(`{"b":1,"a":2}`),
		Operation: hook.Operation{Name: hook.OperationDeploy, Flags: map[string]string{"b": "1", "a": "2"}},
		Config:    map[string]any{"z": 1, "y": []any{"x"}}}
	want := `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookRequest","id":"i","hook":"pre-prune","time":"0001-01-01T00:00:00Z",` +
		`"operation":{"name":"deploy","flags":{"a":"2","b":"1"}},"plan":{"b":1,"a":2},"user":"u","config":{"y":["x"],"z":1}}`
	for range 20 {
		got, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Fatalf("marshals to\n%s, wanted\n%s", got, want)
		}
	}
}

func TestParseRequest(t *testing.T) {
	doc := `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookRequest","id":"i","hook":"post-deploy","time":"2026-01-02T03:04:05Z",` +
		`"operation":{"name":"deploy","flags":{"a":"2"}},"package":{"metadata":{"name":"p"},"build":{"architecture":"amd64","timestamp":"","version":"v"},"components":[{"name":"c","only":{"cluster":{}},"import":{},"scripts":{},"actions":{"onCreate":{"defaults":{"shell":{}}},"onDeploy":{"defaults":{"shell":{}}},"onRemove":{"defaults":{"shell":{}}}}}]},` +
		`"deployed":{"name":"p","version":"1","events":[{"type":"Deploy","outcome":"Succeeded","timestamp":"2026-01-01T00:00:00Z"}],"components":[{"name":"c","charts":[{"namespace":"n","name":"r"}]}]},` +
		`"plan":{"big":9007199254740993},"collisions":[{"id":"c1","kind":"downgrade","verdict":"warn","message":"m"}],` +
		`"result":{"outcome":"Succeeded","components":[{"name":"c","outcome":"Succeeded"}]},"cluster":{"version":"v1.37.2"},"user":"u","config":{"n":9007199254740993}}`
	r, err := hook.ParseRequest([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(back) != doc {
		t.Errorf("read and written again it is\n%s, wanted\n%s", back, doc)
	}
	if e := r.Expect(); e.ID != "i" || e.Hook != hook.PostDeploy || len(e.Collisions) != 1 {
		t.Errorf("expects %+v", e)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"/v1", "/v2", "wanted is"}, {"HookRequest", "HookResponse", "wanted is"}, {"post-deploy", "lunch", "unknown hook"}, {`"id":"i"`, `"id":7`, "reading"},
	} {
		if _, err := hook.ParseRequest([]byte(strings.Replace(doc, tt.from, tt.to, 1))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s → %s: error is %v", tt.from, tt.to, err)
		}
	}
	if _, err := hook.ParseRequest([]byte(doc + "{}")); err == nil {
		t.Error("two documents were accepted")
	}
}
