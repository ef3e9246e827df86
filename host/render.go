package host

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/selection"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/validate"
)

// RenderOptions say what to render of a package, and with what. No cluster is asked.
type RenderOptions struct {
	// Source is the package. The record of a deployed one has no content.
	Source string
	// Open says how a package is opened that is not on this machine. Its Sink gets warnings.
	Open OpenOptions
	// Components are names and globs, a leading '-' excludes; empty means all of them, whatever
	// machine they are for.
	Components string
	// Layers are what was supplied, the weakest first.
	Layers []config.Layer
	// KubeVersion is the version of Kubernetes that charts see, such as v1.34.0; empty is Helm's.
	KubeVersion string
	// SkipValuesSchema does not hold the values against the package's schema.
	SkipValuesSchema bool
}

// ResourceType says what a Resource is, in Zarf's words.
type ResourceType string

// The types of a Resource.
const (
	ResourceChart    ResourceType = "chart"
	ResourceManifest ResourceType = "manifest"
	ResourceValues   ResourceType = "valuesfile"
)

// Resource is something of a package as a deployment would hand it on. It holds whatever was
// supplied, secrets too.
type Resource struct {
	Type      ResourceType
	Component string
	Name      string // of the chart or manifest
	Text      string // YAML
}

// RenderManifests renders the charts and manifests of a package as a deployment with the same
// configuration would install them into a cluster that Zarf initialised with what it takes by itself.
// What is known only then, such as credentials and what actions set, is not filled in.
func RenderManifests(ctx context.Context, o RenderOptions) ([]Resource, error) {
	client, err := chart.New(chart.Options{KubeVersion: o.KubeVersion, Sink: o.Open.Sink})
	if err != nil {
		return nil, err
	}
	return render(ctx, o, "manifests", func(r release, w chart.Wanted) (*Resource, error) {
		out := &Resource{Type: ResourceChart, Component: r.component, Name: r.chart}
		if w.Generated != nil {
			out.Type = ResourceManifest
		}
		out.Text, err = client.Text(ctx, w)
		return out, err
	})
}

// RenderValues merges the values that each chart of a package gets, without the chart's own defaults.
func RenderValues(ctx context.Context, o RenderOptions) ([]Resource, error) {
	return render(ctx, o, "values files", func(r release, w chart.Wanted) (*Resource, error) {
		if w.Generated != nil {
			return nil, nil
		}
		text, err := yaml.Marshal(w.Values)
		if err != nil {
			return nil, fmt.Errorf("writing the values of chart %q as YAML: %w", r.chart, err)
		}
		return &Resource{Type: ResourceValues, Component: r.component, Name: r.chart, Text: string(text)}, nil
	})
}

// render makes the releases of a package and turns each into a resource, or nil.
func render(ctx context.Context, o RenderOptions, what string, show func(release, chart.Wanted) (*Resource, error)) ([]Resource, error) {
	d := &deployment{DeployOptions: DeployOptions{
		Common: Common{Open: o.Open, Sink: o.Open.Sink}.defaulted(),
		Source: o.Source, Layers: o.Layers, Components: o.Components, SkipValuesSchema: o.SkipValuesSchema,
	}}
	d.start = d.Now()
	defer d.close()
	if err := d.openToRead(ctx, what); err != nil {
		return nil, err
	}
	if err := d.resolveOffline(ctx); err != nil {
		return nil, err
	}
	build := d.builder()
	var out []Resource
	for _, c := range d.selected {
		has, err := readContent(ctx, d.pkg.bundle, c)
		if err != nil {
			return nil, err
		}
		for _, r := range build.releases(c, has) {
			wanted, err := r.wanted()
			if err != nil {
				return nil, fmt.Errorf("component %q: %w", c.Name, err)
			}
			resource, err := show(r, wanted)
			if err != nil {
				return nil, fmt.Errorf("component %q: %w", c.Name, err)
			}
			if resource != nil {
				out = append(out, *resource)
			}
		}
	}
	return out, nil
}

