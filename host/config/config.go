// Package config resolves what was supplied to a deployment: layers, the weakest first, become one
// DeployConfig, with the origin of each key. The package's own defaults are no layer, so that a new
// version's defaults take effect when a configuration is used again.
package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/value"
)

// The origins of a layer, the weakest first.
const (
	OriginStored      = "stored"
	OriginFile        = "config file"
	OriginEnvironment = "environment"
	OriginFlag        = "flag"
)

// Layer is what one source supplied.
type Layer struct {
	Origin string
	Config state.DeployConfig
}

// Resolved is the configuration of a deployment.
type Resolved struct {
	Config state.DeployConfig
	// Origins names the layer that each key came from; it holds no values. Keys are
	// "setVariables.NAME", "values.PATH", "valuesOverridesMap.COMPONENT.CHART" and "namespaceOverride".
	Origins map[string]string
}

// Resolve merges layers, each over those before it. Names of variables are upper-cased, as Zarf does
// before it looks them up.
func Resolve(layers ...Layer) Resolved {
	out := Resolved{Origins: map[string]string{}}
	for _, l := range layers {
		c := &out.Config
		for name, text := range l.Config.SetVariables {
			name = strings.ToUpper(name)
			if c.SetVariables == nil {
				c.SetVariables = map[string]string{}
			}
			c.SetVariables[name] = text
			out.Origins["setVariables."+name] = l.Origin
		}
		if len(l.Config.Values) > 0 {
			c.Values = value.Merge(c.Values, l.Config.Values)
			out.origins("values.", c.Values, l.Config.Values, l.Origin)
		}
		for component, charts := range l.Config.ValuesOverridesMap {
			for chart, values := range charts {
				if c.ValuesOverridesMap == nil {
					c.ValuesOverridesMap = state.ValuesOverrides{}
				}
				if c.ValuesOverridesMap[component] == nil {
					c.ValuesOverridesMap[component] = map[string]map[string]any{}
				}
				c.ValuesOverridesMap[component][chart] = value.Merge(c.ValuesOverridesMap[component][chart], values)
				out.Origins["valuesOverridesMap."+component+"."+chart] = l.Origin
			}
		}
		if l.Config.NamespaceOverride != "" {
			c.NamespaceOverride = l.Config.NamespaceOverride
			out.Origins["namespaceOverride"] = l.Origin
		}
	}
	return out
}

// origins notes where each leaf of what a layer supplied came from, and forgets leaves that it
// replaced by something of another shape.
func (r *Resolved) origins(prefix string, merged, supplied map[string]any, origin string) {
	has := map[string]bool{}
	for leaf := range value.Leaves(merged) {
		has[prefix+leaf] = true
	}
	for leaf := range value.Leaves(supplied) {
		r.Origins[prefix+leaf] = origin
	}
	maps.DeleteFunc(r.Origins, func(key, _ string) bool { return strings.HasPrefix(key, prefix) && !has[key] })
}

// Changed names the keys whose values differ between two configurations, sorted. It never tells a
// value. A nil configuration is unknown, and then nothing is named.
func Changed(before *state.DeployConfig, after state.DeployConfig) []string {
	if before == nil {
		return nil
	}
	var out []string
	differ := func(prefix string, a, b map[string]any) {
		keys := map[string]bool{}
		for k := range a {
			keys[k] = true
		}
		for k := range b {
			keys[k] = true
		}
		for k := range keys {
			if !reflect.DeepEqual(a[k], b[k]) {
				out = append(out, prefix+k)
			}
		}
	}
	differ("setVariables.", anyMap(before.SetVariables), anyMap(after.SetVariables))
	differ("values.", value.Leaves(before.Values), value.Leaves(after.Values))
	differ("valuesOverridesMap.", flatten(before.ValuesOverridesMap), flatten(after.ValuesOverridesMap))
	if before.NamespaceOverride != after.NamespaceOverride {
		out = append(out, "namespaceOverride")
	}
	slices.Sort(out)
	return out
}

func anyMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

func flatten(in state.ValuesOverrides) map[string]any {
	out := map[string]any{}
	for component, charts := range in {
		for chart, values := range charts {
			out[component+"."+chart] = values
		}
	}
	return out
}
