package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
)

func TestText(t *testing.T) {
	c, err := New(Options{KubeVersion: "v1.31.2"})
	if err != nil {
		t.Fatal(err)
	}
	w := Wanted{
		Release: object.Release{Namespace: "shop", Name: "app"}, Package: "pkg",
		Archive: archive(t, "1.0.0", map[string]string{
			"crds/thing.yaml":      "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: things.x}\n",
			"templates/ns.yaml":    "kind: Namespace\napiVersion: v1\nmetadata: {name: other}\n",
			"templates/a.yaml":     "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {kube: '{{ .Capabilities.KubeVersion }}', v: '###ZARF_VAR_V###'}\n",
			"templates/hook.yaml":  "kind: ConfigMap\napiVersion: v1\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\n",
			"templates/_none.yaml": "",
		}),
		Fill: func(text []byte) ([]byte, error) {
			return []byte(strings.ReplaceAll(string(text), "###ZARF_VAR_V###", "filled")), nil
		},
	}
	got, err := c.Text(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	const want = `---
# Source: app/crds/thing.yaml
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: things.x}
---
apiVersion: v1
kind: Namespace
metadata:
  labels:
    app.kubernetes.io/managed-by: zarf
    zarf.dev/agent: mutate
  name: other
---
# Source: app/templates/a.yaml
apiVersion: v1
data:
  kube: v1.31.2
  v: filled
kind: ConfigMap
metadata:
  labels:
    zarf.dev/package: pkg
  name: a
---
# Source: app/templates/hook.yaml
kind: ConfigMap
apiVersion: v1
metadata: {name: h, annotations: {helm.sh/hook: pre-install}}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := New(Options{KubeVersion: "newest"}); err == nil || !strings.Contains(err.Error(), `"newest"`) {
		t.Errorf("a version that is none: %v", err)
	}
}
