package hook_test

import (
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
)

func TestRecordable(t *testing.T) {
	const plain = `{"apiVersion":"hooks.zarf-host.dev/v1","id":"1",  "plan":{"digest":"x"}}`
	secret := func(data string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"pw"},"data":` + data + `}`
	}
	for name, tt := range map[string]struct {
		request, answer string
		hidden          bool
	}{
		"nothing to hide":         {plain, `{"object":{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"hunter2?no"}}}`, false},
		"digests stay":            {plain, `{"object":` + secret(`{"pw":{"length":7,"sha256":"f5"}}`) + `}`, false},
		"an error":                {plain, `{"error":{"code":"forbidden","message":"no"}}`, false},
		"a text":                  {plain, `"text"`, false},
		"a granted secret":        {plain, `{"object":` + secret(`{"pw":"aHVudGVyMg=="}`) + `}`, true},
		"one of a list":           {plain, `{"items":[` + secret(`{}`) + `,` + secret(`{"pw":"aHVudGVyMg=="}`) + `]}`, true},
		"data that is no map":     {plain, `{"object":` + secret(`"hunter2"`) + `}`, true},
		"kubectl's copy":          {plain, `{"object":{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}}}}`, true},
		"what was supplied":       {`{"id":"1","deployConfig":{"setVariables":{"A":"hunter2"}}}`, `{}`, true},
		"supplied, and no config": {`{"id":"1","deployConfig":null}`, `{}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := hook.NewExchange([]byte(`{"op":"k8s.get/v1"}`), []byte(tt.answer))
			request, kept, hidden, err := hook.Recordable([]byte(tt.request), nil, []hook.Exchange{asked})
			if err != nil {
				t.Fatal(err)
			}
			if hidden != tt.hidden {
				t.Errorf("hidden is %v, want %v", hidden, tt.hidden)
			}
			all := string(request) + string(kept[0].Answer)
			if tt.hidden && (strings.Contains(all, "hunter2") || strings.Contains(all, "aHVudGVyMg") || strings.Contains(all, "deployConfig")) {
				t.Errorf("it is still there: %s", all)
			}
			if !tt.hidden && (string(request) != tt.request || string(kept[0].Answer) != string(asked.Answer)) {
				t.Errorf("what had nothing to hide was changed: %s", all)
			}
			if string(kept[0].Request) != string(asked.Request) {
				t.Errorf("the question became %s", kept[0].Request)
			}
		})
	}
	if _, _, _, err := hook.Recordable([]byte(`{`), nil, nil); err == nil {
		t.Error("half a document was taken")
	}
}

// What a plugin was not shown does not hinder asking it again.
func TestRecordableByInputs(t *testing.T) {
	const request = `{"id":"1","deployConfig":{"setVariables":{"A":"hunter2"}}}`
	for name, tt := range map[string]struct {
		inputs hook.Inputs
		hidden bool
	}{
		"everything":     {nil, true},
		"it":             {hook.Inputs{"plan", "deployConfig"}, true},
		"a part of it":   {hook.Inputs{"deployConfig.setVariables.A"}, true},
		"something else": {hook.Inputs{"plan.prune", "package.deployConfig"}, false},
	} {
		kept, _, hidden, err := hook.Recordable([]byte(request), tt.inputs, nil)
		if err != nil || hidden != tt.hidden {
			t.Errorf("%s: hidden is %v, %v", name, hidden, err)
		}
		if strings.Contains(string(kept), "hunter2") {
			t.Errorf("%s: it is still there: %s", name, kept)
		}
	}
}
