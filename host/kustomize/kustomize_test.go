package kustomize_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/kustomize"
)

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRender(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "base", "kustomization.yaml"), "resources: [cm.yaml]\n")
	write(t, filepath.Join(dir, "base", "cm.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	write(t, filepath.Join(dir, "over", "kustomization.yaml"), "resources: [../base]\nnamePrefix: x-\n")
	write(t, filepath.Join(dir, "out", "kustomization.yaml"), "resources: [../base/cm.yaml]\n")
	got, err := kustomize.Render(t.Context(), filepath.Join(dir, "over"), kustomize.Options{})
	if want := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x-a\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := kustomize.Render(t.Context(), filepath.Join(dir, "out"), kustomize.Options{}); err == nil || !strings.Contains(err.Error(), "security") {
		t.Errorf("a file outside of the folder: got %v", err)
	}
	if _, err := kustomize.Render(t.Context(), filepath.Join(dir, "out"), kustomize.Options{AnyDirectory: true}); err != nil {
		t.Errorf("a file outside of the folder that is allowed: %v", err)
	}
}
