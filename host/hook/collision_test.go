package hook_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
)

// The built-in verdict counts only where no plugin answered, among answers the strictest counts, and
// what the package carries only raises: all of that for every verdict of everybody.
func TestJudge(t *testing.T) {
	verdicts := []hook.Verdict{"", hook.Allow, hook.Warn, hook.Deny} // "" is no answer
	rank := map[hook.Verdict]int{"": 0, hook.Allow: 1, hook.Warn: 2, hook.Deny: 3}
	answer := func(plugin string, v hook.Verdict, carried bool) hook.Answer {
		a := hook.Answer{Plugin: plugin, Carried: carried, Response: hook.Response{Verdict: hook.Allow}}
		if v != "" {
			a.Response.Collisions = []hook.CollisionAnswer{{ID: "c", Verdict: v, Message: "m"}}
		}
		return a
	}
	for _, builtin := range verdicts[1:] {
		for _, a := range verdicts {
			for _, b := range verdicts {
				for _, carried := range verdicts {
					counts, by := builtin, ""
					if a != "" || b != "" {
						counts, by = a, "a"
						if rank[b] > rank[a] {
							counts, by = b, "b"
						}
					}
					if rank[carried] > rank[counts] {
						counts, by = carried, "carried"
					}
					want := fmt.Sprintf("%s by %q", counts, by)
					judged := hook.Judge([]hook.Conflict{{ID: "c", Verdict: builtin}, {ID: "other", Verdict: hook.Deny}},
						[]hook.Answer{answer("a", a, false), answer("carried", carried, true), answer("b", b, false), {Plugin: "broken", Err: errors.New("no")}})
					got := fmt.Sprintf("%s by %q", builtin, "")
					if len(judged) == 1 {
						got = fmt.Sprintf("%s by %q", judged[0].Verdict, judged[0].Plugin)
					}
					if len(judged) > 1 || got != want {
						t.Errorf("built-in %s, a %q, b %q, carried %q: %s, wanted %s", builtin, a, b, carried, got, want)
					}
				}
			}
		}
	}
}

func TestCheckCollisions(t *testing.T) {
	expect := hook.Request{Collisions: []hook.Conflict{{ID: "one"}, {ID: "two"}}}.Expect()
	tests := map[string]struct {
		answers []hook.CollisionAnswer
		want    string
	}{
		"none":            {nil, ""},
		"both":            {[]hook.CollisionAnswer{{ID: "two", Verdict: hook.Deny}, {ID: "one", Verdict: hook.Allow}}, ""},
		"an unknown one":  {[]hook.CollisionAnswer{{ID: "tow", Verdict: hook.Deny}}, `"tow" is none of the request's`},
		"one twice":       {[]hook.CollisionAnswer{{ID: "one", Verdict: hook.Deny}, {ID: "one", Verdict: hook.Allow}}, "judged twice"},
		"strange verdict": {[]hook.CollisionAnswer{{ID: "one", Verdict: "maybe"}}, `verdict "maybe"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := expect.CheckCollisions(tt.answers)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, wanted %q in it", err, tt.want)
			}
		})
	}
}
