package hook_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/hook"
)

func code(err error) hook.Code {
	var e *hook.CallError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestParseCall(t *testing.T) {
	for _, good := range []string{
		`{"op":"k8s.get/v1","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","fields":["spec.nodeName"]}`,
		`{"op":"k8s.list/v1","apiVersion":"v1","kind":"Pod","labelSelector":"a=b","fieldSelector":"c=d","limit":5000}`,
		`{"op":"package.file/v1","path":"zarf.yaml"}`,
	} {
		c, err := hook.ParseCall([]byte(good))
		if err != nil {
			t.Errorf("%s: %v", good, err)
		}
		if doc, err := json.Marshal(c); err != nil || string(doc) != good {
			t.Errorf("read and written again it is %s, %v", doc, err)
		}
	}
	for bad, want := range map[string]string{
		``:                       "EOF",
		`{}`:                     "unknown op",
		`null`:                   "unknown op",
		`{"op":"k8s.delete/v1"}`: "unknown op",
		`{"op":"k8s.get/v1","apiVersion":"v1","kind":"Pod"}`:                      "wants apiVersion, kind and name",
		`{"op":"k8s.get/v1","apiVersion":"v1","kind":"Pod","name":"a","limit":1}`: "fields of another operation",
		`{"op":"k8s.get/v1","apiVersion":"v1","kind":"Pod","name":"a","nmae":1}`:  "unknown field",
		`{"op":"k8s.list/v1","kind":"Pod"}`:                                       "wants apiVersion and kind",
		`{"op":"k8s.list/v1","apiVersion":"v1","kind":"Pod","limit":5001}`:        "not between",
		`{"op":"k8s.list/v1","apiVersion":"v1","kind":"Pod","limit":-1}`:          "not between",
		`{"op":"k8s.list/v1","apiVersion":"v1","kind":"Pod","fields":["a..b"]}`:   "not a path",
		`{"op":"package.file/v1"}`:                                                "wants a path",
		`{"op":"package.file/v1","path":"a","kind":"Pod"}`:                        "fields of another operation",
		`{"op":"package.file/v1","path":"a"}{"op":"package.file/v1","path":"a"}`:  "more than one",
	} {
		if _, err := hook.ParseCall([]byte(bad)); code(err) != hook.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, wanted %q", bad, err, want)
		}
	}
}

// FuzzParseCall: whatever a guest writes is read as a call that is written the same, or refused as
// invalid.
func FuzzParseCall(f *testing.F) {
	f.Add([]byte(`{"op":"k8s.get/v1","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b"}`))
	f.Add([]byte(`{"op":"package.file/v1","path":"zarf.yaml"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := hook.ParseCall(data)
		if err != nil {
			if code(err) != hook.CodeInvalid {
				t.Errorf("error is %v", err)
			}
			return
		}
		doc, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := hook.ParseCall(doc)
		if err != nil || !cmp.Equal(c, again) {
			t.Errorf("%s is read as %+v, %v", doc, again, err)
		}
	})
}

func TestAccess(t *testing.T) {
	get := func(namespace string) hook.Call {
		return hook.Call{Op: hook.OpGet, APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: "a"}
	}
	list := func(namespace string) hook.Call {
		return hook.Call{Op: hook.OpList, APIVersion: "v1", Kind: "Pod", Namespace: namespace}
	}
	all := []hook.Capability{hook.K8sGet, hook.K8sList, hook.PackageFile, hook.SecretsRead}
	tests := map[string]struct {
		declared []hook.Capability
		grants   []string
		call     hook.Call
		want     string // part of the refusal; empty: allowed
	}{
		"declared, granted, in the operation": {all, []string{"k8s:get"}, get("web"), ""},
		"not declared":                        {all[1:], []string{"k8s:get"}, get("web"), "does not declare k8s:get"},
		"not granted":                         {all, nil, get("web"), "k8s:get is not granted"},
		"another one granted":                 {all, []string{"k8s:list"}, get("web"), "k8s:get is not granted"},
		"another namespace":                   {all, []string{"k8s:get"}, get("db"), `namespace "db" is none of the operation's`},
		"a namespace granted":                 {all, []string{"k8s:get@db,cache"}, get("db"), ""},
		"granted to list only":                {all, []string{"k8s:get", "k8s:list@db"}, get("db"), `namespace "db"`},
		"everywhere":                          {all, []string{"k8s:get@*"}, get("db"), ""},
		"the star is no name":                 {all, []string{"k8s:get"}, get("*"), `namespace "*"`},
		"no namespace":                        {all, []string{"k8s:get"}, get(""), "belongs to no namespace"},
		"no namespace, everywhere":            {all, []string{"k8s:get@*"}, get(""), ""},
		"its own namespace":                   {all, []string{"k8s:get"}, hook.Call{Op: hook.OpGet, APIVersion: "v1", Kind: "Namespace", Name: "web"}, ""},
		"another's namespace":                 {all, []string{"k8s:get"}, hook.Call{Op: hook.OpGet, APIVersion: "v1", Kind: "Namespace", Name: "db"}, `"db"`},
		"list in the operation":               {all, []string{"k8s:list"}, list("web"), ""},
		"list over all":                       {all, []string{"k8s:list"}, list(""), "a list over all namespaces"},
		"list over all, everywhere":           {all, []string{"k8s:list@*"}, list(""), ""},
		"file":                                {all, []string{"package:file"}, hook.Call{Op: hook.OpFile, Path: "a"}, ""},
		"file not granted":                    {all, []string{"k8s:get@*"}, hook.Call{Op: hook.OpFile, Path: "a"}, "package:file is not granted"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := hook.Access{Declared: tt.declared, Namespaces: []string{"web"}}
			for _, text := range tt.grants {
				g, err := hook.ParseGrant(text)
				if err != nil || g.String() != text {
					t.Fatalf("grant %q is read as %q, %v", text, g, err)
				}
				a.Granted = append(a.Granted, g)
			}
			err := a.Allow(tt.call)
			if tt.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if code(err) != hook.CodeForbidden || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, wanted %q", err, tt.want)
			}
		})
	}
}

