package chart

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // a name, not a protection: Zarf's release names are SHA-1
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
)

// DefaultTimeout bounds each wait of a release when none is given, as in Zarf.
const DefaultTimeout = 15 * time.Minute

// defaultManifestNamespace is where manifests without a namespace go.
const defaultManifestNamespace = "default"

// Fill replaces text templates (###ZARF_…###) in a document.
type Fill func(text []byte) ([]byte, error)

// Wanted is one release as the package wants it.
type Wanted struct {
	Release object.Release
	// Exactly one of Archive (a chart as .tgz) and Generated (manifests) is set.
	Archive   []byte
	Generated *Generated
	// Values are the merged Helm values; see MergeValues.
	Values map[string]any

	// Package is the name that objects are labelled with (zarf.dev/package).
	Package string
	// NamespaceOverride is the namespace that the package was moved to, if it was.
	NamespaceOverride string
	// IgnoreAgent labels objects zarf.dev/agent=ignore: set in connected mode when an agent runs.
	IgnoreAgent bool
	// Pods sets the images of pods; nil leaves them to Zarf's agent, or as they are.
	Pods *Pods
	// Secrets are written into every namespace that the release needs, such as the one that pods
	// pull images with.
	Secrets []Secret
	// Fill fills every rendered document and every hook; nil leaves them as they are.
	Fill Fill

	NoWait bool
	// Timeout bounds each wait, and what is retried; zero means DefaultTimeout.
	Timeout time.Duration
	// TakeOwnership takes over every object that exists already, whoever owns it.
	TakeOwnership        bool
	SkipSchemaValidation bool
	// ServerSideApply is Zarf's word for it (true, false, auto or empty). Helm 3 has none: true is
	// applied client-side with a warning.
	ServerSideApply string

	// How it is rendered; see After.
	revision int
	upgrade  bool
}

// Secret is a Secret that Zarf keeps in the namespaces of packages. It is not of the release: no
// uninstall takes it.
type Secret struct {
	Name string
	Type string
	Data map[string][]byte
}

// Generated is the chart that carries plain manifests.
type Generated struct {
	Name    string // raw-<package>-<component>-<manifest>
	Version string // 0.1.<unix time of the deployment's start>
	Files   []GeneratedFile
}

// GeneratedFile is one file of manifests, already filled with variables.
type GeneratedFile struct {
	Name string
	Data []byte
}

// ReleaseName returns the Helm release name of a chart.
func ReleaseName(c spec.Chart) string {
	return c.Release()
}

// ManifestReleaseName returns the Helm release name of manifests, which Zarf derives from the names
// of package, component and manifest.
func ManifestReleaseName(pkg, component, manifest string) string {
	sum := sha1.Sum([]byte(generatedName(pkg, component, manifest))) //nolint:gosec // see the import
	return "zarf-" + hex.EncodeToString(sum[:])
}

// ManifestRelease returns the release that manifests are installed as.
func ManifestRelease(pkg, component string, m spec.Manifest) object.Release {
	namespace := m.Namespace
	if namespace == "" {
		namespace = defaultManifestNamespace
	}
	return object.Release{Namespace: namespace, Name: ManifestReleaseName(pkg, component, m.Name)}
}

func generatedName(pkg, component, manifest string) string {
	return "raw-" + pkg + "-" + component + "-" + manifest
}

// FromManifest returns the release that installs a package's manifests: docs are the contents of its
// files in order, start is when the deployment began. The caller fills in what the definition does
// not say (Fill, Timeout, TakeOwnership, …).
func FromManifest(pkg, component string, m spec.Manifest, docs [][]byte, start time.Time) Wanted {
	g := &Generated{
		Name:    generatedName(pkg, component, m.Name),
		Version: "0.1." + strconv.FormatInt(start.Unix(), 10),
	}
	for i, data := range docs {
		g.Files = append(g.Files, GeneratedFile{Name: fmt.Sprintf("%s-%d.yaml", m.Name, i), Data: data})
	}
	return Wanted{
		Release:         ManifestRelease(pkg, component, m),
		Generated:       g,
		Package:         pkg,
		NoWait:          m.NoWait,
		ServerSideApply: m.ServerSideApply,
	}
}

// FromChart returns the release that installs a chart of a package from its archive.
func FromChart(pkg string, c spec.Chart, archive []byte, values map[string]any) Wanted {
	return Wanted{
		Release:              object.Release{Namespace: c.Namespace, Name: ReleaseName(c)},
		Archive:              archive,
		Values:               values,
		Package:              pkg,
		NoWait:               c.NoWait,
		SkipSchemaValidation: !c.ShouldValidate(),
		ServerSideApply:      c.ServerSideApply,
	}
}

func (w Wanted) timeout() time.Duration {
	if w.Timeout > 0 {
		return w.Timeout
	}
	return DefaultTimeout
}

// load returns the chart, freshly parsed: Helm changes what it is given.
func (w Wanted) load() (*helmchart.Chart, error) {
	switch {
	case w.Generated != nil:
		return w.Generated.chart(), nil
	case len(w.Archive) > 0:
		ch, err := loader.LoadArchive(bytes.NewReader(w.Archive))
		if err != nil {
			return nil, fmt.Errorf("reading the chart of release %q: %w", w.Release, err)
		}
		return ch, nil
	default:
		return nil, fmt.Errorf("release %q has neither a chart nor manifests", w.Release)
	}
}

// chart wraps each file in a template that only prints it, as Zarf does: braces in manifests are
// nothing to Helm.
func (g *Generated) chart() *helmchart.Chart {
	ch := &helmchart.Chart{Metadata: &helmchart.Metadata{
		APIVersion: helmchart.APIVersionV2,
		Name:       g.Name,
		Version:    g.Version,
	}}
	for _, f := range g.Files {
		ch.Templates = append(ch.Templates, &helmchart.File{
			Name: "manifests/" + f.Name,
			Data: []byte("{{" + strconv.Quote(string(f.Data)) + "}}"),
		})
	}
	return ch
}
