package comparison

import (
	"cmp"
	"slices"
)

// What a document of differences says that it is.
const (
	APIVersion = "zarf-host.dev/v1alpha1"
	Kind       = "PackageDiff"
)

// Part says of what kind an item is.
type Part string

// The kinds of items.
const (
	Package   Part = "package"
	Component Part = "component"
	Image     Part = "image"
	Chart     Part = "chart"
	Manifest  Part = "manifest"
	File      Part = "file"
	Values    Part = "values"
	Repo      Part = "repo"
	Data      Part = "data"
	Variable  Part = "variable"
	Constant  Part = "constant"
)

// order is that in which items are listed.
var order = []Part{Package, Component, Image, Chart, Manifest, File, Values, Repo, Data, Variable, Constant}

// Item is something that a package has.
type Item struct {
	Part      Part
	Component string // "" for what belongs to the whole package
	Name      string
	// Group is what items of different names have in common that may be versions of one thing, such as
	// the tags of an image. Empty for none.
	Group string
	// Fields are what is said of it, in an order that is always the same.
	Fields []Field
	// Digest is that of its content, "" where that is not known.
	Digest string
	Bytes  int64 // 0 where that is not known
}

// Field is something that is said of an item.
type Field struct {
	Name, Value string
	// Opaque values are compared and not shown: they are long, or may be secret.
	Opaque bool
}

// Side is one of two packages.
type Side struct {
	Subject
	Items []Item
}

// Subject says which package one is.
type Subject struct {
	Source       string `json:"source"`
	Name         string `json:"name"`
	Version      string `json:"version,omitempty"`
	Architecture string `json:"architecture,omitempty"`
	Flavor       string `json:"flavor,omitempty"`
	Digest       string `json:"digest,omitempty"`
	Bytes        int64  `json:"bytes,omitempty"` // of all its files
	// Partial is true for a difference that does not say which images and repositories it leaves out:
	// none that it lacks counts as removed, and none that only the other side has as added.
	Partial bool `json:"partial,omitempty"`
}

// Diff is in what two packages differ.
type Diff struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	From       Subject  `json:"from"`
	To         Subject  `json:"to"`
	Changes    []Change `json:"changes"`
}

// Action says what became of an item.
type Action string

// What can become of an item.
const (
	Added   Action = "added"
	Removed Action = "removed"
	Changed Action = "changed"
)

// Change is an item that only one side has, or that is another one there.
type Change struct {
	Action    Action       `json:"action"`
	Part      Part         `json:"part"`
	Component string       `json:"component,omitempty"`
	Name      string       `json:"name"`             // on the side that has it; the new one where both have
	Before    string       `json:"before,omitempty"` // its name on the old side, where that is another one
	Fields    []FieldDelta `json:"fields,omitempty"` // those that differ
	// Digests are those of the content, where it is known and differs.
	FromDigest string `json:"fromDigest,omitempty"`
	ToDigest   string `json:"toDigest,omitempty"`
	FromBytes  int64  `json:"fromBytes,omitempty"`
	ToBytes    int64  `json:"toBytes,omitempty"`
}

// FieldDelta is a field whose value differs. The values of an opaque one are left out.
type FieldDelta struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Sides compares two packages. Equal ones have no changes.
func Sides(from, to Side) Diff {
	d := Diff{APIVersion: APIVersion, Kind: Kind, From: from.Subject, To: to.Subject, Changes: []Change{}}
	old, now := list(from.Items), list(to.Items)
	// Those of one name first, then what is the only one of its group on either side.
	d.pair(old, now, func(i Item) string { return i.Name })
	d.pair(old, now, func(i Item) string { return i.Group })
	for _, i := range old {
		if !i.done && !(to.Partial && i.leftOut()) {
			d.Changes = append(d.Changes, Change{
				Action: Removed, Part: i.Part, Component: i.Component, Name: i.Name, FromDigest: i.Digest, FromBytes: i.Bytes,
			})
		}
	}
	for _, i := range now {
		if !i.done && !(from.Partial && i.leftOut()) {
			d.Changes = append(d.Changes, Change{
				Action: Added, Part: i.Part, Component: i.Component, Name: i.Name, ToDigest: i.Digest, ToBytes: i.Bytes,
			})
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return cmp.Or(slices.Index(order, a.Part)-slices.Index(order, b.Part),
			cmp.Compare(a.Component, b.Component), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Action, b.Action))
	})
	return d
}

// leftOut reports whether a difference may leave out an item.
func (i Item) leftOut() bool { return i.Part == Image || i.Part == Repo }

// listed is an item that may have found its like.
type listed struct {
	Item
	done bool
}

func list(items []Item) []*listed {
	out := make([]*listed, len(items))
	for n, i := range items {
		out[n] = &listed{Item: i}
	}
	return out
}

// pair finds the items of both sides that are alone with a key, "" being none, and notes how they differ.
func (d *Diff) pair(old, now []*listed, key func(Item) string) {
	type place struct {
		part           Part
		component, key string
	}
	index := func(side []*listed) map[place][]*listed {
		out := map[place][]*listed{}
		for _, i := range side {
			if k := key(i.Item); k != "" && !i.done {
				at := place{i.Part, i.Component, k}
				out[at] = append(out[at], i)
			}
		}
		return out
	}
	before, after := index(old), index(now)
	for at, found := range before {
		with := after[at]
		if len(found) != 1 || len(with) != 1 {
			continue
		}
		found[0].done, with[0].done = true, true
		if c, differs := between(found[0].Item, with[0].Item); differs {
			d.Changes = append(d.Changes, c)
		}
	}
}

// between says how an item became another one.
func between(from, to Item) (Change, bool) {
	c := Change{Action: Changed, Part: to.Part, Component: to.Component, Name: to.Name, FromBytes: from.Bytes, ToBytes: to.Bytes}
	if from.Name != to.Name {
		c.Before = from.Name
	}
	// A digest that only one side knows says nothing.
	if from.Digest != "" && to.Digest != "" && from.Digest != to.Digest {
		c.FromDigest, c.ToDigest = from.Digest, to.Digest
	}
	c.Fields = fields(from.Fields, to.Fields)
	return c, c.Before != "" || c.ToDigest != "" || len(c.Fields) > 0
}

func fields(from, to []Field) []FieldDelta {
	var out []FieldDelta
	value := func(in []Field, name string) (string, bool) {
		i := slices.IndexFunc(in, func(f Field) bool { return f.Name == name })
		if i < 0 {
			return "", false
		}
		return in[i].Value, in[i].Opaque
	}
	note := func(name string) {
		was, hidden := value(from, name)
		is, alsoHidden := value(to, name)
		if was == is || slices.ContainsFunc(out, func(f FieldDelta) bool { return f.Name == name }) {
			return
		}
		if hidden || alsoHidden {
			was, is = "", ""
		}
		out = append(out, FieldDelta{Name: name, From: was, To: is})
	}
	for _, f := range from {
		note(f.Name)
	}
	for _, f := range to {
		note(f.Name)
	}
	return out
}
