package comparison_test

import (
	"reflect"
	"testing"

	"github.com/zarf-host/zarf-host/host/comparison"
)

// What a difference that does not tell lacks may be there all the same.
func TestSidesPartial(t *testing.T) {
	items := []comparison.Item{{Part: comparison.Image, Name: "a:1"}, {Part: comparison.Repo, Component: "c", Name: "r"}, {Part: comparison.Component, Name: "c"}}
	full, partial := comparison.Side{Items: items}, comparison.Side{Subject: comparison.Subject{Partial: true}}
	for _, d := range []comparison.Diff{comparison.Sides(full, partial), comparison.Sides(partial, full)} {
		if len(d.Changes) != 1 || d.Changes[0].Part != comparison.Component {
			t.Errorf("got %+v", d.Changes)
		}
	}
}

func TestSides(t *testing.T) {
	image := func(ref, repository, digest string) comparison.Item {
		return comparison.Item{Part: comparison.Image, Name: ref, Group: repository, Digest: digest, Bytes: 7}
	}
	chart := func(version, digest string) comparison.Item {
		return comparison.Item{Part: comparison.Chart, Component: "web", Name: "shop", Digest: digest, Fields: []comparison.Field{
			{Name: "version", Value: version}, {Name: "actions", Value: version + digest, Opaque: true},
		}}
	}
	tests := []struct {
		name     string
		from, to []comparison.Item
		want     []comparison.Change
	}{
		{"equal", []comparison.Item{image("a:1", "a", "x"), chart("1", "d")}, []comparison.Item{chart("1", "d"), image("a:1", "a", "x")}, []comparison.Change{}},
		{"added and removed", []comparison.Item{image("a:1", "a", "x")}, []comparison.Item{image("b:1", "b", "y")}, []comparison.Change{
			{Action: comparison.Removed, Part: comparison.Image, Name: "a:1", FromDigest: "x", FromBytes: 7},
			{Action: comparison.Added, Part: comparison.Image, Name: "b:1", ToDigest: "y", ToBytes: 7},
		}},
		{"another tag is a change", []comparison.Item{image("a:1", "a", "x")}, []comparison.Item{image("a:2", "a", "y")}, []comparison.Change{
			{Action: comparison.Changed, Part: comparison.Image, Name: "a:2", Before: "a:1", FromDigest: "x", ToDigest: "y", FromBytes: 7, ToBytes: 7},
		}},
		{"the same tag stays what it is", []comparison.Item{image("a:1", "a", "x")}, []comparison.Item{image("a:2", "a", "y"), image("a:1", "a", "x")}, []comparison.Change{
			{Action: comparison.Added, Part: comparison.Image, Name: "a:2", ToDigest: "y", ToBytes: 7},
		}},
		{"which of several became which nobody knows", []comparison.Item{image("a:1", "a", "x"), image("a:2", "a", "y")}, []comparison.Item{image("a:3", "a", "z")}, []comparison.Change{
			{Action: comparison.Removed, Part: comparison.Image, Name: "a:1", FromDigest: "x", FromBytes: 7},
			{Action: comparison.Removed, Part: comparison.Image, Name: "a:2", FromDigest: "y", FromBytes: 7},
			{Action: comparison.Added, Part: comparison.Image, Name: "a:3", ToDigest: "z", ToBytes: 7},
		}},
		{"a tag that moved", []comparison.Item{image("a:1", "a", "x")}, []comparison.Item{image("a:1", "a", "y")}, []comparison.Change{
			{Action: comparison.Changed, Part: comparison.Image, Name: "a:1", FromDigest: "x", ToDigest: "y", FromBytes: 7, ToBytes: 7},
		}},
		{"fields, and what is not shown", []comparison.Item{chart("1", "d")}, []comparison.Item{chart("2", "d")}, []comparison.Change{
			{Action: comparison.Changed, Part: comparison.Chart, Component: "web", Name: "shop", Fields: []comparison.FieldDelta{{Name: "version", From: "1", To: "2"}, {Name: "actions"}}},
		}},
		{"content that one side does not know", []comparison.Item{image("a:1", "a", "")}, []comparison.Item{image("a:1", "a", "y")}, []comparison.Change{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 5 { // maps have no order
				got := comparison.Sides(comparison.Side{Items: tt.from}, comparison.Side{Items: tt.to})
				if !reflect.DeepEqual(got.Changes, tt.want) {
					t.Fatalf("got %+v\nwant %+v", got.Changes, tt.want)
				}
			}
		})
	}
}
