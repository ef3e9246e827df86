package chart

import (
	"context"
	"time"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// Document is one rendered object, without its body in any print of it.
type Document struct {
	object.Ref
	Labels      map[string]string
	Annotations map[string]string
	// Body is the object as YAML. It may hold secrets: it is for comparing, never for showing.
	Body []byte
	// KnownAfterApply says why the object cannot be known before it is applied (a function in its
	// template, or two renders that differ), empty where it can.
	KnownAfterApply string
}

// Keep reports whether the object asks to be kept (helm.sh/resource-policy: keep).
func (d Document) Keep() bool { panic("soon") }

// Rendered is what a release would install.
type Rendered struct {
	ChartName    string
	ChartVersion string
	Objects      []Document // in Helm's order of installation, labelled and filled
	Hooks        []Document
	CRDs         []Document // of the chart's crds folder: installed once, never upgraded or removed
	// Namespaces are those that the release needs: its own, those of its objects, and the Namespace
	// objects that were taken out of the chart. Apply creates the ones that are missing.
	Namespaces     []string
	ConnectStrings state.ConnectStrings
}

// Refs returns the objects' references.
func (r Rendered) Refs() []object.Ref { panic("soon") }

// Render renders a release with Helm's engine, as Apply will.
func (c *Client) Render(ctx context.Context, w Wanted) (Rendered, error) { panic("soon") }

// Revision is one stored revision of a release.
type Revision struct {
	Number       int
	Status       string // Helm's word: deployed, failed, pending-upgrade, …
	Description  string
	ChartName    string
	ChartVersion string
	Objects      []Document // of the stored manifest, without hooks
	Package      string     // the value of zarf.dev/package on its objects, or empty
}

// History is what Helm has stored of a release, oldest first; empty when there is no such release.
type History struct {
	Release   object.Release
	Revisions []Revision
}

// Exists reports whether the release has any revision.
func (h History) Exists() bool { panic("soon") }

// Latest returns the newest revision.
func (h History) Latest() (Revision, bool) { panic("soon") }

// Deployed returns the newest revision that is deployed.
func (h History) Deployed() (Revision, bool) { panic("soon") }

// EverDeployed reports whether some revision is or was deployed.
func (h History) EverDeployed() bool { panic("soon") }

// Package returns the package that the release's objects are labelled with, newest revision first.
func (h History) Package() string { panic("soon") }

// ObjectsSinceDeployed returns the objects that may be alive.
func (h History) ObjectsSinceDeployed() []Document { panic("soon") }

// History reads what Helm has stored of a release.
func (c *Client) History(ctx context.Context, r object.Release) (History, error) { panic("soon") }

// Observe returns what is live of refs; what does not exist, or is of a kind that the cluster does not know, is absent.
func (c *Client) Observe(ctx context.Context, refs []object.Ref) (map[object.Key]object.Live, error) {
	panic("soon")
}

// CustomResources returns the resources of a CustomResourceDefinition, that go when it is deleted.
func (c *Client) CustomResources(ctx context.Context, crd object.Ref) ([]object.Ref, error) {
	panic("soon")
}

// Unchanged reports whether applying would change nothing.
func (c *Client) Unchanged(ctx context.Context, w Wanted, r Rendered, h History) (bool, error) {
	panic("soon")
}

// ApplyOptions are the decisions of the plan about one release.
type ApplyOptions struct {
	// Keep are objects that an upgrade no longer renders and that must survive.
	Keep []object.Ref
	// AllowDataLoss lets an upgrade delete Namespaces, PersistentVolumes, claims, and CRDs with resources.
	AllowDataLoss bool
	// Adopt are objects of somebody else's that this release takes over, if they still have that UID.
	Adopt map[object.Key]string
	// Replace installs over a failed release as if it were new, so that install hooks run.
	// It is implied where the last install was interrupted.
	Replace bool
	// OnRevision is called with each revision about to be created, before anything is written.
	OnRevision func(revision int) error
}

// Result is what an Apply did; it is filled as far as it came also beside an error.
type Result struct {
	Revision       int // the revision that describes what runs, or the failed one; 0 if none was created
	RolledBackTo   int // the revision that a failed upgrade was rolled back to, or 0
	Objects        []object.Ref
	ConnectStrings state.ConnectStrings
	Adopted        []object.Ref
	Deleted        []object.Ref
	Kept           []object.Ref
	FailedDeletes  []FailedDelete
}

// FailedDelete is an object that should have gone.
type FailedDelete struct {
	object.Ref
	Err error
}

// Apply installs or upgrades a release.
func (c *Client) Apply(ctx context.Context, w Wanted, o ApplyOptions) (Result, error) { panic("soon") }

// RecoverOptions tell what may be recovered and how.
type RecoverOptions struct {
	// Recorded is the revision that we recorded before creating it; no other is touched.
	Recorded int
	// DryRun only tells what would be done.
	DryRun bool
	// Keep are objects that a rollback must not delete: all that the plan is going to render.
	Keep       []object.Ref
	OnRevision func(revision int) error
	Timeout    time.Duration
}

// RecoveryAction is what was or would be done about an interrupted release.
type RecoveryAction string

// The ways to recover.
const (
	RecoveryNone      RecoveryAction = ""          // nothing is pending
	RecoveryReinstall RecoveryAction = "reinstall" // marked failed; the next Apply installs again
	RecoveryRollback  RecoveryAction = "rollback"  // rolled back to the last deployed revision
	RecoveryUpgrade   RecoveryAction = "upgrade"   // marked failed; the next Apply upgrades over it
	RecoveryUninstall RecoveryAction = "uninstall" // left uninstalling; Uninstall finishes it
	RecoveryForeign   RecoveryAction = "foreign"   // pending, but not ours: left alone
)

// Recovery is the state of a release that an interrupted run may have left.
type Recovery struct {
	Release  object.Release
	Action   RecoveryAction
	Revision int    // the interrupted revision
	Status   string // its status
	Target   int    // the revision rolled back to, or 0
	Kept     []object.Ref
}

// Recover puts right what an interrupted run of ours left of a release.
func (c *Client) Recover(ctx context.Context, r object.Release, o RecoverOptions) (Recovery, error) {
	panic("soon")
}

// AfterRecovery returns a release's history as Recover will leave it, for planning.
func (h History) AfterRecovery(recorded int) (History, Recovery) { panic("soon") }

// UninstallOptions are the decisions of the plan about a release that goes.
type UninstallOptions struct {
	Keep []object.Ref
	// KeepOther keeps further objects by how they live now; nil keeps none.
	KeepOther     func(object.Live) bool
	AllowDataLoss bool
	Timeout       time.Duration
	// BeforeDelete is called with what will be kept, before anything is written.
	BeforeDelete func(kept []object.Ref) error
}

// UninstallResult is what an Uninstall did, also beside an error.
type UninstallResult struct {
	Gone          bool // there was no such release
	Deleted       []object.Ref
	Kept          []object.Ref
	Foreign       []object.Ref // owned by another release, or by none, and left alone
	FailedDeletes []FailedDelete
}

// Uninstall uninstalls a release.
func (c *Client) Uninstall(ctx context.Context, r object.Release, o UninstallOptions) (UninstallResult, error) {
	panic("soon")
}

// CloseRelease writes the status of a revision through the second client, for a release whose operation was cut off.
func (c *Client) CloseRelease(ctx context.Context, r object.Release, revision int, why string) error {
	panic("soon")
}

// MergeValues merges values files in order, then the overlay.
func MergeValues(files [][]byte, overlay map[string]any) (map[string]any, error) { panic("soon") }

// ConflictError says that an object exists and is somebody else's.
type ConflictError struct {
	Object object.Ref
	Owner  object.Release // zero: managed by nobody known
	Wanted object.Release
}

func (e *ConflictError) Error() string { panic("soon") }

// Hint says what to do.
func (e *ConflictError) Hint() string { panic("soon") }
