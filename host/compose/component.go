package compose

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Place is where an author wrote something.
type Place struct {
	// Source is the file, as its reader named it.
	Source string
	// Path leads to the value in it: keys (strings) and indexes (ints).
	Path []any
}

// Component is a component with the places of its parts. Paths in it are relative to the folder of the
// package that is created.
type Component struct {
	spec.Component
	self   Place
	places map[string]Place // by the path of a part in the component
}

// New makes a component of what a definition has at an index of its components. folder is the
// definition's, relative to the package's; everything that names a file on disk is moved there.
func New(source, folder string, index int, c spec.Component) Component {
	out := Component{
		Component: rebased(c, folder),
		self:      Place{Source: source, Path: []any{"components", index}},
		places:    map[string]Place{},
	}
	for _, part := range parts(&c) {
		out.places[key(part)] = out.self.with(part)
	}
	return out
}

// Place is where the author wrote a part of the component, such as "files", 2, "source". Of what has
// no place of its own it is that of the innermost part around it.
func (c Component) Place(steps ...any) Place {
	for n := len(steps); n > 0; n-- {
		if at, ok := c.places[key(steps[:n])]; ok {
			return at.with(steps[n:])
		}
	}
	return c.self.with(steps)
}

func (p Place) with(steps []any) Place {
	return Place{Source: p.Source, Path: slices.Concat(p.Path, steps)}
}

func key(steps []any) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteByte('/')
		switch s := step.(type) {
		case string:
			b.WriteString(s)
		case int:
			b.WriteString(strconv.Itoa(s))
		}
	}
	return b.String()
}

// parts lists the paths of everything in a component that may come to stand elsewhere when it is merged
// with another one: the items of its lists.
func parts(c *spec.Component) [][]any {
	var out [][]any
	list := func(n int, at ...any) {
		for i := range n {
			out = append(out, slices.Concat(at, []any{i}))
		}
	}
	list(len(c.Manifests), "manifests")
	for i, m := range c.Manifests {
		list(len(m.Files), "manifests", i, "files")
		list(len(m.Kustomizations), "manifests", i, "kustomizations")
	}
	list(len(c.Charts), "charts")
	for i, ch := range c.Charts {
		list(len(ch.ValuesFiles), "charts", i, "valuesFiles")
		list(len(ch.TemplatedValuesFiles), "charts", i, "templatedValuesFiles")
		list(len(ch.Variables), "charts", i, "variables")
		list(len(ch.Values), "charts", i, "values")
	}
	list(len(c.DataInjections), "dataInjections")
	list(len(c.Files), "files")
	list(len(c.Images), "images")
	list(len(c.ImageArchives), "imageArchives")
	list(len(c.Repos), "repos")
	list(len(c.HealthChecks), "healthChecks")
	list(len(c.StateAccess), "stateAccess")
	list(len(c.Scripts.Prepare), "scripts", "prepare")
	list(len(c.Scripts.Before), "scripts", "before")
	list(len(c.Scripts.After), "scripts", "after")
	for _, set := range c.Actions.Sets() {
		for _, l := range set.Set.Lists() {
			list(len(l.Actions), "actions", set.Name, l.Name)
		}
	}
	return out
}

// rebased is a copy of a component whose paths lead from another folder to what they led to.
func rebased(c spec.Component, folder string) spec.Component {
	move := func(p string) string { return Rebase(folder, p) }
	all := func(list []string) []string {
		out := slices.Clone(list)
		for i := range out {
			out[i] = move(out[i])
		}
		return out
	}
	c.Manifests, c.Charts, c.Files = slices.Clone(c.Manifests), slices.Clone(c.Charts), slices.Clone(c.Files)
	c.DataInjections, c.ImageArchives = slices.Clone(c.DataInjections), slices.Clone(c.ImageArchives)
	for i := range c.Manifests {
		c.Manifests[i].Files = all(c.Manifests[i].Files)
		c.Manifests[i].Kustomizations = all(c.Manifests[i].Kustomizations)
	}
	for i := range c.Charts {
		c.Charts[i].LocalPath = move(c.Charts[i].LocalPath)
		c.Charts[i].ValuesFiles = all(c.Charts[i].ValuesFiles)
		c.Charts[i].TemplatedValuesFiles = all(c.Charts[i].TemplatedValuesFiles)
	}
	for i := range c.Files {
		c.Files[i].Source = move(c.Files[i].Source)
	}
	for i := range c.DataInjections {
		c.DataInjections[i].Source = move(c.DataInjections[i].Source)
	}
	for i := range c.ImageArchives {
		c.ImageArchives[i].Path = move(c.ImageArchives[i].Path)
	}
	// Commands of an import run in the folder of its definition.
	set := &c.Actions.OnCreate
	if hasActions(set) {
		set.Before, set.After = moved(set.Before, set.Defaults.Dir, folder), moved(set.After, set.Defaults.Dir, folder)
		set.OnSuccess, set.OnFailure = moved(set.OnSuccess, set.Defaults.Dir, folder), moved(set.OnFailure, set.Defaults.Dir, folder)
	}
	return c
}

func hasActions(s *spec.ActionSet) bool {
	return len(s.Before)+len(s.After)+len(s.OnSuccess)+len(s.OnFailure) > 0
}

// moved gives each action its folder, which the defaults that it was written under may have named.
func moved(list []spec.Action, dir, folder string) []spec.Action {
	out := slices.Clone(list)
	if folder == "." || folder == "" {
		return out
	}
	for i := range out {
		own := dir
		if out[i].Dir != nil {
			own = *out[i].Dir
		}
		own = Rebase(folder, "./"+own)
		out[i].Dir = &own
	}
	return out
}

// Rebase is a path of a definition in a folder, seen from the package's. An address, an absolute path
// and an empty one stay.
func Rebase(folder, p string) string {
	if p == "" || folder == "." || folder == "" || IsURL(p) || path.IsAbs(p) {
		return p
	}
	return path.Join(folder, p)
}

// IsURL reports whether something names what is fetched, and not a file on disk.
func IsURL(p string) bool {
	scheme, _, ok := strings.Cut(p, "://")
	return ok && scheme != "" && !strings.ContainsAny(scheme, "/\\ ")
}
