package object

import (
	"maps"
	"testing"
)

func TestAsksToBeKept(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"nothing":                  {nil, false},
		"keep":                     {map[string]string{ResourcePolicy: "keep"}, true},
		"as Helm reads it":         {map[string]string{ResourcePolicy: " Keep "}, true},
		"another policy":           {map[string]string{ResourcePolicy: "delete"}, false},
		"a mark of an uninstall's": {map[string]string{ResourcePolicy: "keep", KeptMark: "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AsksToBeKept(c.annotations); got != c.want {
				t.Errorf("%v: %t, want %t", c.annotations, got, c.want)
			}
		})
	}
}

func TestMarkKeptIsUndone(t *testing.T) {
	for _, annotations := range []map[string]string{nil, {"a": "b"}, {"a": "b", ResourcePolicy: "keep"}} {
		before := maps.Clone(annotations)
		marked, changed := MarkKept(annotations)
		if changed == AsksToBeKept(annotations) {
			t.Errorf("%v: marked is %t", annotations, changed)
		}
		if again, changed := MarkKept(marked); changed || !maps.Equal(again, marked) {
			t.Errorf("marking %v again makes it %v", marked, again)
		}
		unmarked, undone := UnmarkKept(marked)
		if undone != changed || !maps.Equal(unmarked, before) || !maps.Equal(annotations, before) {
			t.Errorf("%v becomes %v", before, unmarked)
		}
	}
}
