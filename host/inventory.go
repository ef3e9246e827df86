package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/inventory"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// TakeInventory says what the registry of a cluster and the packages deployed there hold. Nothing is
// changed. A record that cannot be read is told of and left out.
func TakeInventory(ctx context.Context, c Common) (inventory.Inventory, error) {
	c = c.defaulted()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	conn, err := cluster.Connect(ctx, c.Cluster)
	if err != nil {
		return inventory.Inventory{}, err
	}
	s := &services{conn: conn, common: c}
	if s.state, s.exists, err = conn.State(ctx); err != nil {
		return inventory.Inventory{}, err
	}
	if !s.state.RegistryInfo.Configured() {
		return inventory.Inventory{}, &PreflightError{Problems: []string{"the cluster has no registry, so there is nothing that a package could leave out"}}
	}
	if err := s.readCerts(ctx); err != nil {
		return inventory.Inventory{}, err
	}
	defer func() { _ = s.close() }() // only asked
	listed, err := conn.Records().List(ctx)
	if err != nil {
		return inventory.Inventory{}, err
	}
	out := inventory.Inventory{Registry: s.state.RegistryInfo.Address, Packages: []inventory.Package{}, Repositories: []inventory.Repository{}}
	used := usedRepositories{registry: out.Registry, digests: map[string]map[string]bool{}}
	for _, l := range listed {
		if l.Err != nil {
			c.say(event.Warn, "inventory", fmt.Sprintf("the record in Secret %q is left out, since it cannot be read: %v", l.Secret, l.Err))
			continue
		}
		out.Packages = append(out.Packages, inventoried(l.Record.Record))
		if err := used.add(l.Record.Record); err != nil {
			return inventory.Inventory{}, fmt.Errorf("reading the record in Secret %q: %w", l.Secret, err)
		}
	}
	slices.SortFunc(out.Packages, func(a, b inventory.Package) int {
		return strings.Compare(a.Name+"\x00"+a.Namespace, b.Name+"\x00"+b.Namespace)
	})
	out.Repositories, err = s.hold(ctx, used)
	return out, err
}

// inventoried is what an inventory says of a deployed package.
func inventoried(r state.Record) inventory.Package {
	p := r.Package
	def := differential.OfDefinition("", p.Digest, p.Data, nil)
	name := p.Name
	if r.Own.Identity.OriginalName != "" {
		name = r.Own.Identity.OriginalName
	}
	components := deployedComponents(p, def.Components)
	for i, c := range components {
		components[i].Repos = slices.Clone(c.Repos)
		for j, repo := range c.Repos {
			components[i].Repos[j] = differential.ParseRepo(repo).String() // without who clones it
		}
	}
	if components == nil {
		components = []spec.FullComponent{}
	}
	return inventory.Package{
		Name: name, Namespace: p.NamespaceOverride, Version: def.Version, Architecture: def.Architecture,
		Flavor: def.Flavor, APIVersion: def.APIVersion, Digest: p.Digest, Components: components,
	}
}

// usedRepositories are the repositories of a registry that packages use, with the digests that are not
// found by a tag.
type usedRepositories struct {
	registry string
	digests  map[string]map[string]bool
}

// add notes what a record names.
func (u usedRepositories) add(r state.Record) error {
	refs, err := image.OfComponents(r.Package.Data.Components...)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		for _, target := range image.Transform(u.registry, ref).All() {
			u.note(target)
		}
	}
	for _, p := range r.Own.Pushed {
		u.note(p.Reference)
	}
	return nil
}

func (u usedRepositories) note(reference string) {
	if !strings.HasPrefix(reference, u.registry+"/") {
		return
	}
	name, digest, _ := strings.Cut(reference, "@")
	if digest == "" {
		name = name[:strings.LastIndexByte(name, ':')]
	}
	if u.digests[name] == nil {
		u.digests[name] = map[string]bool{}
	}
	if digest != "" {
		u.digests[name][digest] = true
	}
}

// hold asks the registry what repositories have.
func (s *services) hold(ctx context.Context, used usedRepositories) ([]inventory.Repository, error) {
	out := []inventory.Repository{}
	client, err := s.registry(ctx)
	if err != nil {
		return nil, err
	}
	host, _, _ := strings.Cut(used.registry, "/")
	for _, name := range slices.Sorted(maps.Keys(used.digests)) {
		found, err := client.Hold(ctx, name, slices.Sorted(maps.Keys(used.digests[name]))...)
		if err != nil {
			return nil, err
		}
		r := inventory.Repository{Path: strings.TrimPrefix(name, host+"/"), Tags: found.Tags, Images: []inventory.Image{}}
		for _, digest := range slices.Sorted(maps.Keys(found.Manifests)) {
			img := inventory.Image{Digest: digest, Blobs: []inventory.Blob{}}
			for _, b := range found.Manifests[digest] {
				img.Blobs = append(img.Blobs, inventory.Blob(b))
			}
			r.Images = append(r.Images, img)
		}
		if len(r.Images) > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}
