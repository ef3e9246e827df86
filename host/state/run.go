package state

import (
	"maps"
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Begin returns the record with an attempt that begins: event is appended as InProgress and the
// generation rises by one. An attempt that never ended, its program being gone, is closed as Failed
// first, with the components that it left unfinished.
func (p Package) Begin(event PackageEvent) Package {
	event.Outcome = InProgress
	event.Timestamp = moment(event.Timestamp)
	p = p.closeStuck(event.Timestamp)
	p.Generation++
	p.Events = retain(append(slices.Clone(p.Events), event))
	return p
}

// Finish returns the record with the attempt in progress ended: its event becomes the outcome.
// config replaces the recorded one if the attempt is a deployment that succeeded, and is ignored
// otherwise. Without an attempt in progress nothing changes.
func (p Package) Finish(outcome EventOutcome, at time.Time, config *DeployConfig) Package {
	latest, ok := p.LatestEvent()
	if !ok || latest.Outcome != InProgress {
		return p
	}
	latest.Outcome, latest.Timestamp = outcome, moment(at)
	p.Events = slices.Clone(p.Events)
	p.Events[len(p.Events)-1] = latest
	if config != nil && latest.Type == Deploy && outcome == Succeeded {
		p.DeployConfig = config
	}
	return p
}

// BeginComponent returns the record with an attempt at a component that begins. intended are the
// releases that it is about to install, in definition order: those that have no entry get one
// marked failed, which is what they are if nobody lives to say otherwise. Charts that are recorded
// and not intended keep their entries, after the others. A removal intends none and changes none.
func (p Package) BeginComponent(name string, kind EventType, at time.Time, intended ...object.Release) Package {
	i := p.index(name)
	if i < 0 {
		p.DeployedComponents = append(slices.Clone(p.DeployedComponents), Component{Name: name})
		p = p.ordered()
		i = p.index(name)
	}
	return p.replace(i, func(c Component) Component {
		c.LastEvent = ComponentEvent{Type: kind, Outcome: InProgress, Timestamp: moment(at)}
		c.Status = c.LastEvent.status(c.Status)
		c.ObservedGeneration = p.Generation
		if len(intended) > 0 {
			c.InstalledCharts = intend(c, intended)
		}
		return c
	})
}

// FinishComponent returns the record with the attempt at a component ended. The status follows the
// outcome; that of a cancelled attempt becomes was, what it had been before the attempt, and stays
// as it is where was is empty because the component is new. An unknown component changes nothing.
func (p Package) FinishComponent(name string, outcome EventOutcome, at time.Time, was Status) Package {
	i := p.index(name)
	if i < 0 {
		return p
	}
	return p.replace(i, func(c Component) Component {
		c.LastEvent.Outcome, c.LastEvent.Timestamp = outcome, moment(at)
		if was == "" {
			was = c.Status
		}
		c.Status = c.LastEvent.status(was)
		return c
	})
}

// SetChart returns the record with a chart's entry replaced, or added after the others when the
// component has none of that release. An unknown component changes nothing.
func (p Package) SetChart(component string, chart Chart) Package {
	i := p.index(component)
	if i < 0 {
		return p
	}
	before, _ := p.DeployedComponents[i].Chart(chart.Release())
	chart.ConnectStrings = maps.Clone(chart.ConnectStrings)
	return p.replace(i, func(c Component) Component {
		c.InstalledCharts = slices.Clone(c.InstalledCharts)
		if at := c.index(chart.Release()); at >= 0 {
			c.InstalledCharts[at] = chart
		} else {
			c.InstalledCharts = append(c.InstalledCharts, chart)
		}
		return c
	}).flattened(before)
}

// DropChart returns the record without a chart of a component. The release is what is compared:
// one of the same name in another namespace stays.
func (p Package) DropChart(component string, release object.Release) Package {
	i := p.index(component)
	if i < 0 {
		return p
	}
	before, _ := p.DeployedComponents[i].Chart(release)
	return p.replace(i, func(c Component) Component {
		c.InstalledCharts = slices.DeleteFunc(slices.Clone(c.InstalledCharts), func(chart Chart) bool {
			return chart.Release() == release
		})
		return c
	}).flattened(before)
}

// DropComponent returns the record without a component: without its entry and its definition.
func (p Package) DropComponent(name string) Package {
	dropped, _ := p.Component(name)
	p.DeployedComponents = slices.DeleteFunc(slices.Clone(p.DeployedComponents), func(c Component) bool {
		return c.Name == name
	})
	p.Data.Components = slices.DeleteFunc(slices.Clone(p.Data.Components), func(c spec.Component) bool {
		return c.Name == name
	})
	return p.flattened(dropped.InstalledCharts...)
}

// Define returns the record with the definition of what is deployed now. touched names the
// components that this deployment installs: they get the new definition. A component that is
// recorded and not touched keeps its recorded definition, whether the new package has it or not,
// since that is what runs; one that is neither is left out, as Zarf leaves out what is not
// selected. A component of a differential package that does not say what it is in full lacks the images
// and repos that its base brought: the recorded ones are added, so that nobody takes them for unused. The order is the new
// definition's, then that of the record for what only the record has, for definitions and entries
// alike.
func (p Package) Define(definition spec.Package, touched ...string) Package {
	var components []spec.Component
	for _, c := range definition.Components {
		recorded, isRecorded := p.deployedDefinition(c.Name)
		switch {
		case slices.Contains(touched, c.Name):
			if definition.Build.Differential && !definition.Extension.IsWhole() {
				c = p.completed(c)
			}
			components = append(components, c)
		case isRecorded:
			components = append(components, recorded)
		}
	}
	for _, c := range p.Data.Components {
		if _, deployed := p.Component(c.Name); deployed && !defines(components, c.Name) {
			components = append(components, c)
		}
	}
	p.Data = definition
	p.Data.Components, p.Data.Extension = components, nil
	return p.ordered()
}

// completed returns a component of a differential package with the images and repos that the record
// has of it.
func (p Package) completed(c spec.Component) spec.Component {
	recorded, _ := p.deployedDefinition(c.Name)
	has := c.AllImages()
	c.Images = slices.Clone(c.Images)
	for _, image := range recorded.Images {
		if !slices.Contains(has, image) {
			c.Images = append(c.Images, image)
		}
	}
	c.Repos = slices.Clone(c.Repos)
	for _, repo := range recorded.Repos {
		if !slices.Contains(c.Repos, repo) {
			c.Repos = append(c.Repos, repo)
		}
	}
	return c
}

// closeStuck marks as failed what an earlier program began and did not live to finish.
func (p Package) closeStuck(at time.Time) Package {
	latest, ok := p.LatestEvent()
	if !ok || latest.Outcome != InProgress {
		return p
	}
	p = p.Finish(Failed, at, nil)
	for _, c := range p.DeployedComponents {
		if c.LastEvent.Outcome == InProgress {
			p = p.FinishComponent(c.Name, Failed, at, "")
		}
	}
	return p
}

// deployedDefinition returns the recorded definition of a component that has an entry.
func (p Package) deployedDefinition(name string) (spec.Component, bool) {
	if _, deployed := p.Component(name); !deployed {
		return spec.Component{}, false
	}
	return p.Definition(name)
}

// ordered returns the record with its entries in the order of their definitions; entries without a
// definition come last.
func (p Package) ordered() Package {
	position := func(name string) int {
		i := slices.IndexFunc(p.Data.Components, func(c spec.Component) bool { return c.Name == name })
		if i < 0 {
			return len(p.Data.Components)
		}
		return i
	}
	p.DeployedComponents = slices.Clone(p.DeployedComponents)
	slices.SortStableFunc(p.DeployedComponents, func(a, b Component) int { return position(a.Name) - position(b.Name) })
	return p
}

// replace returns the record with one entry changed.
func (p Package) replace(i int, change func(Component) Component) Package {
	p.DeployedComponents = slices.Clone(p.DeployedComponents)
	p.DeployedComponents[i] = change(p.DeployedComponents[i])
	return p
}

// flattened returns the record with the package's own connect strings, which old programs read,
// brought in line: those of changed charts as they were go, those of all charts as they are come.
func (p Package) flattened(changed ...Chart) Package {
	all := ConnectStrings{}
	maps.Copy(all, p.ConnectStrings)
	for _, chart := range changed {
		for name := range chart.ConnectStrings {
			delete(all, name)
		}
	}
	for _, c := range p.DeployedComponents {
		for _, chart := range c.InstalledCharts {
			maps.Copy(all, chart.ConnectStrings)
		}
	}
	p.ConnectStrings = all
	if len(all) == 0 {
		p.ConnectStrings = nil
	}
	return p
}

// intend returns the charts of a component with an entry for each intended release, in their order.
func intend(c Component, intended []object.Release) []Chart {
	charts := make([]Chart, 0, len(intended)+len(c.InstalledCharts))
	for _, release := range intended {
		chart, ok := c.Chart(release)
		if !ok {
			chart = Chart{Namespace: release.Namespace, Name: release.Name, Status: StatusFailed}
		}
		charts = append(charts, chart)
	}
	for _, chart := range c.InstalledCharts {
		if !slices.Contains(intended, chart.Release()) {
			charts = append(charts, chart)
		}
	}
	return charts
}

func defines(components []spec.Component, name string) bool {
	return slices.ContainsFunc(components, func(c spec.Component) bool { return c.Name == name })
}

// moment returns a time as records hold it: in UTC, without what does not survive its JSON.
func moment(t time.Time) time.Time { return t.UTC().Round(0) }
