package validate_test

import (
	"testing"

	"github.com/zarf-host/zarf-host/host/validate"
)

func TestPlaces(t *testing.T) {
	p, err := validate.NewPlaces("pkg/zarf.yaml", []byte("kind: ZarfPackageConfig\ncomponents:\n- name: a\n  files:\n  - source: x\n    target: y\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		steps []any
		want  string
	}{
		{[]any{"components", 0, "files", 0, "target"}, "pkg/zarf.yaml:6:5: components[0].files[0].target"},
		{[]any{"components", 0, "files", 0, "shasum"}, "pkg/zarf.yaml:5:5: components[0].files[0].shasum"},
		{[]any{"components", 1}, "pkg/zarf.yaml:2:1: components[1]"},
		{nil, "pkg/zarf.yaml:1:1"},
	} {
		if got := p.At(test.steps...); got != test.want {
			t.Errorf("%v: got %q, want %q", test.steps, got, test.want)
		}
	}
	if _, err := validate.NewPlaces("x", []byte("a: [")); err == nil {
		t.Error("a file that is no YAML has places")
	}
}
