package state

import (
	"cmp"
	"log/slog"
	"reflect"
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
	// Components are what is remembered of the recorded components, in the record's order.
	Components []OwnComponent `json:"components,omitempty"`
	// Pushed are the images that deployments of this package pushed and no prune deleted; sorted.
	Pushed []PushedImage `json:"pushed,omitempty"`
	// Identity says whose definition the record has, as far as the definition does not.
	Identity Identity `json:"identity,omitzero"`
	// Accepted are the collisions that the latest deployment went on with because the operator accepted
	// them.
	Accepted []Acceptance `json:"accepted,omitempty"`
	// Policies and Plugins are those that took part in the latest deployment.
	Policies []Participant `json:"policies,omitempty"`
	Plugins  []Participant `json:"plugins,omitempty"`
	// MadeUp says that the record was rebuilt without the package: what its definition lacks is not
	// known, such as the images that its components need.
	MadeUp bool `json:"madeUp,omitempty"`
	// Deployment says how the last successful deployment was asked for, besides its configuration.
	Deployment *Deployment `json:"deployment,omitempty"`

	// What follows are copies of what the record has, made whenever a record is written.

	// CLIVersion tells a removal of Zarf's, which leaves it as it was, from a deployment.
	CLIVersion   string         `json:"cliVersion,omitempty"`
	Events       []PackageEvent `json:"events,omitempty"`
	DeployConfig *DeployConfig  `json:"deployConfig,omitempty"`
}

// Identity is what tells packages of the same name apart.
type Identity struct {
	// OriginalName is the name in the package, where it was deployed under another one.
	OriginalName string `json:"originalName,omitempty"`
	// Repository is the OCI repository that the package came from, without tag and digest.
	Repository string `json:"repository,omitempty"`
	// Signer is who signed the package, if that was verified.
	Signer string `json:"signer,omitempty"`
}

// Deployment is what deploying the same again needs to know.
type Deployment struct {
	Components []string `json:"components"` // those that were selected
	Connected  bool     `json:"connected,omitempty"`
}

// OwnComponent is what zarf-host remembers of a component.
type OwnComponent struct {
	Name string `json:"name"`
	// Version and Digest are those of the package that the component was last successfully deployed
	// from: what runs, also after an upgrade that failed and was rolled back.
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Flavor and Architecture are those of that package: one of another flavor or architecture may lack
	// the component although nobody dropped it.
	Flavor       string `json:"flavor,omitempty"`
	Architecture string `json:"architecture,omitempty"`
	// LastEvent and Releases are copies of what the record has.
	LastEvent ComponentEvent   `json:"lastEvent,omitzero"`
	Releases  []object.Release `json:"releases,omitempty"`
}

// PushedImage is a reference that was written to the cluster's registry.
type PushedImage struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	Bytes     int64  `json:"bytes"`
	// Version is that of the package that used it last.
	Version string `json:"version,omitempty"`
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

// KeptObject is an object that survives the release that it belonged to. Its UID tells it from
// another one that gets its name later.
type KeptObject struct {
	object.Instance
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
// already stays as it was recorded; one that had its name before is forgotten.
func (o Own) Keep(release object.Release, objects ...object.Instance) Own {
	o.Kept = slices.Clone(o.Kept)
	for _, obj := range objects {
		if o.Keeps(obj) {
			continue
		}
		o.Kept = slices.DeleteFunc(o.Kept, func(k KeptObject) bool { return k.Key() == obj.Key() })
		o.Kept = append(o.Kept, KeptObject{Instance: obj, Release: release})
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
func (o Own) Keeps(obj object.Instance) bool {
	return slices.ContainsFunc(o.Kept, func(k KeptObject) bool { return k.Key() == obj.Key() && k.UID == obj.UID })
}

// StillKept forgets the kept objects that are gone, that another object took the name of, that another
// release owns, or that their own release has in its manifest: an upgrade that was rolled back has them
// again, and what an uninstall has not let go of yet is decided anew when it goes on. live is what
// lives of all of them; held says whether a release has an object in its manifests.
func (o Own) StillKept(live map[object.Key]object.Live, held func(object.Release, object.Key) bool) Own {
	o.Kept = slices.DeleteFunc(slices.Clone(o.Kept), func(k KeptObject) bool {
		has, ok := live[k.Key()]
		return !ok || has.UID != k.UID || has.Owner != (object.Release{}) && (has.Owner != k.Release || held(k.Release, k.Key()))
	})
	return o
}

// KeptOf returns the objects that were kept of a release.
func (o Own) KeptOf(release object.Release) []object.Instance {
	var out []object.Instance
	for _, k := range o.Kept {
		if k.Release == release {
			out = append(out, k.Instance)
		}
	}
	return out
}

// Component returns what is remembered of a component, false when there is nothing.
func (o Own) Component(name string) (OwnComponent, bool) {
	for _, c := range o.Components {
		if c.Name == name {
			return c, true
		}
	}
	return OwnComponent{}, false
}

// From is a package that a component was deployed from.
type From struct{ Version, Digest, Flavor, Architecture string }

// Runs records from which package a component was successfully deployed.
func (o Own) Runs(name string, from From) Own {
	o.Components = slices.Clone(o.Components)
	i := slices.IndexFunc(o.Components, func(c OwnComponent) bool { return c.Name == name })
	if i < 0 {
		i = len(o.Components)
		o.Components = append(o.Components, OwnComponent{Name: name})
	}
	c := &o.Components[i]
	c.Version, c.Digest, c.Flavor, c.Architecture = from.Version, from.Digest, from.Flavor, from.Architecture
	return o
}

// Push records images that are about to be pushed. One that was pushed already is now what it is
// about to be; of several under one reference, the last one is.
func (o Own) Push(images ...PushedImage) Own {
	pushed := slices.Clone(o.Pushed)
	for _, i := range images {
		pushed = slices.DeleteFunc(pushed, func(p PushedImage) bool { return p.Reference == i.Reference })
		pushed = append(pushed, i)
	}
	slices.SortStableFunc(pushed, func(a, b PushedImage) int { return cmp.Compare(a.Reference, b.Reference) })
	o.Pushed = pushed
	return o
}

// Unpush forgets images, since a prune deleted them.
func (o Own) Unpush(references ...string) Own {
	o.Pushed = slices.DeleteFunc(slices.Clone(o.Pushed), func(p PushedImage) bool {
		return slices.Contains(references, p.Reference)
	})
	return o
}

// Public returns what may be shown: neither the configuration nor digests of it.
func (o Own) Public() Own {
	o.DeployConfig = nil
	o.Events = withoutConfigDigests(o.Events)
	return o
}

// LogValue keeps what is logged from showing the configuration.
func (o Own) LogValue() slog.Value { return slog.StringValue("Own" + redacted) }

// IsZero says that there is nothing to remember, so that no key needs to be written.
func (o Own) IsZero() bool {
	o.APIVersion = ""
	return reflect.ValueOf(o).IsZero()
}

func (c OwnChart) release() object.Release {
	return object.Release{Namespace: c.Namespace, Name: c.Name}
}

func (o Own) index(release object.Release) int {
	return slices.IndexFunc(o.Charts, func(c OwnChart) bool { return c.release() == release })
}
