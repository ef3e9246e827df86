package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

const requestDoc = `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookRequest","id":"r1","hook":"pre-prune","later":1,` +
	`"plan":{"prune":{"objects":[{"apiVersion":"v1","kind":"Secret","namespace":"prod","name":"pw"}],` +
	`"images":[{"reference":"reg.test/x:1","digest":"sha256:1","bytes":7,"reason":"left","version":"1.0.0"}]}}}`

func TestRun(t *testing.T) {
	tests := map[string]struct {
		in     string
		answer func(sdk.Request) sdk.Response
		want   string // the response
		err    string
	}{
		"allow": {requestDoc, func(r sdk.Request) sdk.Response { return r.Allow() },
			`{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1","verdict":"allow"}`, ""},
		"deny": {requestDoc, func(r sdk.Request) sdk.Response { return r.Deny("no %s", r.Hook) },
			`{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1","verdict":"deny","findings":[{"severity":"deny","message":"no pre-prune"}]}`, ""},
		"deny an object": {requestDoc, func(r sdk.Request) sdk.Response {
			res := r.Allow()
			for _, o := range r.Plan.Prune.Objects {
				res.DenyObject(o, "prod")
			}
			return res
		}, `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1","verdict":"deny","findings":[{"severity":"deny","message":"Secret/prod/pw: prod","object":{"apiVersion":"v1","kind":"Secret","namespace":"prod","name":"pw"}}]}`, ""},
		"keep an object": {requestDoc, func(r sdk.Request) sdk.Response {
			res := r.Allow()
			res.KeepObject(r.Plan.Prune.Objects[0], "prod")
			return res
		}, `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1","verdict":"warn","findings":[{"severity":"warn","message":"keeping Secret/prod/pw: prod","object":{"apiVersion":"v1","kind":"Secret","namespace":"prod","name":"pw"}}],"keep":[{"object":{"apiVersion":"v1","kind":"Secret","namespace":"prod","name":"pw"},"reason":"prod"}]}`, ""},
		"keep an image": {requestDoc, func(r sdk.Request) sdk.Response {
			res := r.Allow()
			i := r.Plan.Prune.Images[0]
			res.KeepImage(i, i.Version)
			return res
		}, `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1","verdict":"warn","findings":[{"severity":"warn","message":"keeping image reg.test/x:1: 1.0.0"}],"keep":[{"image":"reg.test/x:1","reason":"1.0.0"}]}`, ""},
		"judge a collision": {`{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookRequest","id":"r1","hook":"collision",` +
			`"collisions":[{"id":"downgrade/shop","kind":"downgrade","verdict":"warn","message":"lower"}]}`, func(r sdk.Request) sdk.Response {
			res := r.Allow()
			for _, c := range r.Collisions {
				res.Judge(c, sdk.Deny, "no %s", c.Kind)
			}
			return res
		}, `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"r1","verdict":"allow","collisions":[{"id":"downgrade/shop","verdict":"deny","message":"no downgrade"}]}`, ""},
		"fail":          {requestDoc, func(sdk.Request) sdk.Response { return sdk.Fail(errors.New("broken")) }, "", "broken"},
		"no request":    {"", func(r sdk.Request) sdk.Response { return r.Allow() }, "", "reading the request"},
		"later version": {strings.Replace(requestDoc, "dev/v1", "dev/v2", 1), func(r sdk.Request) sdk.Response { return r.Allow() }, "", "speaks"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := sdk.Run(strings.NewReader(tt.in), &out, tt.answer)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error is %v, wanted %q", err, tt.err)
			}
			if got := strings.TrimSpace(out.String()); got != tt.want {
				t.Errorf("wrote\n%s, wanted\n%s", got, tt.want)
			}
		})
	}
}

func TestDecodeConfig(t *testing.T) {
	c := struct{ A, B int }{A: 1, B: 2}
	r := sdk.Request{Config: json.RawMessage(`{"B":3}`)}
	if err := r.DecodeConfig(&c); err != nil || c.A != 1 || c.B != 3 {
		t.Errorf("read %+v, %v", c, err)
	}
	r.Config = json.RawMessage(`{"D":3}`)
	if err := r.DecodeConfig(&c); err == nil {
		t.Error("an unknown key was accepted")
	}
	if err := (sdk.Request{}).DecodeConfig(&c); err != nil {
		t.Error(err)
	}
}
