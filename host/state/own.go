package state

import (
	"cmp"
	"slices"

	"github.com/zarf-host/zarf-host/host/object"
)

// OwnVersion marks the format of zarf-host's own key. A program that meets another one refuses to
// write, since it cannot know what it would undo.
const OwnVersion = "zarf-host.dev/v1alpha1"

// Own is what zarf-host remembers of a package beside Zarf's record, under the Secret's key
// OwnKey, because Zarf rewrites its record without the fields that it does not know. Fields and
// entries that a newer program added survive being read and written.
type Own struct {
	APIVersion string     `json:"apiVersion"`
	Charts     []OwnChart `json:"charts,omitempty"`
	// Kept are the objects that an uninstall must leave, and left, alive; sorted.
	Kept []KeptObject `json:"kept,omitempty"`
}

// OwnChart is what zarf-host remembers of a release.
type OwnChart struct {
	Namespace string `json:"namespace"`
	// Name is the name of the release; the key is the record's.
	Name string `json:"chartName"`
	// Revision is the release's revision that was about to be created. Only a pending revision that
	// is recorded here may be recovered: any other is somebody else's.
	Revision int `json:"revision"`
}

// KeptObject is an object that survives the release that it belonged to.
type KeptObject struct {
	object.Ref
	Release object.Release `json:"release,omitzero"`
}

// Revision returns the revision of a release that was about to be created last, 0 when none was
// recorded.
func (o Own) Revision(release object.Release) int {
	if i := o.index(release); i >= 0 {
		return o.Charts[i].Revision
	}
	return 0
}

// SetRevision records the revision of a release that is about to be created.
func (o Own) SetRevision(release object.Release, revision int) Own {
	o.Charts = slices.Clone(o.Charts)
	if i := o.index(release); i >= 0 {
		o.Charts[i].Revision = revision
		return o
	}
	o.Charts = append(o.Charts, OwnChart{Namespace: release.Namespace, Name: release.Name, Revision: revision})
	return o
}

// DropChart forgets a release, but not the objects that it left.
func (o Own) DropChart(release object.Release) Own {
	o.Charts = slices.DeleteFunc(slices.Clone(o.Charts), func(c OwnChart) bool { return c.release() == release })
	return o
}

// Keep records objects that the uninstall of a release must leave alive. An object that is kept
// already stays as it was recorded.
func (o Own) Keep(release object.Release, refs ...object.Ref) Own {
	o.Kept = slices.Clone(o.Kept)
	for _, ref := range refs {
		if !o.Keeps(ref) {
			o.Kept = append(o.Kept, KeptObject{Ref: ref, Release: release})
		}
	}
	slices.SortStableFunc(o.Kept, func(a, b KeptObject) int {
		return cmp.Or(a.Release.Compare(b.Release), a.Ref.Compare(b.Ref))
	})
	return o
}

// Forget forgets that objects are kept, since a release has them again or they are gone.
func (o Own) Forget(refs ...object.Ref) Own {
	o.Kept = slices.DeleteFunc(slices.Clone(o.Kept), func(k KeptObject) bool {
		return slices.ContainsFunc(refs, func(ref object.Ref) bool { return ref.Key() == k.Key() })
	})
	return o
}

// Keeps says whether an object is kept, whatever the version it is asked for in.
func (o Own) Keeps(ref object.Ref) bool {
	return slices.ContainsFunc(o.Kept, func(k KeptObject) bool { return k.Key() == ref.Key() })
}

// IsZero says that there is nothing to remember, so that no key needs to be written.
func (o Own) IsZero() bool { return len(o.Charts) == 0 && len(o.Kept) == 0 }

func (c OwnChart) release() object.Release {
	return object.Release{Namespace: c.Namespace, Name: c.Name}
}

func (o Own) index(release object.Release) int {
	return slices.IndexFunc(o.Charts, func(c OwnChart) bool { return c.release() == release })
}
