package host

import (
	"context"
	"fmt"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/validate"
)

// MirrorOptions say which resources of a package go where.
type MirrorOptions struct {
	Common
	// Source is the package.
	Source string
	// Components are names and globs, a leading '-' excludes; empty means all of them.
	Components string
	// Images and Repos say what to mirror; neither is both.
	Images, Repos bool
	// Registry is where images go. Without an address it is the registry of the cluster.
	Registry MirrorRegistry
	// NoImageChecksum leaves out the tag that pods use.
	NoImageChecksum bool
}

// MirrorRegistry is a registry and who pushes to it.
type MirrorRegistry struct {
	Address, Username, Password string
}

// Mirrored is what Mirror made sure that the registry has.
type Mirrored struct {
	Registry string
	Images   []registry.PushedImage
}

// Mirror brings the images of a package into a registry without deploying anything. With a registry
// of its own it asks no cluster.
func Mirror(ctx context.Context, o MirrorOptions) (Mirrored, error) {
	o.Common = o.defaulted()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	p, components, err := o.open(ctx)
	if err != nil {
		return Mirrored{}, err
	}
	defer func() { _ = p.Close() }() // only read from
	s, err := o.services(ctx)
	if err != nil {
		return Mirrored{}, err
	}
	defer func() { _ = s.close() }() // everything was confirmed
	out := Mirrored{Registry: s.state.RegistryInfo.Address}
	content, err := registry.ReadContent(ctx, p.bundle)
	if err != nil {
		return out, err
	}
	for _, c := range components {
		done, err := s.push(ctx, content, c)
		if err != nil {
			return out, fmt.Errorf("mirroring the images of component %q: %w", c.Name, err)
		}
		out.Images = append(out.Images, done.Images...)
	}
	return out, nil
}

// open opens the package, and selects the components whose images are mirrored. What cannot be
// mirrored is refused before anything is.
func (o MirrorOptions) open(ctx context.Context) (*Package, []spec.Component, error) {
	p, err := openToRead(ctx, o.Source, "images", o.openOptions())
	if err != nil {
		return nil, nil, err
	}
	components, err := o.selected(p)
	if err != nil {
		_ = p.Close() // only read from
		return nil, nil, err
	}
	return p, components, nil
}

func (o MirrorOptions) selected(p *Package) ([]spec.Component, error) {
	validator, err := validate.New()
	if err != nil {
		return nil, err
	}
	if err := validateDefinition(validator, p); err != nil {
		return nil, err
	}
	if integrity := p.Integrity(); !integrity.OK {
		return nil, &PreflightError{Problems: []string{fmt.Sprintf("the package cannot be verified: %s; it may be inspected, not mirrored", integrity.Reason)}}
	}
	components, err := selectAnywhere(p.Definition().Components, o.Components)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, c := range components {
		if len(c.Repos) > 0 && (o.Repos || !o.Images) {
			problems = append(problems, fmt.Sprintf("component %q brings git repositories, and pushing them is not supported yet: --images mirrors images alone", c.Name))
		}
	}
	if err := preflightError(problems); err != nil {
		return nil, err
	}
	if o.Repos && !o.Images {
		o.say(event.Info, "image", "the selected components have no git repositories")
		return nil, nil
	}
	return components, nil
}

// services are the registry that was named, or that of the cluster.
func (o MirrorOptions) services(ctx context.Context) (*services, error) {
	if r := o.Registry; r.Address != "" {
		return &services{common: o.Common, exists: true, noChecksum: o.NoImageChecksum, state: state.Cluster{
			RegistryInfo: state.Registry{Address: r.Address, PushUsername: r.Username, PushPassword: r.Password, Mode: state.RegistryExternal},
		}}, nil
	}
	conn, err := cluster.Connect(ctx, o.Cluster)
	if err != nil {
		return nil, err
	}
	s := &services{conn: conn, common: o.Common, noChecksum: o.NoImageChecksum}
	if s.state, s.exists, err = conn.State(ctx); err != nil {
		return nil, err
	}
	if !s.state.RegistryInfo.Configured() {
		return nil, &PreflightError{Problems: []string{"the cluster has no registry: name one with --registry-url, or tell the cluster with `zarf-host init --registry-url`"}}
	}
	return s, s.readCerts(ctx)
}