func TestParseGrantFlags(t *testing.T) {
	got, err := hook.ParseGrantFlags([]string{"guard=k8s:get", "guard=k8s:list@*", "window=config:read"})
	want := map[string][]hook.Grant{
		"guard":  {{Capability: hook.K8sGet}, {Capability: hook.K8sList, Namespaces: []string{"*"}}},
		"window": {{Capability: hook.ConfigRead}},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	for bad, want := range map[string]string{
		"guard":                 "NAME=CAPABILITY",
		"=k8s:get":              "NAME=CAPABILITY",
		"guard=k8s:delete":      "no capability",
		"guard=k8s:get@":        "no namespace",
		"guard=k8s:get@a,":      "no namespace",
		"guard=secrets:read@db": "has no namespaces",
	} {
		if _, err := hook.ParseGrantFlags([]string{bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, wanted %q", bad, err, want)
		}
	}
}

func TestShow(t *testing.T) {
	secret := func() map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"metadata": map[string]any{"name": "pw", "namespace": "web", "managedFields": []any{"long"},
				"annotations": map[string]any{"a": "b", "kubectl.kubernetes.io/last-applied-configuration": `{"data":{"pw":"aHVudGVyMg=="}}`}},
			"data": map[string]any{"pw": "aHVudGVyMg=="}, "stringData": map[string]any{"other": "hunter3"}}
	}
	digest := func(text string) map[string]any {
		sum := sha256.Sum256([]byte(text))
		return map[string]any{"sha256": hex.EncodeToString(sum[:]), "length": len(text)}
	}
	hidden := map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata":   map[string]any{"name": "pw", "namespace": "web", "annotations": map[string]any{"a": "b"}},
		"data":       map[string]any{"pw": digest("hunter2")},
		"stringData": map[string]any{"other": digest("hunter3")}}
	object := secret()
	got := hook.Show(object, nil, false)
	if diff := cmp.Diff(hidden, got); diff != "" {
		t.Errorf("it is shown as (-want +got):\n%s", diff)
	}
	if doc, err := json.Marshal(got); err != nil || strings.Contains(string(doc), "hunter") || strings.Contains(string(doc), "aHVudGVy") {
		t.Errorf("it is shown as %s", doc)
	}
	if diff := cmp.Diff(secret(), object); diff != "" {
		t.Errorf("the object itself changed:\n%s", diff)
	}
	if whole := hook.Show(secret(), nil, true); whole["data"].(map[string]any)["pw"] != "aHVudGVyMg==" {
		t.Errorf("granted, it is shown as %v", whole)
	}
	record := secret()
	record["metadata"].(map[string]any)["namespace"], record["metadata"].(map[string]any)["name"] = "zarf", "zarf-package-shop"
	if shown := hook.Show(record, nil, true); shown["data"].(map[string]any)["pw"] == "aHVudGVyMg==" {
		t.Errorf("a record of a deployment is shown: %v", shown)
	}
	masked := hook.Show(secret(), []string{"data.pw", "spec.none"}, false)
	if diff := cmp.Diff(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "pw", "namespace": "web"},
		"data": hidden["data"]}, masked); diff != "" {
		t.Errorf("masked (-want +got):\n%s", diff)
	}
}

func TestScript(t *testing.T) {
	s := hook.NewScript([]hook.Exchange{
		hook.NewExchange([]byte(`{"op": "a", "n": 1}`), []byte(`{"x":"<b>"}`)),
		hook.NewExchange([]byte(`no JSON`), []byte(`{}`)),
	})
	if got, err := s.Reply([]byte(`{"n":1,"op":"a"}`)); err != nil || string(got) != `{"x":"<b>"}` || s.Left() != 1 {
		t.Errorf("answered %s, %v", got, err)
	}
	if _, err := s.Reply([]byte(`{"op":"b"}`)); err == nil || !strings.Contains(err.Error(), "question 2") {
		t.Errorf("error is %v", err)
	}
	if got, err := s.Reply([]byte(`no JSON`)); err != nil || string(got) != `{}` {
		t.Errorf("answered %s, %v", got, err)
	}
	if _, err := s.Reply([]byte(`{}`)); err == nil || !strings.Contains(err.Error(), "once more") {
		t.Errorf("error is %v", err)
	}
}
