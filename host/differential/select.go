package differential

import (
	"fmt"
	"slices"

	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

// New is a package that is about to be created: composed, in full, with everything resolved.
type New struct {
	Definition spec.Package
	// Imports are the components that were imported from a registry, by name.
	Imports map[string]Import
	// Digests are what references mean now: images in full with the digest of the manifest that the
	// package would have, git repositories in the form of Repo with their commit.
	Digests map[string]string
}

// Omission is what a differential package leaves out of the full one.
type Omission struct {
	Components []string // whole ones
	Images     []string // in full
	Repos      []string
}

// Extension is what a full package says of itself beyond Zarf's types, so that it can be a base; nil
// where there is nothing to say.
func (n New) Extension() *spec.Extension {
	e := spec.Extension{Imports: map[string]spec.ImportOrigin{}, Digests: map[string]string{}}
	for name, i := range n.Imports {
		if _, ok := n.Definition.Component(name); ok && !i.Overrides && i.Digest != "" {
			e.Imports[name] = i.ImportOrigin
		}
	}
	// An archive has the digests of its images, but not the commits of its repositories.
	for _, c := range n.Definition.Components {
		for _, text := range c.Repos {
			if r := ParseRepo(text).String(); n.Digests[r] != "" {
				e.Digests[r] = n.Digests[r]
			}
		}
	}
	if len(e.Imports)+len(e.Digests) == 0 {
		return nil
	}
	return &e
}

// Omit returns the definition of the differential package: the full one without what the base has,
// with its build saying so and its extension saying what it is in full. Errors are *UnsetError,
// *SameVersionError, *MismatchError, *NothingError, or about a reference that cannot be read.
func Omit(n New, base Base) (spec.Package, Omission, error) {
	if err := check(n.Definition, base); err != nil {
		return spec.Package{}, Omission{}, err
	}
	o := omitter{New: n, base: base, has: base.references(), seen: map[string]bool{}}
	whole := unchanged(n.Definition.Components, n.Imports, base)
	out := n.Definition
	out.Components = nil
	var missing []string
	for _, c := range n.Definition.Components {
		if whole[c.Name] {
			o.out.Components = append(o.out.Components, c.Name)
			if c.IsRequired() {
				missing = append(missing, c.Name)
			}
			continue
		}
		kept, err := o.component(c)
		if err != nil {
			return spec.Package{}, Omission{}, err
		}
		out.Components = append(out.Components, kept)
	}
	if len(out.Components) == 0 {
		return spec.Package{}, Omission{}, &NothingError{Base: base.What}
	}
	out.Build.Differential = true
	out.Build.DifferentialPackageVersion = base.Version
	out.Build.DifferentialMissing = missing
	e := n.Extension()
	if e == nil {
		e = &spec.Extension{}
	}
	e.Base = &spec.ExtensionBase{Digest: base.Digest, Source: base.What}
	e.Components = fullComponents(n.Definition)
	e.Digests = o.digests()
	out.Extension = e
	return out, o.out, nil
}

// omitter decides on the references of components.
type omitter struct {
	New
	base Base
	has  has
	seen map[string]bool
	out  Omission
}

// component returns a component without the images and repositories that the base has.
func (o *omitter) component(c spec.Component) (spec.Component, error) {
	images, repos := c.Images, c.Repos
	c.Images, c.Repos = nil, nil
	for _, text := range images {
		ref, err := image.Parse(text)
		if err != nil {
			return c, fmt.Errorf("component %q: %w", c.Name, err)
		}
		if o.hasImage(ref) {
			o.omit(&o.out.Images, ref.String())
			continue
		}
		c.Images = append(c.Images, text)
	}
	for _, text := range repos {
		repo := ParseRepo(text)
		if o.hasRepo(repo) {
			o.omit(&o.out.Repos, repo.String())
			continue
		}
		c.Repos = append(c.Repos, text)
	}
	return c, nil
}

// hasImage reports whether the base has an image. One by digest is what it says; any other tag is only
// believed where it means what it meant when the base was created.
func (o *omitter) hasImage(ref image.Reference) bool {
	name := ref.String()
	switch {
	case !o.has.images[name], IsMoving(ref):
		return false
	case ref.Digest != "":
		return true
	}
	return o.same(name)
}

func (o *omitter) hasRepo(repo Repo) bool {
	name := repo.String()
	switch {
	case !o.has.repos[name], repo.IsMoving():
		return false
	case repo.IsCommit():
		return true
	}
	return o.same(name)
}

// same reports whether a reference means what it meant in the base, as far as both are known.
func (o *omitter) same(name string) bool {
	now := o.Digests[name]
	return now != "" && now == o.base.Digests[name]
}

func (o *omitter) omit(list *[]string, name string) {
	if !o.seen[name] {
		o.seen[name] = true
		*list = append(*list, name)
	}
}

// digests are those of everything in the full definition. What is left out whole was not resolved
// anew: it means what it meant in the base.
func (o *omitter) digests() map[string]string {
	out := map[string]string{}
	for _, c := range o.Definition.Components {
		for _, name := range namesOf(c) {
			d := o.Digests[name]
			if d == "" && slices.Contains(o.out.Components, c.Name) {
				d = o.base.Digests[name]
			}
			if d != "" {
				out[name] = d
			}
		}
	}
	return out
}

// namesOf are the references of a component in one form; those that cannot be read are left out.
func namesOf(c spec.Component) []string {
	var out []string
	for _, text := range c.AllImages() {
		if ref, err := image.Parse(text); err == nil {
			out = append(out, ref.String())
		}
	}
	for _, text := range c.Repos {
		out = append(out, ParseRepo(text).String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
