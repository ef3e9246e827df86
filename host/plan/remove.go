package plan

import (
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// ForRemove plans a removal: the selected recorded components, last deployed first, and in each its
// charts, last installed first. Components whose definition the record lost are removed too, since
// what they installed is known by the release.
func ForRemove(f Facts) Plan {
	p := begin(Remove, f)
	if f.Record == nil {
		for _, c := range slices.Backward(f.Definition.Components) {
			if slices.Contains(f.Selected, c.Name) {
				p.Components = append(p.Components, removal(c.Name, c, true))
			}
		}
		return finish(p)
	}
	for _, has := range slices.Backward(f.Record.DeployedComponents) {
		if !slices.Contains(f.Selected, has.Name) {
			p.Components = append(p.Components, Component{Name: has.Name, Action: ComponentUntouched, Reason: "not selected"})
			continue
		}
		c, defined := definition(f, has)
		p.Components = append(p.Components, removal(has.Name, c, defined))
		if !defined {
			p.Warnings = append(p.Warnings,
				fmt.Sprintf("component %q has no recorded definition: its releases go, actions of its own cannot run", has.Name))
		}
		for _, chart := range slices.Backward(has.InstalledCharts) {
			if forgets(&p, f, chart.Release(), has.Name) {
				continue
			}
			release := f.Releases[chart.Release()]
			p.Prune.Releases = append(p.Prune.Releases, PruneRelease{
				Release: chart.Release(), Component: has.Name, Reason: PruneRemove, Missing: !release.Exists,
			})
			for _, o := range release.Objects {
				if live, ok := f.Live[o.Key()]; ok {
					addObject(&p.Prune, f, o, live, chart.Release(), has.Name, PruneRemove)
				}
			}
		}
	}
	formersOf(&p, f)
	hooksLeft(&p, f)
	p.Blocked = busy(p, f.Releases)
	return finish(p)
}

// definition prefers the definition that the operation was given, as Zarf does when it removes by a
// package file, over the recorded one.
func definition(f Facts, has state.Component) (spec.Component, bool) {
	for _, c := range f.Definition.Components {
		if c.Name == has.Name {
			return c, true
		}
	}
	return f.Record.Definition(has.Name)
}

func removal(name string, c spec.Component, defined bool) Component {
	step := Component{Name: name, Action: ComponentRemove}
	if defined {
		step.Actions = actions(c.Actions.OnRemove)
	}
	return step
}
