package state

import (
	"log/slog"
	"slices"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Package is the record of a deployed package (Zarf: DeployedPackage). The order and the omitempty
// of the fields are Zarf's; Events and DeployConfig follow them.
type Package struct {
	Name               string         `json:"name"`
	Digest             string         `json:"digest"`
	Data               spec.Package   `json:"data"`
	CLIVersion         string         `json:"cliVersion"`
	Generation         int            `json:"generation"`
	DeployedComponents []Component    `json:"deployedComponents"`
	ConnectStrings     ConnectStrings `json:"connectStrings,omitempty"`
	Connectivity       Connectivity   `json:"packageConnectivity"`
	NamespaceOverride  string         `json:"namespaceOverride,omitempty"`
	Events             []PackageEvent `json:"events,omitempty"`
	DeployConfig       *DeployConfig  `json:"deployConfig,omitempty"`
}

// Component is the record of a deployed component (Zarf: DeployedComponent).
type Component struct {
	Name string `json:"name"`
	// InstalledCharts are in definition order, followed by charts that are no longer in it.
	InstalledCharts    []Chart        `json:"installedCharts"`
	Status             Status         `json:"status"`
	ObservedGeneration int            `json:"observedGeneration"`
	LastEvent          ComponentEvent `json:"lastEvent,omitzero"`
}

// Chart is the record of a Helm release that a component installed (Zarf: InstalledChart).
type Chart struct {
	Namespace string `json:"namespace"`
	// Name is the name of the release; the key is Zarf's, who calls it the chart's.
	Name           string         `json:"chartName"`
	ConnectStrings ConnectStrings `json:"connectStrings,omitempty"`
	Status         Status         `json:"status"`
}

// ConnectString describes a service that `zarf connect` can open (Zarf: ConnectString).
type ConnectString struct {
	Description string `json:"description"`
	URL         string `json:"url"`
}

// ConnectStrings are connect strings by the name that the service's label gives them.
type ConnectStrings map[string]ConnectString

// Status is Zarf's word for how a component or a chart is. Components have all four of them, charts
// only Succeeded and Failed.
type Status string

// The statuses of components and charts.
const (
	StatusDeploying Status = "Deploying"
	StatusRemoving  Status = "Removing"
	StatusSucceeded Status = "Succeeded"
	StatusFailed    Status = "Failed"
)

// Connectivity says whether a package brought its images along or its cluster pulls them itself.
type Connectivity string

// The connectivities of a deployment.
const (
	Airgap    Connectivity = "airgap"
	Connected Connectivity = "connected"
)

// Release returns the Helm release that the chart is installed as.
func (c Chart) Release() object.Release {
	return object.Release{Namespace: c.Namespace, Name: c.Name}
}

// Component returns the entry of the component called name, false when there is none.
func (p Package) Component(name string) (Component, bool) {
	if i := p.index(name); i >= 0 {
		return p.DeployedComponents[i], true
	}
	return Component{}, false
}

// Chart returns the component's entry of a release, false when there is none. Releases are compared
// by namespace and name.
func (c Component) Chart(release object.Release) (Chart, bool) {
	if i := c.index(release); i >= 0 {
		return c.InstalledCharts[i], true
	}
	return Chart{}, false
}

// Definition returns the recorded definition of the component called name, false when there is none.
func (p Package) Definition(name string) (spec.Component, bool) {
	for _, c := range p.Data.Components {
		if c.Name == name {
			return c, true
		}
	}
	return spec.Component{}, false
}

// Public returns the record without what must not be shown: the configuration and its digests,
// which let short secrets be guessed.
func (p Package) Public() Package {
	p.DeployConfig = nil
	p.Events = withoutConfigDigests(p.Events)
	return p
}

func withoutConfigDigests(events []PackageEvent) []PackageEvent {
	events = slices.Clone(events)
	for i := range events {
		events[i].ConfigDigest = ""
	}
	return events
}

// LogValue keeps a record that is logged from showing its configuration.
func (p Package) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("name", p.Name),
		slog.String("namespaceOverride", p.NamespaceOverride),
		slog.Int("generation", p.Generation),
	)
}

func (p Package) index(component string) int {
	return slices.IndexFunc(p.DeployedComponents, func(c Component) bool { return c.Name == component })
}

func (c Component) index(release object.Release) int {
	return slices.IndexFunc(c.InstalledCharts, func(chart Chart) bool { return chart.Release() == release })
}
