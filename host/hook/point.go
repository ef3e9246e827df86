package hook

import (
	"fmt"
	"slices"
	"strings"
)

// APIVersion is the apiVersion of requests and responses.
const APIVersion = "hooks.zarf-host.dev/v1"

// Name names a hook: a moment of an operation at which plugins are asked.
type Name string

// The hooks.
const (
	PreDeploy  Name = "pre-deploy"
	Collision  Name = "collision"
	PrePrune   Name = "pre-prune"
	PostDeploy Name = "post-deploy"
	PreRemove  Name = "pre-remove"
	PostRemove Name = "post-remove"
	PreCreate  Name = "pre-create"
)

// FailurePolicy says what a plugin that fails to answer counts as.
type FailurePolicy string

// The failure policies: an error is a deny, or a warning.
const (
	FailurePolicyFail FailurePolicy = "fail"
	FailurePolicyWarn FailurePolicy = "warn"
)

// Point is what one hook allows its plugins to answer.
type Point struct {
	Name Name
	// Verdicts that may be answered.
	Verdicts []Verdict
	// Keep is whether the answer may name things to keep.
	Keep bool
	// Collisions is whether the answer may judge single collisions.
	Collisions bool
	// Failure is what an error counts as where the operator says nothing else. A plugin's own
	// metadata cannot change it.
	Failure FailurePolicy
}

// Points returns every hook, in the order in which an operation reaches them.
func Points() []Point {
	all := []Verdict{Allow, Warn, Deny}
	return []Point{
		{Name: PreCreate, Verdicts: all, Failure: FailurePolicyFail},
		{Name: PreDeploy, Verdicts: all, Failure: FailurePolicyFail},
		{Name: Collision, Verdicts: all, Collisions: true, Failure: FailurePolicyFail},
		{Name: PrePrune, Verdicts: all, Keep: true, Failure: FailurePolicyFail},
		{Name: PostDeploy, Verdicts: all, Failure: FailurePolicyWarn},
		{Name: PreRemove, Verdicts: all, Keep: true, Failure: FailurePolicyFail},
		// Nothing is left to refuse once a removal is done.
		{Name: PostRemove, Verdicts: []Verdict{Allow, Warn}, Failure: FailurePolicyWarn},
	}
}

// Find returns the hook of that name.
func Find(name Name) (Point, error) {
	points := Points()
	i := slices.IndexFunc(points, func(p Point) bool { return p.Name == name })
	if i < 0 {
		return Point{}, fmt.Errorf("unknown hook %q: the hooks are %s", name, strings.Join(names(), ", "))
	}
	return points[i], nil
}

func names() []string {
	var out []string
	for _, p := range Points() {
		out = append(out, string(p.Name))
	}
	return out
}
