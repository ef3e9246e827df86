package plan

import (
	"time"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// APIVersion and Kind mark the JSON form of a Plan (SPEC 5).
const (
	APIVersion = "zarf-host.dev/v1alpha1"
	Kind       = "Plan"
)

// Operation is what is planned.
type Operation string

// The operations that have a plan.
const (
	Deploy Operation = "deploy"
	Remove Operation = "remove"
)

// Plan is everything that one operation is going to do. It never holds Secret data, configuration
// values, sensitive defaults or clock readings other than creation times of live objects.
type Plan struct {
	APIVersion     string        `json:"apiVersion"`
	Kind           string        `json:"kind"`
	Operation      Operation     `json:"operation"`
	Digest         string        `json:"digest,omitempty"` // plugins are not told: it covers the configuration's
	Package        Package       `json:"package"`
	Deployed       *Deployed     `json:"deployed,omitempty"`
	NeedsCluster   bool          `json:"needsCluster"`
	SameAsDeployed bool          `json:"sameAsDeployed"`
	Recovery       []Recovery    `json:"recovery,omitempty"`
	Components     []Component   `json:"components"`
	Releases       []Release     `json:"releases,omitempty"`
	Images         []Image       `json:"images,omitempty"`
	Prune          Prune         `json:"prune"`
	Config         ConfigChanges `json:"config"`
	Collisions     []Collision   `json:"collisions,omitempty"`
	Findings       []Finding     `json:"findings,omitempty"`
	Warnings       []string      `json:"warnings,omitempty"`
	Blocked        []string      `json:"blocked,omitempty"` // why it cannot be carried out as things stand
	Plugins        []Plugin      `json:"plugins,omitempty"`

	// Permissions are those that carrying the plan out takes. Digest does not cover them: what the
	// user may do is asked again each time.
	Permissions []object.Permission `json:"permissions,omitempty"`

	basis  basis        // what Permissions depend on beside the plan
	shared []PruneImage // kept for other packages only

	// configDigest is covered by Digest and never marshalled: an unsalted digest lets short
	// secrets be guessed.
	configDigest string
}

// Package identifies what is deployed or removed.
type Package struct {
	Name              string `json:"name"`
	OriginalName      string `json:"originalName,omitempty"` // in the package, where it is deployed under another one
	Version           string `json:"version,omitempty"`
	Flavor            string `json:"flavor,omitempty"`
	Architecture      string `json:"architecture,omitempty"`
	Digest            string `json:"digest,omitempty"`
	Source            string `json:"source,omitempty"`
	NamespaceOverride string `json:"namespaceOverride,omitempty"`
	Connected         bool   `json:"connected,omitempty"`
	Signed            bool   `json:"signed,omitempty"`
}

// Deployed is what the record says of the package now.
type Deployed struct {
	Version    string `json:"version,omitempty"`
	Flavor     string `json:"flavor,omitempty"`
	Digest     string `json:"digest,omitempty"`
	Generation int    `json:"generation"`
	Events     bool   `json:"events"` // false: the record was written by Zarf or before events existed
}

// ComponentAction says what happens to a component.
type ComponentAction string

// What can happen to a component (SPEC 5).
const (
	ComponentInstall   ComponentAction = "install"
	ComponentUpgrade   ComponentAction = "upgrade"
	ComponentUnchanged ComponentAction = "unchanged"
	ComponentPrune     ComponentAction = "prune"
	ComponentKeep      ComponentAction = "keep"      // would be pruned, but a hook or rule keeps it
	ComponentOrphaned  ComponentAction = "orphaned"  // not in the new definition, and no prune was asked for
	ComponentUntouched ComponentAction = "untouched" // recorded, and this operation leaves it alone
	ComponentRemove    ComponentAction = "remove"
)

// Component is one component's step. Actions are descriptions or first lines, never whole commands.
type Component struct {
	Name    string          `json:"name"`
	Action  ComponentAction `json:"action"`
	Reason  string          `json:"reason,omitempty"`
	Files   []string        `json:"files,omitempty"` // targets on the deploying machine
	Actions []Action        `json:"actions,omitempty"`
	Health  []object.Ref    `json:"healthChecks,omitempty"`
}

// Action is one action of a component as a person reads it.
type Action struct {
	When        string `json:"when"` // before, after, onSuccess, onFailure
	Description string `json:"description"`
}

// ReleaseAction says what happens to a Helm release.
type ReleaseAction string

// What can happen to a release.
const (
	ReleaseInstall   ReleaseAction = "install"
	ReleaseUpgrade   ReleaseAction = "upgrade"
	ReleaseUnchanged ReleaseAction = "unchanged"
)

// Release is one Helm release that the operation installs or upgrades.
type Release struct {
	object.Release
	Component       string        `json:"component"`
	Chart           string        `json:"chart"` // the chart's or manifest's name in the component
	Version         string        `json:"version,omitempty"`
	Action          ReleaseAction `json:"action"`
	Replace         bool          `json:"replace,omitempty"` // installed over a first install that never finished
	Anew            bool          `json:"anew,omitempty"`    // its interrupted uninstall is finished first
	Added           []object.Ref  `json:"added,omitempty"`
	Changed         []object.Ref  `json:"changed,omitempty"`  // rendered and live; the content may be equal
	Moved           []Move        `json:"moved,omitempty"`    // live objects whose owner becomes this release
	Replaced        []Replacement `json:"replaced,omitempty"` // live objects that are deleted first, since they cannot be changed
	Namespaces      []string      `json:"namespaces,omitempty"`
	KnownAfterApply []string      `json:"knownAfterApply,omitempty"` // why the rendered content is not final
	CannotRender    string        `json:"cannotRender,omitempty"`    // the reason why only apply can tell what it renders
}

// ImageAction says what happens to an image.
type ImageAction string

// What can happen to an image.
const (
	ImagePush    ImageAction = "push"
	ImagePresent ImageAction = "present" // the registry has it already
)

// Image is one image that a component brings. Bytes are those of all that it consists of; the
// registry may have some of them.
type Image struct {
	Component string      `json:"component"`
	Reference string      `json:"reference"`
	Target    string      `json:"target"` // the reference that pods pull
	Plain     string      `json:"plain"`  // the reference with the image's own tag
	Digest    string      `json:"digest"`
	Bytes     int64       `json:"bytes"`
	Identity  bool        `json:"identity,omitempty"` // its host is the registry: others may have put it there
	Action    ImageAction `json:"action"`
}

// Move is an object that changes owner and keeps its UID.
type Move struct {
	object.Ref
	UID  string         `json:"uid"`
	From object.Release `json:"from"`
}

// Replacement is an object that would change owner, but for fields that cannot be changed.
type Replacement struct {
	object.Ref
	UID    string         `json:"uid"`
	From   object.Release `json:"from"`
	Fields []string       `json:"fields"` // their paths
}

// PruneReason says why an object would go.
type PruneReason string

// Why an object would go.
const (
	PruneDropped   PruneReason = "dropped"   // an upgraded release no longer renders it
	PruneChart     PruneReason = "chart"     // its release is not among its component's charts any more
	PruneComponent PruneReason = "component" // its component is not in the package any more
	PruneRemove    PruneReason = "remove"    // its component is being removed
	// PruneInterrupted: an interrupted operation began to uninstall its release, which is installed
	// again without it.
	PruneInterrupted PruneReason = "interrupted"
	// PruneReplaced: another release has it from now on, and it cannot be changed into what that renders.
	PruneReplaced PruneReason = "replaced"
	// PruneHook: a hook takes its place, and it holds data.
	PruneHook PruneReason = "hook"
	// PruneFormer: its release lost it in an upgrade before, which kept it.
	PruneFormer PruneReason = "former"
	PruneLeft   PruneReason = "left" // an image that an earlier version pushed and none has now
)

// Prune is everything that the operation would delete.
type Prune struct {
	Scopes   []Scope        `json:"scopes,omitempty"`
	Releases []PruneRelease `json:"releases,omitempty"` // in the order in which they go
	Objects  []Object       `json:"objects,omitempty"`
	Images   []PruneImage   `json:"images,omitempty"` // in the order in which they go
	Kept     []Kept         `json:"kept,omitempty"`
	// Forgotten are the recorded releases that are another package's by now.
	Forgotten []ForgottenRelease `json:"forgotten,omitempty"`
}

// Empty reports whether nothing would be deleted.
func (p Prune) Empty() bool {
	return len(p.Releases) == 0 && len(p.Objects) == 0 && len(p.Images) == 0
}

// PruneRelease is a release that would be uninstalled.
type PruneRelease struct {
	object.Release
	Component string      `json:"component"`
	Reason    PruneReason `json:"reason"`
	Missing   bool        `json:"missing,omitempty"` // recorded, but no such release exists
}

// Object is an object that would be deleted.
type Object struct {
	object.Ref
	UID               string            `json:"uid,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	CreationTimestamp time.Time         `json:"creationTimestamp,omitzero"`
	HoldsData         bool              `json:"holdsData,omitempty"`
	DataLoss          bool              `json:"dataLoss,omitempty"` // of a kind that is kept unless data loss is allowed
	Component         string            `json:"component"`
	Release           string            `json:"release"` // namespace/name
	Owner             string            `json:"owner,omitempty"`
	Reason            PruneReason       `json:"reason"`
	// Lost are the custom resources that go with a CustomResourceDefinition.
	Lost []object.Ref `json:"lost,omitempty"`
}

// Kept is what would have gone and stays. Exactly one of Object, Release, Component and Image is set.
type Kept struct {
	Object    *object.Ref     `json:"object,omitempty"`
	UID       string          `json:"uid,omitempty"` // of the object
	Release   *object.Release `json:"release,omitempty"`
	Component string          `json:"component,omitempty"`
	Image     string          `json:"image,omitempty"` // a reference in the cluster's registry
	In        string          `json:"in,omitempty"`    // the release that loses the object, namespace/name
	Reason    string          `json:"reason"`
	By        string          `json:"by"` // `plugin "NAME"`, "data-loss", "resource-policy", "owner", "earlier operation"; images also by "package", "pod", "registry"
}

// Who keeps what would have gone, where no hook asked for it.
const (
	byOwner          = "owner"
	byDefinition     = "definition"
	byResourcePolicy = "resource-policy"
	byDataLoss       = "data-loss"
	byEarlier        = "earlier operation"
)

// Recovery is what an interrupted run of ours left and this operation first puts right (SPEC 4).
type Recovery struct {
	object.Release
	Revision int    `json:"revision"`
	Status   string `json:"status"`
	Action   string `json:"action"` // what is done, as a person reads it
}

// ConfigChanges names keys, never values.
type ConfigChanges struct {
	Changed []string          `json:"changed,omitempty"`
	Origins map[string]string `json:"origins,omitempty"`
}

// Severity of a Finding.
type Severity string

// The severities of the built-in findings, and Allow, which only collisions have.
const (
	Allow Severity = "allow"
	Warn  Severity = "warn"
	Deny  Severity = "deny"
)

// Finding is a built-in verdict about the plan.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"`
}

// Plugin took part in the decision.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest"`
}

