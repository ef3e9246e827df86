package value

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	values, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestMerge(t *testing.T) {
	under := parse(t, "web: {name: a, list: [1, 2], deep: {x: 1}}\nonly: under")
	over := parse(t, "web: {name: ~, list: [3], deep: {y: 2}}")
	got := Merge(under, over)
	want := parse(t, "web: {name: ~, list: [3], deep: {x: 1, y: 2}}\nonly: under")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got["web"].(map[string]any)["deep"].(map[string]any)["x"] = "changed"
	got["web"].(map[string]any)["list"].([]any)[0] = "changed"
	if diff := cmp.Diff(parse(t, "web: {name: a, list: [1, 2], deep: {x: 1}}\nonly: under"), under); diff != "" {
		t.Errorf("the lower values changed:\n%s", diff)
	}
	if diff := cmp.Diff(parse(t, "web: {name: ~, list: [3], deep: {y: 2}}"), over); diff != "" {
		t.Errorf("the upper values changed:\n%s", diff)
	}
}

func TestNative(t *testing.T) {
	got := Native(parse(t, "a: 9007199254740993\nb: 18446744073709551615\nc: 98765432109876543210\nd: 1.5\ne: [1, {f: 2}]\ng: text"))
	want := map[string]any{
		"a": int64(9007199254740993), "b": uint64(18446744073709551615), "c": json.Number("98765432109876543210"),
		"d": 1.5, "e": []any{int64(1), map[string]any{"f": int64(2)}}, "g": "text",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeaves(t *testing.T) {
	got := Leaves(parse(t, "a: {b: 1, c: {d: [x]}, x.io/y: 2}\na.b: 3\ne: {}\nf: ~"))
	want := map[string]any{
		"a.b": json.Number("1"), "a.c.d": []any{"x"}, `a."x.io/y"`: json.Number("2"), `"a.b"`: json.Number("3"),
		"e": map[string]any{}, "f": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForChart(t *testing.T) {
	values := "app: {replicas: 3, image: fixed, extra: {a: 1, b: 2}}\nname: shop\nnothing: ~"
	for _, tc := range []struct {
		name     string
		mappings []spec.ChartValue
		want     string
		wantErr  string
	}{
		{name: "none", want: "{}"},
		{name: "one", mappings: []spec.ChartValue{{SourcePath: ".app.replicas", TargetPath: ".replicaCount"}}, want: "replicaCount: 3"},
		{name: "the whole", mappings: []spec.ChartValue{{SourcePath: ".", TargetPath: "."}}, want: values},
		{name: "the whole below a key", mappings: []spec.ChartValue{{SourcePath: ".", TargetPath: ".global", ExcludePaths: []string{".app", ".nothing"}}},
			want: "global: {name: shop}"},
		{name: "excluded", mappings: []spec.ChartValue{{SourcePath: ".app", TargetPath: ".", ExcludePaths: []string{".app.image", ".app.extra.a"}}},
			want: "replicas: 3\nextra: {b: 2}"},
		{name: "what is excluded need not be there", mappings: []spec.ChartValue{{SourcePath: ".app", TargetPath: ".", ExcludePaths: []string{".app.no.such", ".app.image.x"}}},
			want: "replicas: 3\nimage: fixed\nextra: {a: 1, b: 2}"},
		{name: "later ones win", mappings: []spec.ChartValue{
			{SourcePath: ".app", TargetPath: ".web"}, {SourcePath: ".name", TargetPath: ".web.image"},
		}, want: "web: {replicas: 3, image: shop, extra: {a: 1, b: 2}}"},
		{name: "null is a value", mappings: []spec.ChartValue{{SourcePath: ".nothing", TargetPath: ".x"}}, want: "x: ~"},
		{name: "missing", mappings: []spec.ChartValue{{SourcePath: ".app.no", TargetPath: ".x"}}, wantErr: ".app.no"},
		{name: "below a word", mappings: []spec.ChartValue{{SourcePath: ".name.first", TargetPath: ".x"}}, wantErr: ".name.first"},
		{name: "a word as the whole", mappings: []spec.ChartValue{{SourcePath: ".name", TargetPath: "."}}, wantErr: "only be set to a map"},
		{name: "excluding elsewhere", mappings: []spec.ChartValue{{SourcePath: ".app", TargetPath: ".", ExcludePaths: []string{".name"}}}, wantErr: "does not lie below"},
		{name: "excluding itself", mappings: []spec.ChartValue{{SourcePath: ".app", TargetPath: ".", ExcludePaths: []string{".app"}}}, wantErr: "does not lie below"},
		{name: "no path", mappings: []spec.ChartValue{{SourcePath: "", TargetPath: ".x"}}, wantErr: "empty key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := parse(t, values)
			got, err := ForChart(before, tc.mappings)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "shop") {
					t.Fatalf("error %v, want %q in it and no value", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(parse(t, values), before); diff != "" {
				t.Errorf("the package's values changed:\n%s", diff)
			}
		})
	}
}

func TestMissingErrorSaysHowToGiveIt(t *testing.T) {
	_, err := ForChart(nil, []spec.ChartValue{{SourcePath: "app.replicas", TargetPath: "x"}})
	var missing *MissingError
	if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "--set-values app.replicas=VALUE") {
		t.Errorf("got %v", err)
	}
}

func TestOverlap(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{{".", ".a.b", true}, {".a", ".a.b", true}, {".a.b", ".a", true}, {".a.b", ".a.c", false}, {".ab", ".a", false}} {
		a, _ := ParsePath(tc.a)
		b, _ := ParsePath(tc.b)
		if got := Overlap(a, b); got != tc.want {
			t.Errorf("Overlap(%s, %s) = %v", tc.a, tc.b, got)
		}
	}
}
