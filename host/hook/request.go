package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zarf-host/zarf-host/host/spec"
)

// RequestKind is the kind of a request.
const RequestKind = "HookRequest"

// Request is what a plugin is asked. It never holds Secret data, and configuration values of the
// deployment in DeployConfig only; whoever fills it leaves them out.
type Request struct {
	// ID is what the response must echo.
	ID string
	// Hook is the moment.
	Hook Name
	// Time is the only clock that a plugin sees.
	Time time.Time
	// Operation is what the user asked for.
	Operation Operation
	// Package is the package that is deployed, removed or created.
	Package *Package
	// Deployed is the cluster's record of the package before the operation.
	Deployed *Deployed
	// Plan is the plan as it marshals; for pre-prune it lists every object and image that would go.
	Plan json.RawMessage
	// Collisions are those that the plan has.
	Collisions []Conflict
	// Result is what happened, for the post hooks.
	Result *Result
	// Cluster is the cluster of the operation, absent where it needs none.
	Cluster *Cluster
	// User is who runs the operation.
	User string
	// Config is the plugin's own configuration.
	Config map[string]any
	// DeployConfig is what was supplied to the deployment, for plugins that are granted config:read.
	DeployConfig *DeployConfig
}

// Operation names what runs, with its imperative flags. Flags never carry configuration values.
type Operation struct {
	Name  OperationName     `json:"name"`
	Flags map[string]string `json:"flags,omitempty"`
}

// OperationName names an operation.
type OperationName string

// The operations that have hooks.
const (
	OperationDeploy OperationName = "deploy"
	OperationRemove OperationName = "remove"
	OperationCreate OperationName = "create"
)

// Package is the package as a plugin sees it.
type Package struct {
	Metadata   spec.Metadata    `json:"metadata"`
	Build      spec.Build       `json:"build"`
	Digest     string           `json:"digest,omitempty"`
	Source     string           `json:"source,omitempty"`
	Components []spec.Component `json:"components"`
}

// Deployed is the record of the package as a plugin sees it: no configuration, no digest of one.
type Deployed struct {
	Name              string              `json:"name"`
	Version           string              `json:"version,omitempty"`
	Digest            string              `json:"digest,omitempty"`
	Flavor            string              `json:"flavor,omitempty"`
	Architecture      string              `json:"architecture,omitempty"`
	Generation        int                 `json:"generation,omitempty"`
	NamespaceOverride string              `json:"namespaceOverride,omitempty"`
	Events            []DeployedEvent     `json:"events,omitempty"`
	Components        []DeployedComponent `json:"components"`
}

// DeployedEvent is one deploy or remove attempt.
type DeployedEvent struct {
	Type      string    `json:"type"`
	Outcome   string    `json:"outcome"`
	Timestamp time.Time `json:"timestamp"`
	Version   string    `json:"version,omitempty"`
	Flavor    string    `json:"flavor,omitempty"`
	Digest    string    `json:"digest,omitempty"`
	Source    string    `json:"source,omitempty"`
}

// DeployedComponent is one recorded component with its charts.
type DeployedComponent struct {
	Name   string          `json:"name"`
	Status string          `json:"status,omitempty"`
	Charts []DeployedChart `json:"charts,omitempty"`
}

// DeployedChart is one recorded Helm release.
type DeployedChart struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status,omitempty"`
}

// Conflict is a collision that the plan has, with the verdict that counts if no plugin answers.
type Conflict struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Verdict  Verdict  `json:"verdict"`
	Likeness string   `json:"likeness,omitempty"` // of the two packages, for package-name
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Accepted is true where the operator accepts collisions of the kind, so that the verdict is allow.
	Accepted bool `json:"accepted,omitempty"`
}

// Result is the outcome of an operation.
type Result struct {
	Outcome    string            `json:"outcome"`
	Components []ComponentResult `json:"components,omitempty"`
	Releases   []ReleaseResult   `json:"releases,omitempty"`
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
	Revision  int    `json:"revision,omitempty"`
}

// Cluster says which cluster it is.
type Cluster struct {
	Version string `json:"version,omitempty"`
	Context string `json:"context,omitempty"`
}

// DeployConfig is what was supplied to a deployment, without what the package marks as sensitive.
type DeployConfig struct {
	Digest            string                               `json:"digest"`
	SetVariables      map[string]string                    `json:"setVariables,omitempty"`
	Values            map[string]any                       `json:"values,omitempty"`
	ValuesOverrides   map[string]map[string]map[string]any `json:"valuesOverrides,omitempty"`
	NamespaceOverride string                               `json:"namespaceOverride,omitempty"`
	// Sensitive are the names of the variables that are left out.
	Sensitive []string `json:"sensitive,omitempty"`
}

// document is a request as it is written.
type document struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	ID         string          `json:"id"`
	Hook       Name            `json:"hook"`
	Time       time.Time       `json:"time"`
	Operation  Operation       `json:"operation"`
	Package    *Package        `json:"package,omitempty"`
	Deployed   *Deployed       `json:"deployed,omitempty"`
	Plan       json.RawMessage `json:"plan,omitempty"`
	Collisions []Conflict      `json:"collisions,omitempty"`
	Result     *Result         `json:"result,omitempty"`
	Cluster    *Cluster        `json:"cluster,omitempty"`
	User       string          `json:"user,omitempty"`
	Config     map[string]any  `json:"config,omitempty"`

	DeployConfig *DeployConfig `json:"deployConfig,omitempty"`
}

// MarshalJSON writes the request document, the same bytes for the same request.
func (r Request) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(document{
		APIVersion, RequestKind, r.ID, r.Hook, r.Time.UTC(), r.Operation, r.Package, r.Deployed, r.Plan,
		r.Collisions, r.Result, r.Cluster, r.User, r.Config, r.DeployConfig,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the %s request: %w", r.Hook, err)
	}
	return data, nil
}

// ParseRequest reads a request document, recorded or written by hand.
func ParseRequest(data []byte) (Request, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var d document
	if err := dec.Decode(&d); err != nil {
		return Request{}, fmt.Errorf("reading the request: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Request{}, errors.New("the request has more than one document")
	}
	if d.APIVersion != APIVersion || d.Kind != RequestKind {
		return Request{}, fmt.Errorf("the request is a %q of %q, wanted is a %q of %q", clip(d.Kind), clip(d.APIVersion), RequestKind, APIVersion)
	}
	if _, err := Find(d.Hook); err != nil {
		return Request{}, fmt.Errorf("reading the request: %w", err)
	}
	return Request{d.ID, d.Hook, d.Time, d.Operation, d.Package, d.Deployed, d.Plan, d.Collisions, d.Result, d.Cluster, d.User, d.Config, d.DeployConfig}, nil
}

// Expect is what a response to a request is held against.
type Expect struct {
	ID         string
	Hook       Name
	Collisions []string // ids that may be judged
}

// Expect returns what a response to r is held against.
func (r Request) Expect() Expect {
	e := Expect{ID: r.ID, Hook: r.Hook}
	for _, c := range r.Collisions {
		e.Collisions = append(e.Collisions, c.ID)
	}
	return e
}
