package hook

import (
	"fmt"
	"slices"
)

// Judge folds what plugins answered about collisions, in the order of the collisions: among the
// answers the strictest wins, and the built-in verdict counts only where there is none. What a plugin
// that the package carries answers only counts where it is stricter than what counts without it. A
// collision that nobody judged, or not to any effect, is not in the result.
func Judge(collisions []Conflict, answers []Answer) []PluginCollision {
	var out []PluginCollision
	for _, c := range collisions {
		judged, ok := strictest(c.ID, answers, false)
		counts := c.Verdict
		if ok {
			counts = judged.Verdict
		}
		if raised, any := strictest(c.ID, answers, true); any && raised.Verdict.rank() > counts.rank() {
			judged, ok = raised, true
		}
		if ok {
			out = append(out, judged)
		}
	}
	return out
}

// strictest returns the strictest answer about a collision, the first of equals.
func strictest(id string, answers []Answer, carried bool) (strictest PluginCollision, ok bool) {
	for _, a := range answers {
		if a.Err != nil || a.Carried != carried {
			continue
		}
		for _, c := range a.Response.Collisions {
			if c.ID == id && c.Verdict.rank() > strictest.Verdict.rank() {
				strictest, ok = PluginCollision{a.Plugin, c}, true
			}
		}
	}
	return strictest, ok
}

// CheckCollisions refuses answers about collisions that the request does not have, or several about
// one: a misspelt id must not leave unjudged what the plugin means to judge.
func (e Expect) CheckCollisions(answers []CollisionAnswer) error {
	seen := map[string]bool{}
	for i, a := range answers {
		switch {
		case !slices.Contains(e.Collisions, a.ID):
			return fmt.Errorf("collisions[%d]: the id %q is none of the request's", i, clip(a.ID))
		case seen[a.ID]:
			return fmt.Errorf("collisions[%d]: the id %q is judged twice", i, clip(a.ID))
		case a.Verdict.rank() == 0:
			return fmt.Errorf("collisions[%d]: verdict %q is none of allow, warn, deny", i, clip(string(a.Verdict)))
		}
		seen[a.ID] = true
	}
	return nil
}