// Denials returns the findings and the collisions that forbid the operation.
func (p Plan) Denials() []Finding {
	out := p.Refusals()
	for _, c := range p.Collisions {
		if c.Verdict == Deny {
			out = append(out, c.finding())
		}
	}
	return out
}

// Refusals returns the findings that forbid the operation whatever a plugin says.
func (p Plan) Refusals() []Finding {
	var out []Finding
	for _, f := range p.Findings {
		if f.Severity == Deny {
			out = append(out, f)
		}
	}
	return out
}

// Changes reports whether carrying the plan out would change anything.
func (p Plan) Changes() bool {
	if len(p.Recovery) > 0 || !p.Prune.Empty() || len(p.Prune.Forgotten) > 0 {
		return true
	}
	for _, c := range p.Components {
		switch c.Action {
		case ComponentUnchanged, ComponentUntouched, ComponentKeep, ComponentOrphaned:
		default:
			return true
		}
	}
	return false
}

// actions lists the actions of one set as a person reads them.
func actions(set spec.ActionSet) []Action {
	var out []Action
	for _, list := range []struct {
		when    string
		actions []spec.Action
	}{
		{"before", set.Before}, {"after", set.After},
		{"onSuccess", set.OnSuccess}, {"onFailure", set.OnFailure},
	} {
		for _, a := range list.actions {
			out = append(out, Action{When: list.when, Description: describe(a)})
		}
	}
	return out
}
