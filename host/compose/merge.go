package compose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Merge returns what a component becomes that imports another one: the imported one, with what the
// importing one says of itself in its place, and its lists added behind. Charts and manifests of one
// name become one. Only the system that it is for cannot be changed.
func Merge(imported, importing Component) (Component, error) {
	m := merging{child: imported, parent: importing, out: Component{
		Component: imported.Component, self: importing.self, places: map[string]Place{},
	}}
	if a, b := imported.Only.LocalOS, importing.Only.LocalOS; a != "" && b != "" && a != b {
		return Component{}, fmt.Errorf("the imported component is for %q, which an import cannot make %q", a, b)
	}
	for at, place := range imported.places {
		m.out.places[at] = place
	}
	m.head()
	m.lists()
	m.charts()
	m.manifests()
	m.actions()
	m.out.Import = spec.Import{}
	return m.out, nil
}

type merging struct {
	child, parent, out Component
}

// head merges what is no list.
func (m *merging) head() {
	c, p := &m.out.Component, &m.parent.Component
	c.Name, c.Default, c.Required, c.Group = p.Name, p.Default, p.Required, p.Group
	c.Description = cmp.Or(p.Description, c.Description)
	c.Only.LocalOS = cmp.Or(p.Only.LocalOS, c.Only.LocalOS)
	c.Only.Flavor = cmp.Or(p.Only.Flavor, c.Only.Flavor)
	c.Only.Cluster.Architecture = cmp.Or(p.Only.Cluster.Architecture, c.Only.Cluster.Architecture)
	if len(p.Only.Cluster.Distros) > 0 {
		c.Only.Cluster.Distros = p.Only.Cluster.Distros
	}
}

// lists adds the importing component's lists behind the imported one's.
func (m *merging) lists() {
	c, p := &m.out.Component, &m.parent.Component
	c.DataInjections = added(m, c.DataInjections, p.DataInjections, "dataInjections")
	c.Files = added(m, c.Files, p.Files, "files")
	c.Images = added(m, c.Images, p.Images, "images")
	c.ImageArchives = added(m, c.ImageArchives, p.ImageArchives, "imageArchives")
	c.Repos = added(m, c.Repos, p.Repos, "repos")
	c.HealthChecks = added(m, c.HealthChecks, p.HealthChecks, "healthChecks")
	for i, access := range p.StateAccess {
		if !slices.Contains(c.StateAccess, access) {
			m.place(m.parent.Place("stateAccess", i), "stateAccess", len(c.StateAccess))
			c.StateAccess = append(slices.Clip(c.StateAccess), access)
		}
	}
	s, o := &c.Scripts, &p.Scripts
	s.ShowOutput, s.Retry = s.ShowOutput || o.ShowOutput, s.Retry || o.Retry
	s.TimeoutSeconds = cmp.Or(o.TimeoutSeconds, s.TimeoutSeconds)
	s.Prepare = added(m, s.Prepare, o.Prepare, "scripts", "prepare")
	s.Before = added(m, s.Before, o.Before, "scripts", "before")
	s.After = added(m, s.After, o.After, "scripts", "after")
}

// added is one list behind another, with the places of the items that moved.
func added[T any](m *merging, child, parent []T, at ...any) []T {
	for i := range parent {
		m.place(m.parent.Place(slices.Concat(at, []any{i})...), slices.Concat(at, []any{len(child) + i})...)
	}
	return slices.Concat(child, parent)
}

func (m *merging) place(p Place, at ...any) { m.out.places[key(at)] = p }

