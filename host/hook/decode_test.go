package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
)

// answer is a response document with its head filled in.
func answer(rest string) string {
	return `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1"` + rest + `}`
}

func TestDecodeResponse(t *testing.T) {
	object := `{"apiVersion":"v1","kind":"Secret","namespace":"db","name":"pw"}`
	tests := map[string]struct {
		hook hook.Name
		data string
		want string // part of the error; empty means accepted
	}{
		"allow":                 {hook.PreDeploy, answer(`,"verdict":"allow"`), ""},
		"surrounding space":     {hook.PreDeploy, " \n" + answer(`,"verdict":"allow"`) + "\n\n", ""},
		"deny with finding":     {hook.PreDeploy, answer(`,"verdict":"deny","findings":[{"severity":"deny","message":"no","object":` + object + `,"path":"a.b","remedy":"do"}]`), ""},
		"null lists":            {hook.PreDeploy, answer(`,"verdict":"allow","findings":null,"keep":null`), ""},
		"keep each sort":        {hook.PrePrune, answer(`,"verdict":"warn","keep":[{"component":"db","reason":"r"},{"chart":"db/pg","reason":"r"},{"image":"a:1","reason":"r"},{"object":` + object + `,"reason":"r"}]`), ""},
		"collision":             {hook.Collision, answer(`,"verdict":"deny","collisions":[{"id":"c1","verdict":"deny","message":"m"}]`), ""},
		"empty":                 {hook.PreDeploy, "", "empty answer"},
		"only space":            {hook.PreDeploy, " \n", "empty answer"},
		"half":                  {hook.PreDeploy, answer(`,"verdict":"allow"`)[:40], "ends in the middle"},
		"not json":              {hook.PreDeploy, "allow", "invalid character"},
		"null":                  {hook.PreDeploy, "null", "apiVersion"},
		"list":                  {hook.PreDeploy, "[]", "cannot unmarshal"},
		"string":                {hook.PreDeploy, `"allow"`, "cannot unmarshal"},
		"two documents":         {hook.PreDeploy, answer(`,"verdict":"allow"`) + answer(`,"verdict":"allow"`), "more than one"},
		"trailing text":         {hook.PreDeploy, answer(`,"verdict":"allow"`) + "done", "more than one"},
		"unknown key":           {hook.PreDeploy, answer(`,"verdict":"allow","extra":1`), `unknown key "extra"`},
		"key in the wrong spot": {hook.PreDeploy, answer(`,"verdict":"allow","message":"m"`), "unknown field"},
		"key in another case":   {hook.PreDeploy, answer(`,"Verdict":"allow"`), `unknown key "Verdict"`},
		"key twice":             {hook.PreDeploy, answer(`,"verdict":"deny","verdict":"allow"`), `key "verdict" twice`},
		"nested key twice":      {hook.PreDeploy, answer(`,"verdict":"deny","findings":[{"severity":"info","message":"a","message":"b"}]`), `key "message" twice`},
		"deep":                  {hook.PreDeploy, answer(`,"keep":` + strings.Repeat("[", 40) + strings.Repeat("]", 40)), "nested"},
		"not utf-8":             {hook.PreDeploy, answer(`,"verdict":"allow","findings":[{"severity":"info","message":"` + "\xff" + `"}]`), "UTF-8"},
		"wrong id":              {hook.PreDeploy, strings.Replace(answer(`,"verdict":"allow"`), "r1", "r2", 1), `id "r2"`},
		"no id":                 {hook.PreDeploy, strings.Replace(answer(`,"verdict":"allow"`), `,"id":"r1"`, "", 1), `id ""`},
		"wrong version":         {hook.PreDeploy, strings.Replace(answer(`,"verdict":"allow"`), "/v1", "/v2", 1), `dev/v2"`},
		"wrong kind":            {hook.PreDeploy, strings.Replace(answer(`,"verdict":"allow"`), "HookResponse", "HookRequest", 1), "kind"},
		"no verdict":            {hook.PreDeploy, answer(``), `verdict ""`},
		"strange verdict":       {hook.PreDeploy, answer(`,"verdict":"maybe"`), `verdict "maybe"`},
		"deny after removal":    {hook.PostRemove, answer(`,"verdict":"deny"`), "post-remove may answer allow, warn"},
		"keep at pre-deploy":    {hook.PreDeploy, answer(`,"verdict":"allow","keep":[{"component":"a","reason":"r"}]`), "does not allow"},
		"collision elsewhere":   {hook.PrePrune, answer(`,"verdict":"allow","collisions":[{"id":"c1","verdict":"deny","message":"m"}]`), "does not allow"},
		"unknown collision":     {hook.Collision, answer(`,"verdict":"allow","collisions":[{"id":"c9","verdict":"deny","message":"m"}]`), `id "c9"`},
		"collision twice":       {hook.Collision, answer(`,"verdict":"allow","collisions":[{"id":"c1","verdict":"deny","message":"m"},{"id":"c1","verdict":"allow","message":"m"}]`), "twice"},
		"keep nothing":          {hook.PrePrune, answer(`,"verdict":"allow","keep":[{"reason":"r"}]`), "exactly one"},
		"keep two":              {hook.PrePrune, answer(`,"verdict":"allow","keep":[{"component":"a","chart":"b/c","reason":"r"}]`), "exactly one"},
		"keep chart by name":    {hook.PrePrune, answer(`,"verdict":"allow","keep":[{"chart":"pg","reason":"r"}]`), "not namespace/release"},
		"keep without reason":   {hook.PrePrune, answer(`,"verdict":"allow","keep":[{"component":"a"}]`), "reason is missing"},
		"keep nameless object":  {hook.PrePrune, answer(`,"verdict":"allow","keep":[{"object":{"apiVersion":"v1","kind":"Secret"},"reason":"r"}]`), "object.name is missing"},
		"finding without text":  {hook.PreDeploy, answer(`,"verdict":"allow","findings":[{"severity":"info","message":" "}]`), "message is missing"},
		"strange severity":      {hook.PreDeploy, answer(`,"verdict":"allow","findings":[{"severity":"error","message":"m"}]`), "severity"},
		"allow and deny":        {hook.PreDeploy, answer(`,"verdict":"allow","findings":[{"severity":"info","message":"m"},{"severity":"deny","message":"m"}]`), `findings[1]: a finding of severity deny beside the verdict "allow"`},
		"warn and deny":         {hook.PrePrune, answer(`,"verdict":"warn","findings":[{"severity":"deny","message":"m"}]`), `beside the verdict "warn"`},
		"deny, not allowed to":  {hook.PostRemove, answer(`,"verdict":"warn","findings":[{"severity":"deny","message":"m"}]`), "severity deny"},
		"deny and warn":         {hook.PreDeploy, answer(`,"verdict":"deny","findings":[{"severity":"warn","message":"m"}]`), ""},
		"escape sequence":       {hook.PreDeploy, answer(`,"verdict":"allow","findings":[{"severity":"info","message":"\u001b[2J"}]`), "control character"},
		"long text":             {hook.PreDeploy, answer(`,"verdict":"allow","findings":[{"severity":"info","message":"` + strings.Repeat("x", hook.MaxText+1) + `"}]`), "at most"},
		"many findings":         {hook.PreDeploy, answer(`,"verdict":"allow","findings":[` + strings.Repeat(`{"severity":"info","message":"m"},`, hook.MaxFindings) + `{"severity":"info","message":"m"}]`), "at most"},
		"unknown hook":          {"pre-lunch", answer(`,"verdict":"allow"`), "unknown hook"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := hook.DecodeResponse([]byte(tt.data), hook.Expect{ID: "r1", Hook: tt.hook, Collisions: []string{"c1"}})
			if tt.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				if got.ID != "r1" || got.Verdict == "" {
					t.Fatalf("decoded to %+v", got)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error is %v, wanted %q in it", err, tt.want)
			}
			if got.Verdict != "" {
				t.Errorf("a refused answer still has the verdict %q", got.Verdict)
			}
		})
	}
}

func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte(answer(`,"verdict":"allow"`)))
	f.Add([]byte(answer(`,"verdict":"deny","findings":[{"severity":"deny","message":"no"}],"keep":[{"component":"a","reason":"r"}]`)))
	f.Add([]byte(`{"a":{"b":[{}]}}`))
	f.Add([]byte(`]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		want := hook.Expect{ID: "r1", Hook: hook.PrePrune}
		r, err := hook.DecodeResponse(data, want)
		if err != nil {
			return
		}
		// What is accepted says the same when it is written and read again.
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		r2, err := hook.DecodeResponse(again, want)
		if err != nil {
			t.Fatalf("accepted %q, but not its own copy %q: %v", data, again, err)
		}
		if r2.Verdict != r.Verdict || len(r2.Keep) != len(r.Keep) || len(r2.Findings) != len(r.Findings) {
			t.Fatalf("%q reads as %+v and then as %+v", data, r, r2)
		}
	})
}
