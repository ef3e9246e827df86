package plan

import (
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// Facts are what a plan is made from: what the package wants, what the record remembers and what
// the cluster has, all observed before. Maps are only looked up in, so equal facts give equal plans.
type Facts struct {
	Package    Package
	Definition spec.Package // the whole definition, namespace override applied
	Selected   []string     // the components that the operation touches
	Record     *state.Package
	Own        state.Own
	Wanted     []Wanted                  // the releases of the selected components, in the order of their installation
	Unselected map[object.Release]string // the releases of the other components of the definition, and whose they are
	Releases   map[object.Release]ReleaseFacts
	Live       map[object.Key]object.Live
	// Lost are the custom resources in the cluster by the CustomResourceDefinition that they go with.
	Lost map[object.Key][]object.Ref
	// Immutable are the fields that keep a live object from becoming what is rendered, of objects that
	// another release has.
	Immutable map[object.Key][]string

	// Runs are the images, as pods pull them, of the workloads that earlier operations kept.
	Runs map[object.Key][]string

	// Images are those of the selected components, with what is to be done about each.
	Images []Image

	// Access is nil where no cluster is asked.
	Access *Access

	Scopes        Scopes
	AllowDataLoss bool
	TakeOwnership bool
	NoHooks       bool            // uninstalls run no hooks
	Accept        []CollisionKind // collisions that do not stop the operation
	Identity      state.Identity  // what tells the package from others of its name
	TwinsKnown    bool            // the records of the same package in other namespaces were read
	ConfigDigest  string
	Config        ConfigChanges
	Recovery      []Recovery
	Warnings      []string
}

// Wanted is a release as the package renders it now.
type Wanted struct {
	object.Release
	Component       string
	Chart           string
	Version         string
	Objects         []Rendered
	Hooks           []HookObject
	CRDs            []object.Ref // of the chart's crds folder
	Secrets         []string     // the names of those that are written into each of the namespaces
	Namespaces      []string     // namespaces that would be created
	Unchanged       bool         // equal to the deployed release, whose objects live and are equal
	KnownAfterApply []string
	CannotRender    string
}

// Rendered is an object in a release's manifest.
type Rendered struct {
	object.Ref
	// Keep is true where the manifest carries helm.sh/resource-policy: keep.
	Keep bool
}

// Busy is a revision with a status that only an operation under way has, and that no operation of ours
// recorded.
type Busy struct {
	Revision int
	Status   string // Helm's word
}

// uninstalling is Helm's status of a release whose uninstall has begun.
const uninstalling = "uninstalling"

// HookObject is an object that a chart creates for a hook. Helm keeps hooks out of the release: it
// deletes them by their own policies.
type HookObject struct {
	object.Ref
	// Replaces is true where the policy deletes the object before the hook is created.
	Replaces bool
	// Known is true where a stored revision of the release has this hook: what lives is the release's.
	Known bool
}

// ReleaseFacts are what Helm has stored of a release, read as recovery will leave it.
type ReleaseFacts struct {
	Exists       bool
	EverDeployed bool   // some revision is or was deployed
	Uninstalling bool   // an interrupted operation of ours began to uninstall it
	Busy         Busy   // set where somebody else seems to be at work on it
	Package      string // the value of zarf.dev/package on its objects, or empty
	Override     string // the value of zarf.dev/namespace-override on them, or empty
	// Claims are the other records that name the release, as a person reads them: those of the same
	// package in another namespace, and of a release without labels all of them, as far as they may
	// be read.
	Claims []string
	// Objects are the objects of all revisions since the last deployed one, that one included.
	Objects []Rendered
	// UninstallHooks are the objects that an uninstall creates for hooks.
	UninstallHooks []object.Ref
	Revisions      int // how many are stored
}

// IsDataLossKind reports whether deleting an object of this kind may lose data that nobody can
// bring back: Namespaces, PersistentVolumes and claims, and CustomResourceDefinitions (SPEC 6).
func IsDataLossKind(ref object.Ref) bool {
	switch ref.Group() + "/" + ref.Kind {
	case "/Namespace", "/PersistentVolume", "/PersistentVolumeClaim",
		"apiextensions.k8s.io/CustomResourceDefinition":
		return true
	}
	return false
}