func (m *merging) charts() {
	m.out.Charts = slices.Clone(m.out.Charts)
	for i, p := range m.parent.Charts {
		j := slices.IndexFunc(m.out.Charts, func(c spec.Chart) bool { return c.Name == p.Name })
		if j < 0 {
			j = len(m.out.Charts)
			m.out.Charts = append(m.out.Charts, p)
			m.place(m.parent.Place("charts", i), "charts", j)
			m.moveLists(i, j, "charts", map[string]int{
				"valuesFiles": len(p.ValuesFiles), "templatedValuesFiles": len(p.TemplatedValuesFiles),
				"variables": len(p.Variables), "values": len(p.Values),
			})
			continue
		}
		c := &m.out.Charts[j]
		c.Version, c.URL = cmp.Or(p.Version, c.Version), cmp.Or(p.URL, c.URL)
		c.RepoName, c.GitPath = cmp.Or(p.RepoName, c.RepoName), cmp.Or(p.GitPath, c.GitPath)
		c.LocalPath = cmp.Or(p.LocalPath, c.LocalPath)
		switch { // one source only: the importing component's
		case p.LocalPath != "":
			c.URL = ""
		case p.URL != "":
			c.LocalPath = ""
		}
		c.Namespace, c.ReleaseName = cmp.Or(p.Namespace, c.Namespace), cmp.Or(p.ReleaseName, c.ReleaseName)
		c.NoWait = c.NoWait || p.NoWait
		c.ServerSideApply = cmp.Or(p.ServerSideApply, c.ServerSideApply)
		if p.SchemaValidation != nil {
			c.SchemaValidation = p.SchemaValidation
		}
		c.ValuesFiles = addedBelow(m, c.ValuesFiles, p.ValuesFiles, "charts", i, j, "valuesFiles")
		c.TemplatedValuesFiles = addedBelow(m, c.TemplatedValuesFiles, p.TemplatedValuesFiles, "charts", i, j, "templatedValuesFiles")
		c.Variables = addedBelow(m, c.Variables, p.Variables, "charts", i, j, "variables")
		c.Values = addedBelow(m, c.Values, p.Values, "charts", i, j, "values")
	}
}

func (m *merging) manifests() {
	m.out.Manifests = slices.Clone(m.out.Manifests)
	for i, p := range m.parent.Manifests {
		j := slices.IndexFunc(m.out.Manifests, func(c spec.Manifest) bool { return c.Name == p.Name })
		if j < 0 {
			j = len(m.out.Manifests)
			m.out.Manifests = append(m.out.Manifests, p)
			m.place(m.parent.Place("manifests", i), "manifests", j)
			m.moveLists(i, j, "manifests", map[string]int{"files": len(p.Files), "kustomizations": len(p.Kustomizations)})
			continue
		}
		c := &m.out.Manifests[j]
		c.Namespace, c.ServerSideApply = cmp.Or(p.Namespace, c.Namespace), cmp.Or(p.ServerSideApply, c.ServerSideApply)
		c.NoWait = c.NoWait || p.NoWait
		c.KustomizeAllowAnyDirectory = c.KustomizeAllowAnyDirectory || p.KustomizeAllowAnyDirectory
		c.EnableKustomizePlugins = c.EnableKustomizePlugins || p.EnableKustomizePlugins
		if p.Template != nil {
			c.Template = p.Template
		}
		c.Files = addedBelow(m, c.Files, p.Files, "manifests", i, j, "files")
		c.Kustomizations = addedBelow(m, c.Kustomizations, p.Kustomizations, "manifests", i, j, "kustomizations")
	}
}

// moveLists gives the lists of an item of the importing component, which has moved, their places.
func (m *merging) moveLists(from, to int, of string, lists map[string]int) {
	for list, n := range lists {
		for k := range n {
			m.place(m.parent.Place(of, from, list, k), of, to, list, k)
		}
	}
}

func addedBelow[T any](m *merging, child, parent []T, of string, from, to int, list string) []T {
	for k := range parent {
		m.place(m.parent.Place(of, from, list, k), of, to, list, len(child)+k)
	}
	return slices.Concat(child, parent)
}

// actions adds the lists; defaults are the importing component's.
func (m *merging) actions() {
	theirs, ours := m.parent.Actions.Sets(), m.out.Actions.Sets()
	for i, set := range ours {
		c, p := set.Set, theirs[i].Set
		c.Defaults = p.Defaults
		c.Before = added(m, c.Before, p.Before, "actions", set.Name, "before")
		c.After = added(m, c.After, p.After, "actions", set.Name, "after")
		c.OnSuccess = added(m, c.OnSuccess, p.OnSuccess, "actions", set.Name, "onSuccess")
		c.OnFailure = added(m, c.OnFailure, p.OnFailure, "actions", set.Name, "onFailure")
	}
}
