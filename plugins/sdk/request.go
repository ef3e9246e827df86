package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// APIVersion is the apiVersion of the requests and responses that this package knows.
const APIVersion = "hooks.zarf-host.dev/v1"

// Request is what a plugin is asked. With inputs in the plugin's metadata, only the fields that they
// name are filled.
type Request struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	ID         string          `json:"id"`
	Hook       string          `json:"hook"`
	Time       time.Time       `json:"time"`
	Operation  Operation       `json:"operation"`
	Package    Package         `json:"package"`
	Deployed   *Deployed       `json:"deployed"`
	Plan       Plan            `json:"plan"`
	Collisions []Collision     `json:"collisions"`
	Result     *Result         `json:"result"`
	Cluster    Cluster         `json:"cluster"`
	User       string          `json:"user"`
	Config     json.RawMessage `json:"config"`
	// DeployConfig is what was supplied to the deployment: nil unless the plugin declares config:read and
	// is granted it.
	DeployConfig *DeployConfig `json:"deployConfig"`
}

// DeployConfig is what was supplied to a deployment, without what the package marks as sensitive.
type DeployConfig struct {
	Digest            string                               `json:"digest"`
	SetVariables      map[string]string                    `json:"setVariables"`
	Values            map[string]any                       `json:"values"`
	ValuesOverrides   map[string]map[string]map[string]any `json:"valuesOverrides"`
	NamespaceOverride string                               `json:"namespaceOverride"`
	Sensitive         []string                             `json:"sensitive"`
}

// Operation is what the user asked for: deploy, remove or create, with its flags.
type Operation struct {
	Name  string            `json:"name"`
	Flags map[string]string `json:"flags"`
}

// Package is the package that is deployed, removed or created.
type Package struct {
	Metadata   PackageMetadata `json:"metadata"`
	Build      PackageBuild    `json:"build"`
	Digest     string          `json:"digest"`
	Source     string          `json:"source"`
	Components []Component     `json:"components"`
}

// PackageMetadata names a package.
type PackageMetadata struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	Architecture string            `json:"architecture"`
	URL          string            `json:"url"`
	Source       string            `json:"source"`
	Vendor       string            `json:"vendor"`
	Authors      string            `json:"authors"`
	YOLO         bool              `json:"yolo"`
	Annotations  map[string]string `json:"annotations"`
}

// PackageBuild is what is known of how a package was made.
type PackageBuild struct {
	User         string `json:"user"`
	Terminal     string `json:"terminal"`
	Timestamp    string `json:"timestamp"`
	Version      string `json:"version"`
	Flavor       string `json:"flavor"`
	Differential bool   `json:"differential"`
}

// Component is one component of the package.
type Component struct {
	Name      string     `json:"name"`
	Required  *bool      `json:"required"`
	Charts    []Chart    `json:"charts"`
	Manifests []Manifest `json:"manifests"`
	Images    []string   `json:"images"`
	Repos     []string   `json:"repos"`
}

// Chart is a Helm release that a component installs.
type Chart struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Namespace   string `json:"namespace"`
	ReleaseName string `json:"releaseName"`
	URL         string `json:"url"`
}

// Manifest is a list of manifests that a component installs.
type Manifest struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"`
	Files     []string `json:"files"`
}

// Deployed is the cluster's record of the package before the operation.
type Deployed struct {
	Name       string              `json:"name"`
	Version    string              `json:"version"`
	Digest     string              `json:"digest"`
	Events     []Event             `json:"events"`
	Components []DeployedComponent `json:"components"`
}

// Event is one earlier attempt to deploy or remove the package.
type Event struct {
	Type      string    `json:"type"`
	Outcome   string    `json:"outcome"`
	Timestamp time.Time `json:"timestamp"`
	Version   string    `json:"version"`
}

// DeployedComponent is one recorded component.
type DeployedComponent struct {
	Name   string          `json:"name"`
	Status string          `json:"status"`
	Charts []DeployedChart `json:"charts"`
}

// DeployedChart is one recorded Helm release.
type DeployedChart struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status"`
}

// Plan is what the operation is going to do.
type Plan struct {
	Digest   string   `json:"digest"`
	Prune    Prune    `json:"prune"`
	Warnings []string `json:"warnings"`
}

// Prune is what would go.
type Prune struct {
	Objects []Object     `json:"objects"`
	Images  []PruneImage `json:"images"`
}

// PruneImage is a reference that would be deleted from the cluster's registry.
type PruneImage struct {
	Reference  string   `json:"reference"`
	Digest     string   `json:"digest"`
	Bytes      int64    `json:"bytes"` // of all that the image consists of
	Reason     string   `json:"reason"`
	Version    string   `json:"version"` // of the package that used it last
	Components []string `json:"components"`
}

// Object is an object that would be deleted.
type Object struct {
	APIVersion        string            `json:"apiVersion"`
	Kind              string            `json:"kind"`
	Namespace         string            `json:"namespace"`
	Name              string            `json:"name"`
	UID               string            `json:"uid"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	CreationTimestamp *time.Time        `json:"creationTimestamp"`
	HoldsData         bool              `json:"holdsData"`
	Component         string            `json:"component"`
	Release           string            `json:"release"`
	Owner             string            `json:"owner"`
	Reason            string            `json:"reason"`
}

// String returns Kind/namespace/name, or Kind/name for a cluster-wide object.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Ref returns the reference by which a response names the object.
func (o Object) Ref() *ObjectRef {
	return &ObjectRef{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// Collision is something that the operation would run into. Verdict is what counts unless a plugin
// judges it.
type Collision struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"` // package-name, downgrade, flavor-change, release-name or object
	Verdict  Verdict  `json:"verdict"`
	Likeness string   `json:"likeness"` // for package-name: same, likely-different or different
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy"`
	Evidence []string `json:"evidence"`
	Accepted bool     `json:"accepted"` // by the operator, with --accept-collision
}

// Result is the outcome of the operation, for the post hooks.
type Result struct {
	Outcome    string            `json:"outcome"`
	Components []ComponentResult `json:"components"`
	Releases   []ReleaseResult   `json:"releases"`
}

// ComponentResult is the outcome of one component.
type ComponentResult struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
}

// ReleaseResult is the outcome of one Helm release.
type ReleaseResult struct {
	Component string `json:"component"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Outcome   string `json:"outcome"`
	Revision  int    `json:"revision"`
}

// Cluster says which cluster it is.
type Cluster struct {
	Version string `json:"version"`
	Context string `json:"context"`
}

// DecodeConfig reads the plugin's configuration into v. Keys that v does not have are errors, so that
// a misspelt rule is not a rule that never applies; defaults set in v before stay where the
// configuration is silent.
func (r Request) DecodeConfig(v any) error {
	if len(r.Config) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.Config))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	return nil
}