// openToRead opens and validates a package that is not deployed.
func (d *deployment) openToRead(ctx context.Context, what string) (err error) {
	if d.pkg, err = openToRead(ctx, d.Source, what, d.openOptions()); err != nil {
		return err
	}
	if d.validator, err = validate.New(); err != nil {
		return err
	}
	d.complete()
	return validateDefinition(d.validator, d.pkg)
}

// openToRead opens a package whose content is to be shown, verified or not.
func openToRead(ctx context.Context, source, what string, o OpenOptions) (*Package, error) {
	if IsName(source) {
		return nil, &NoContentError{Name: source, What: what}
	}
	p, err := Open(ctx, source, o)
	if err != nil {
		return nil, err
	}
	warn := func(message string) {
		if o.Sink != nil {
			o.Sink.Emit(event.Event{Level: event.Warn, Step: "open", Message: message})
		}
	}
	if p.Signed() && p.Signer() == "" {
		warn("the package is signed, and its signature was not verified")
	}
	if integrity := p.Integrity(); !integrity.OK {
		warn("the package is not verified: " + integrity.Reason)
	}
	return p, nil
}

// NoContentError says that something was asked of a deployed package that only the package itself has.
// Source is where it was deployed from last, empty where that is not known.
type NoContentError struct {
	Name, What, Source string
}

func (e *NoContentError) Error() string {
	return fmt.Sprintf("%q is no package file, and the record of a deployed package has no %s", e.Name, e.What)
}

// Hint says what to name instead.
func (e *NoContentError) Hint() string {
	if e.Source != "" {
		return fmt.Sprintf("it was deployed from %s: name that instead", e.Source)
	}
	return "name the archive, folder or reference that it came from"
}

// resolveOffline merges the configuration and settles variables and values without a cluster.
func (d *deployment) resolveOffline(ctx context.Context) (err error) {
	if d.selected, err = selectAnywhere(d.definition.Components, d.Components); err != nil {
		return err
	}
	d.resolved = config.Resolve(d.Layers...)
	if err := validateConfig(d.validator, d.resolved.Config); err != nil {
		return err
	}
	if d.variables, err = template.Resolve(d.definition, d.resolved.Config.SetVariables); err != nil {
		return fmt.Errorf("resolving variables: %w", err)
	}
	if err := d.resolveValues(ctx); err != nil {
		return err
	}
	assumed := services{state: assumedState(), exists: true}
	d.variables.SetBuiltins(assumed.builtins())
	d.templates.state = assumed.template()
	return nil
}

// selectAnywhere selects the components that a request names, or all, whatever machine they are for.
func selectAnywhere(components []spec.Component, request string) ([]spec.Component, error) {
	anywhere := slices.Clone(components)
	for i := range anywhere {
		anywhere[i].Only.LocalOS = ""
	}
	choices, err := selection.ForRemove(anywhere, selection.Options{Request: request})
	if err != nil {
		return nil, fmt.Errorf("selecting components: %w", err)
	}
	var out []spec.Component
	for i, c := range choices {
		if c.Selected {
			out = append(out, components[i])
		}
	}
	return out, nil
}

// assumedState is the state of a cluster that Zarf initialised without being told anything, but for
// what it makes up: there is no telling these credentials.
func assumedState() state.Cluster {
	const unknown = "KNOWN-WHEN-DEPLOYED"
	return state.Cluster{
		Distro: "unknown", IPFamily: "ipv4",
		RegistryInfo: state.Registry{
			PushUsername: "zarf-push", PushPassword: unknown, PullUsername: "zarf-pull", PullPassword: unknown,
			Address: "127.0.0.1:31999", NodePort: 31999, Secret: unknown, Mode: state.RegistryNodePort,
		},
		GitServer: state.GitServer{
			PushUsername: "zarf-git-user", PushPassword: unknown, PullUsername: "zarf-git-read-user", PullPassword: unknown,
			Address: state.InternalGitServer,
		},
	}
}
