package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// maxShown bounds the findings, so that a prune of thousands is refused in a page, not in a book.
const maxShown = 200

// judge denies or keeps every object that a rule protects and the configuration does not allow to go.
func judge(r sdk.Request) sdk.Response {
	c, err := readConfig(r)
	if err != nil {
		return sdk.Fail(err)
	}
	res := r.Allow()
	hit := 0
	for _, o := range r.Plan.Prune.Objects {
		rule := c.rule(o)
		if rule == "" || c.allows(o) {
			continue
		}
		hit++
		f := finding(c, o, rule)
		if c.Action == actionKeep {
			res.Keep = append(res.Keep, sdk.Keep{Object: o.Ref(), Reason: rule})
		}
		if hit <= maxShown {
			res.Find(f)
		}
	}
	if hit > maxShown {
		res.Find(sdk.Finding{Severity: severity(c), Message: fmt.Sprintf("and %d more objects", hit-maxShown)})
	}
	return res
}

// rule says which rule protects an object, the most telling one first; empty if none does.
func (c config) rule(o sdk.Object) string {
	switch {
	case c.Data && o.HoldsData:
		return "data: it holds data"
	case o.Namespace != "" && likeAny(c.Namespaces, o.Namespace):
		return fmt.Sprintf("namespaces: namespace %q is protected", o.Namespace)
	case o.Kind == "Namespace" && likeAny(c.Namespaces, o.Name):
		return fmt.Sprintf("namespaces: namespace %q is protected", o.Name)
	case slices.ContainsFunc(c.Kinds, func(p string) bool { return likeKind(p, o.Kind) }):
		return fmt.Sprintf("kinds: kind %s is protected", o.Kind)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		value, ok := o.Labels[key]
		if ok && (c.Labels[key] == "" || c.Labels[key] == value) {
			return fmt.Sprintf("labels: label %s=%s is protected", key, value)
		}
	}
	return ""
}

func severity(c config) sdk.Severity {
	if c.Action == actionKeep {
		return sdk.SeverityWarn
	}
	return sdk.SeverityDeny
}

func finding(c config, o sdk.Object, rule string) sdk.Finding {
	f := sdk.Finding{Severity: severity(c), Object: o.Ref()}
	entry := o.String()
	if c.Action == actionKeep {
		f.Message = fmt.Sprintf("keeping %s (rule %s)", o, rule)
		f.Remedy = fmt.Sprintf("to let it go, add %q to the guard's allow list", entry)
		return f
	}
	f.Message = fmt.Sprintf("%s would be pruned (rule %s)", o, rule)
	f.Remedy = fmt.Sprintf("to let it go, add %q to the guard's allow list; to keep it, set the guard's action to keep", entry)
	return f
}
