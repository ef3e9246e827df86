package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/state"
)

// imagePruner finds out what an image prune may delete, and deletes it.
type imagePruner struct {
	conn     *cluster.Cluster
	services *services
	common   Common
	secret   string // of the package's own record
	own      state.Own
}

// ImagePruneError says why nobody can tell which images are safe to delete.
type ImagePruneError struct {
	Reason string
	Err    error
}

func (e *ImagePruneError) Error() string {
	if e.Err == nil {
		return "images cannot be pruned: " + e.Reason
	}
	return fmt.Sprintf("images cannot be pruned: %s: %v", e.Reason, e.Err)
}

func (e *ImagePruneError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *ImagePruneError) Hint() string {
	return fmt.Sprintf("leave images out of --prune, such as with --prune=%s on deploy, and the rest goes on", plan.ScopeClusterResources)
}

// preflight makes it the failure of a preflight: nothing was changed yet.
func (e *ImagePruneError) preflight() error {
	return &PreflightError{Problems: []string{e.Error()}, Causes: []error{e}}
}

// plan adds the images that go, and those that stay, to a plan whose facts it was made from. Without
// the scope it only says that there are some. An *ImagePruneError comes with the plan as it was.
func (ip *imagePruner) plan(ctx context.Context, p plan.Plan, f plan.Facts) (plan.Plan, error) {
	address := ip.services.state.RegistryInfo.Address
	candidates, kept, err := plan.ImageCandidates(p, f, address)
	if err != nil {
		return p, &ImagePruneError{Reason: "the record of the package names an image that cannot be read", Err: err}
	}
	if !f.Scopes.Has(plan.ScopeImages) {
		if n := len(candidates); n > 0 && address != "" && p.Operation == plan.Deploy {
			p.Warnings = append(p.Warnings, fmt.Sprintf(
				"%d references that were pushed for this package are not in it any more: --prune=%s deletes those that nobody else has", n, plan.ScopeImages))
		}
		return p, nil
	}
	if len(candidates) == 0 {
		if err := ip.conn.Records().MayList(ctx); err != nil {
			return p, mayNot(err)
		}
		return p.WithImages(nil, kept, plan.ImageFacts{}), nil
	}
	facts, untold, err := ip.facts(ctx, candidates, true)
	if err != nil {
		return p, err
	}
	for _, reference := range slices.Sorted(maps.Keys(untold)) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the registry does not tell what it has as %s: %v", reference, untold[reference]))
	}
	return p.WithImages(candidates, kept, facts), nil
}

// facts asks the cluster and the registry about references. What the registry could not tell of single
// ones is returned beside.
func (ip *imagePruner) facts(ctx context.Context, images []plan.PruneImage, sizes bool) (plan.ImageFacts, map[string]error, error) {
	f := plan.ImageFacts{
		Registry: ip.services.state.RegistryInfo.Address, Has: map[string]plan.RegistryImage{},
		Repositories: map[string]plan.Repository{},
	}
	var err error
	if f.Neighbours, err = ip.neighbours(ctx, f.Registry); err != nil || f.Registry == "" {
		return f, nil, err
	}
	inside := func(reference string) bool { return strings.HasPrefix(reference, f.Registry+"/") }
	pods, err := ip.conn.PodImages(ctx, inside)
	if err != nil {
		return f, nil, mayNot(err)
	}
	for _, pod := range pods {
		f.Pods = append(f.Pods, plan.PodImage(pod))
	}
	var ask []string
	for _, i := range images {
		if inside(i.Reference) {
			ask = append(ask, i.Reference)
		}
	}
	if len(ask) == 0 {
		return f, nil, nil
	}
	client, err := ip.client(ctx)
	if err != nil {
		return f, nil, err
	}
	has, untold, err := digestsOf(ctx, client, ask)
	if err != nil {
		return f, nil, err
	}
	for _, i := range images {
		if !inside(i.Reference) || untold[i.Reference] != nil {
			continue
		}
		found := plan.RegistryImage{Digest: has[i.Reference]}
		if sizes && i.Bytes == 0 && found.Digest != "" {
			if found.Bytes, err = client.Size(ctx, i.Reference); err != nil {
				untold[i.Reference] = err
			}
		}
		f.Has[i.Reference] = found
	}
	for _, i := range images {
		if _, known := f.Repositories[i.Repository()]; i.ByDigest() && !known && inside(i.Reference) {
			if err := ip.survey(ctx, client, i.Repository(), f); err != nil {
				untold[i.Reference] = err
			}
		}
	}
	return f, untold, nil
}

