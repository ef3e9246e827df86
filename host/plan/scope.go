package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is what a prune may touch (SPEC 6).
type Scope string

// The scopes of a prune.
const (
	ScopeClusterResources Scope = "cluster-resources"
	ScopeImages           Scope = "images"
	ScopeAll              Scope = "all"
)

// Scopes is the set of scopes that a prune was asked for, sorted.
type Scopes []Scope

// Has reports whether s is in the set.
func (s Scopes) Has(scope Scope) bool { return slices.Contains(s, scope) }

// ParseScopes reads the value of --prune: a comma-separated list of scopes, or "all" for every scope
// in known. A scope that is not in known is an error that names the scope and the command's scopes.
func ParseScopes(value string, known ...Scope) (Scopes, error) {
	var out Scopes
	for word := range strings.SplitSeq(value, ",") {
		scope := Scope(strings.TrimSpace(word))
		switch {
		case scope == "":
			return nil, fmt.Errorf("empty prune scope in %q: use %s or all", value, join(known))
		case scope == ScopeAll:
			out = append(out, known...)
		case slices.Contains(known, scope):
			out = append(out, scope)
		default:
			return nil, fmt.Errorf("prune scope %q is not one of this command's: use %s or all", scope, join(known))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func join(scopes []Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
