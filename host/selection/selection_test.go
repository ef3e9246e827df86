package selection

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

// parts reads components from words: a name, then ! required, + default, @group, %os.
func parts(t *testing.T, words string) []spec.Component {
	t.Helper()
	var out []spec.Component
	for word := range strings.FieldsSeq(words) {
		var c spec.Component
		word, c.Only.LocalOS, _ = strings.Cut(word, "%")
		word, c.Group, _ = strings.Cut(word, "@")
		if w, ok := strings.CutSuffix(word, "!"); ok {
			yes := true
			word, c.Required = w, &yes
		}
		word, c.Default = strings.CutSuffix(word, "+")
		c.Name = word
		out = append(out, c)
	}
	return out
}

func names(choices []Choice) string {
	var out []string
	for _, c := range Chosen(choices) {
		out = append(out, c.Name)
	}
	return strings.Join(out, " ")
}

func TestForDeploy(t *testing.T) {
	for _, tc := range []struct {
		name, components, request string
		want                      string
		wantErr                   string
	}{
		{name: "own choice", components: "a b! c+ d", want: "b c"},
		{name: "required unset is optional", components: "a", want: ""},
		{name: "list keeps order of the package", components: "a b c", request: "c,a", want: "a c"},
		{name: "default stays beside a list", components: "a b+ c", request: "a", want: "a b"},
		{name: "default can be excluded", components: "a b+ c", request: "a,-b", want: "a"},
		{name: "required cannot be excluded", components: "a b!", request: "-b", want: "b"},
		{name: "glob", components: "web web-db api", request: "web*", want: "web web-db"},
		{name: "K8 last match wins, include", components: "one two three", request: "-*,two", want: "two"},
		{name: "K8 last match wins, exclude", components: "one two three", request: "*,-two", want: "one three"},
		{name: "K8 exclusion before a glob loses", components: "one two", request: "-two,*", want: "one two"},
		{name: "spaces and empty elements", components: "a b", request: " a ,, b", want: "a b"},
		{name: "unmatched", components: "podinfo", request: "podinof", wantErr: `"podinof" fits no component`},
		{name: "unmatched exclusion", components: "podinfo", request: "-nope-at-all-here", wantErr: `"-nope-at-all-here" fits no component`},
		{name: "lone dash", components: "a", request: "-", wantErr: "names no component"},
		{name: "bad glob", components: "a", request: "[", wantErr: "syntax error in pattern"},
		{name: "group default", components: "a@g b+@g c", want: "b"},
		{name: "group choice displaces default", components: "a@g b+@g", request: "a", want: "a"},
		{name: "group default when another is requested", components: "a@g b+@g c", request: "c", want: "b c"},
		{name: "group twice", components: "a@g b@g", request: "a,b", wantErr: `group "g" allows one component, but a and b`},
		{name: "group open", components: "a@g b@g", wantErr: `group "g" has no default`},
		{name: "group open with a list", components: "a@g b@g c", request: "c", wantErr: `choose one of a, b`},
		{name: "group excluded default", components: "a@g b+@g", request: "-b", wantErr: `group "g" has no default`},
		{name: "group of one left by the operating system", components: "a@g b@g%windows", want: ""},
		{name: "other system", components: "a! b!%windows c!%linux", want: "a c"},
		{name: "other system requested", components: "a b%windows", request: "b", wantErr: `fits only components for windows`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ForDeploy(parts(t, tc.components), Options{Request: tc.request, OS: "linux"})
			checkError(t, err, tc.wantErr)
			if err == nil && names(got) != tc.want {
				t.Errorf("selected %q, want %q", names(got), tc.want)
			}
		})
	}
}

func TestForRemove(t *testing.T) {
	for _, tc := range []struct {
		name, components, request string
		want                      string
		wantErr                   string
	}{
		{name: "all", components: "a b! c+ d@g e@g", want: "a b c d e"},
		{name: "only the list", components: "a b! c+", request: "a", want: "a"},
		{name: "list with exclusion", components: "a b! c+", request: "*,-b", want: "a c"},
		{name: "only an exclusion", components: "a b", request: "-b", wantErr: "selects none"},
		{name: "unknown", components: "a b", request: "nope", wantErr: "fits no component"},
		{name: "other system", components: "a b%darwin", want: "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ForRemove(parts(t, tc.components), Options{Request: tc.request, OS: "linux"})
			checkError(t, err, tc.wantErr)
			if err == nil && names(got) != tc.want {
				t.Errorf("selected %q, want %q", names(got), tc.want)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	choices, err := ForDeploy(parts(t, "a! b+ c d e%windows"), Options{Request: "c,-b", OS: "linux"})
	if err != nil {
		t.Fatal(err)
	}
	var got []Reason
	for _, c := range choices {
		got = append(got, c.Reason)
	}
	want := []Reason{Required, Excluded, Requested, Optional, OtherOS}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInteractiveAsksOnlyWhatIsOpen(t *testing.T) {
	asks := func(request string) string {
		t.Helper()
		choices, err := ForDeploy(parts(t, "a! b+ c x@g y@g"), Options{Request: request, OS: "linux", Interactive: true})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range choices {
			if c.Ask {
				out = append(out, c.Component.Name)
			}
		}
		return strings.Join(out, " ")
	}
	if got, want := asks(""), "b c x y"; got != want {
		t.Errorf("asks %q, want %q", got, want)
	}
	if got := asks("x"); got != "" {
		t.Errorf("asks %q though a list was given", got)
	}
}

func TestUnmatchedErrorSuggests(t *testing.T) {
	_, err := ForDeploy(parts(t, "postgresql podinfo podinfos"), Options{Request: "-podinfoss", OS: "linux"})
	var unmatched *UnmatchedError
	if !errors.As(err, &unmatched) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"podinfos", "podinfo"}, unmatched.Suggestions); diff != "" {
		t.Error(diff)
	}
	if got := unmatched.Hint(); got != "did you mean podinfos, podinfo?" {
		t.Errorf("hint %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"größe", "grösse", 2}, {"same", "same", 0}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func FuzzForDeploy(f *testing.F) {
	f.Add("-*,two")
	f.Add("[a-")
	f.Fuzz(func(t *testing.T, request string) {
		components := parts(t, "one! two+ three x@g y+@g")
		choices, err := ForDeploy(components, Options{Request: request, OS: "linux"})
		if err != nil {
			return
		}
		if len(choices) != len(components) || !choices[0].Selected || choices[3].Selected == choices[4].Selected {
			t.Errorf("request %q: %v", request, names(choices))
		}
	})
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Fatal(err)
	case want != "" && err == nil:
		t.Fatalf("no error, want one with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error %q, want %q in it", err, want)
	}
}