// neighbours reads the other packages' records. One that cannot be read leaves nobody to tell what is
// safe to delete.
func (ip *imagePruner) neighbours(ctx context.Context, address string) ([]plan.Neighbour, error) {
	listed, err := ip.conn.Records().List(ctx)
	if err != nil {
		return nil, mayNot(err)
	}
	var out []plan.Neighbour
	for _, l := range listed {
		if l.Secret == ip.secret {
			continue
		}
		n, err := plan.NewNeighbour(l.Record.Record, address)
		if err = errors.Join(l.Err, err); err != nil {
			return nil, &ImagePruneError{
				Reason: fmt.Sprintf("the record in Secret %q, whose package may need them, cannot be read", l.Secret), Err: err,
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// mayNot makes the lack of a right one to prune images.
func mayNot(err error) error {
	if !cluster.IsForbidden(err) {
		return err
	}
	return &ImagePruneError{Reason: "what other packages and pods need may not be read", Err: err}
}

// client returns the way to the registry, whose certificates a connected package did not need.
func (ip *imagePruner) client(ctx context.Context) (*registry.Client, error) {
	if ip.services.certs == nil {
		if err := ip.services.readCerts(ctx); err != nil {
			return nil, err
		}
	}
	return ip.services.registry(ctx)
}

// digestsOf asks what the registry has. Where it cannot tell of one reference, that is no obstacle to
// the others.
func digestsOf(ctx context.Context, client *registry.Client, references []string) (map[string]string, map[string]error, error) {
	untold := map[string]error{}
	has, err := client.Digests(ctx, references...)
	if err == nil || ctx.Err() != nil || registry.Unreachable(err) {
		return has, untold, err
	}
	has = map[string]string{}
	for _, reference := range references {
		one, err := client.Digests(ctx, reference)
		if err != nil {
			if ctx.Err() != nil || registry.Unreachable(err) {
				return nil, nil, err
			}
			untold[reference] = err
			continue
		}
		maps.Copy(has, one)
	}
	return has, untold, nil
}

// survey adds what a repository has to the facts, untagged images that somebody names included.
func (ip *imagePruner) survey(ctx context.Context, client *registry.Client, repository string, f plan.ImageFacts) error {
	var named []string
	for _, n := range f.Neighbours {
		named = append(named, n.DigestsIn(repository)...)
	}
	for _, pushed := range ip.own.Pushed {
		if digest, ok := strings.CutPrefix(pushed.Reference, repository+"@"); ok {
			named = append(named, digest)
		}
	}
	for reference := range f.Has {
		if digest, ok := strings.CutPrefix(reference, repository+"@"); ok {
			named = append(named, digest)
		}
	}
	slices.Sort(named)
	found, err := client.Survey(ctx, repository, slices.Compact(named)...)
	if err != nil {
		return err
	}
	f.Repositories[repository] = plan.Repository(found)
	return nil
}

// pruner is what finds out about the images of a deployment, and deletes them.
func (d *deployment) pruner() *imagePruner {
	return &imagePruner{conn: d.conn, services: d.services, common: d.Common, secret: d.name(), own: d.record.Own}
}

// planImages adds what a deployment deletes from the registry to its plan. That nobody can tell what is
// safe to delete fails the preflight, when the rest of the plan is there to be shown.
func (d *deployment) planImages(ctx context.Context, p plan.Plan, f plan.Facts) (plan.Plan, error) {
	if len(f.Images) > 0 {
		// The push waits for this lease, when it is too late to find out about rights.
		if _, err := d.conn.Holding(ctx, cluster.ImagesLease); cluster.IsForbidden(err) {
			return p, &PreflightError{Problems: []string{err.Error()}, Causes: []error{err}}
		}
	}
	p, err := d.pruner().plan(ctx, p, f)
	d.unprunable = nil
	if errors.As(err, &d.unprunable) {
		return p, nil
	}
	return p, err
}

// wantedImages are the images of the deployment. The registry is asked once for the plan: what it has
// under the lease is asked when it is pushed, since only then nobody deletes it any more.
func (d *deployment) wantedImages(ctx context.Context) (_ []plan.Image, err error) {
	if d.found == nil && !d.connected() {
		d.found, err = d.services.images(ctx, d.images, d.selected)
	}
	return d.found, err
}

// inherited are the references that the deployments before pushed and that are on no record of ours.
func (d *deployment) inherited() []state.PushedImage {
	if !d.record.Exists || d.services == nil {
		return nil
	}
	return plan.Pushed(d.record.Package, d.record.Own, d.services.state.RegistryInfo.Address)
}

// pruner is what finds out about the images of a removal, and deletes them.
func (r *removal) pruner() *imagePruner {
	return &imagePruner{conn: r.conn, services: r.services, common: r.Common, secret: r.record.Secret(), own: r.record.Own}
}

// planImages adds what a removal deletes from the registry to its plan, where that was asked for.
func (r *removal) planImages(ctx context.Context, p plan.Plan, f plan.Facts) (plan.Plan, error) {
	if !r.Prune.Has(plan.ScopeImages) {
		return p, nil
	}
	if r.services == nil {
		s := &services{conn: r.conn, common: r.Common}
		var err error
		if s.state, s.exists, err = r.conn.State(ctx); err != nil && !cluster.IsForbidden(err) {
			return p, err
		} else if err != nil {
			r.unprunable = &ImagePruneError{Reason: "which registry the cluster has may not be read", Err: err}
			return p, nil
		}
		r.services = s
	}
	p, err := r.pruner().plan(ctx, p, f)
	r.unprunable = nil
	if errors.As(err, &r.unprunable) {
		return p, nil
	}
	return p, err
}

// inherited are the references that deployments pushed and that are on no record of ours: the
// definitions that name them go first.
func (r *removal) inherited() []state.PushedImage {
	if r.services == nil {
		return nil
	}
	return plan.Pushed(r.record.Package, r.record.Own, r.services.state.RegistryInfo.Address)
}
