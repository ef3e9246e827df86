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
	Wanted     []Wanted // the releases of the selected components, in the order of their installation
	Releases   map[object.Release]ReleaseFacts
	Live       map[object.Key]object.Live
	// Lost are the custom resources in the cluster by the CustomResourceDefinition that they go with.
	Lost map[object.Key][]object.Ref

	// Images are those of the selected components, with what is to be done about each.
	Images []Image

	Scopes        Scopes
	AllowDataLoss bool
	TakeOwnership bool
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
	Namespaces      []string // namespaces that would be created
	Unchanged       bool     // equal to the deployed release, whose objects live and are equal
	KnownAfterApply []string
	CannotRender    string
}

// Rendered is an object in a release's manifest.
type Rendered struct {
	object.Ref
	// Keep is true where the manifest carries helm.sh/resource-policy: keep.
	Keep bool
}

// ReleaseFacts are what Helm has stored of a release, read as recovery will leave it.
type ReleaseFacts struct {
	Exists       bool
	EverDeployed bool   // some revision is or was deployed
	Package      string // the value of zarf.dev/package on its objects, or empty
	// Objects are the objects of all revisions since the last deployed one, that one included.
	Objects []Rendered
}

// resourcePolicy is the annotation with which an object's author keeps it from being deleted.
const resourcePolicy = "helm.sh/resource-policy"

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
