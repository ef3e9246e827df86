package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// AccessError says which permissions the user lacks for an operation. Nothing was changed.
type AccessError struct {
	// Missing are the permissions; empty where only Err tells what was refused.
	Missing []object.Permission
	// Err is the answer of the API server to a request that it refused, if it came to that.
	Err error
}

func (e *AccessError) Error() string {
	if len(e.Missing) == 0 {
		return fmt.Sprintf("the cluster refuses it: %v", e.Err)
	}
	return "the cluster does not allow this user to:\n    " + strings.Join(object.DescribePermissions(e.Missing), "\n    ")
}

func (e *AccessError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *AccessError) Hint() string {
	return "ask whoever administers the cluster for these rights; `zarf-host plan PACKAGE --output-format json` lists all that are needed as `permissions`"
}

// preflight makes it the failure of a preflight.
func (e *AccessError) preflight() error {
	return &PreflightError{Problems: []string{e.Error()}, Causes: []error{e}}
}

// preflightAccess refuses an operation for which the user lacks permissions. Where the cluster does
// not answer what somebody may do, the operation goes on with a warning: a request that is refused
// will tell.
func preflightAccess(ctx context.Context, conn *cluster.Cluster, c Common, needed []object.Permission) error {
	if conn == nil || len(needed) == 0 {
		return nil
	}
	missing, err := conn.Denied(ctx, needed)
	var unknown *cluster.AccessUnknownError
	switch {
	case errors.As(err, &unknown):
		c.say(event.Warn, "preflight", fmt.Sprintf("whether this user may do all of it is not known: %v", unknown.Err))
		return nil
	case err != nil:
		return err
	case len(missing) > 0:
		return (&AccessError{Missing: missing}).preflight()
	}
	return nil
}

// refusedReading makes the refusal of a read, before there is a plan, the failure of a preflight. It
// names all of what is known to be needed and is lacking. Other errors stay what they are.
func refusedReading(ctx context.Context, conn *cluster.Cluster, c Common, needed []object.Permission, err error) error {
	var already *PreflightError
	if err == nil || conn == nil || !cluster.IsForbidden(err) || errors.As(err, &already) || ctx.Err() != nil {
		return err
	}
	if all := preflightAccess(ctx, conn, c, needed); all != nil {
		return all
	}
	return (&AccessError{Err: err}).preflight()
}

// newPermissions are those of a plan that an earlier form of it did not need.
func newPermissions(now, before plan.Plan) []object.Permission {
	return slices.DeleteFunc(slices.Clone(now.Permissions), func(p object.Permission) bool {
		return slices.ContainsFunc(before.Permissions, func(had object.Permission) bool { return had.Compare(p) == 0 })
	})
}

// reads collects the reads that the cluster refused while a plan was made, so that all that is
// lacking can be named at once. Nothing may be done by a plan whose facts lack something.
type reads struct {
	refused []error
}

// unless passes an error on, unless it is a refusal, which is remembered.
func (r *reads) unless(err error) error {
	if r == nil || !cluster.IsForbidden(err) {
		return err
	}
	r.refused = append(r.refused, err)
	return nil
}

// preflight fails if a read was refused: needed are the permissions of the plan that was made without.
func (r *reads) preflight(ctx context.Context, conn *cluster.Cluster, c Common, needed []object.Permission) error {
	return refusedReading(ctx, conn, c, needed, errors.Join(r.refused...))
}

// refused is refusedReading with what any deployment of the package reads.
func (d *deployment) refused(ctx context.Context, err error) error {
	var all []object.Release
	for _, r := range d.wanted {
		all = append(all, r.Release)
	}
	record := state.SecretName(d.recordName(), config.Resolve(d.Layers...).Config.NamespaceOverride)
	needed := append(plan.ReadingPermissions(plan.Deploy, record, d.connected(), all...), cluster.PolicyPermission())
	return refusedReading(ctx, d.conn, d.Common, needed, err)
}

// namespaces are those of the releases.
func (d *deployment) namespaces() []string {
	var out []string
	for _, r := range d.wanted {
		out = append(out, r.Namespace)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// permissions are those that no plan tells of.
func (d *deployment) permissions(images []plan.Image) []object.Permission {
	out := []object.Permission{cluster.PolicyPermission()}
	if !d.connected() {
		out = append(out, d.services.permissions(len(images) > 0)...)
	}
	if d.Prune.Has(plan.ScopeImages) {
		out = append(out, imagePrunePermissions()...)
	}
	return out
}

// permissions are those that no plan tells of.
func (r *removal) permissions() []object.Permission {
	out := []object.Permission{cluster.PolicyPermission()}
	if !r.Prune.Has(plan.ScopeImages) {
		return out
	}
	out = append(append(out, imagePrunePermissions()...), object.Permission{
		Verb: "get", Resource: "secrets", Namespace: state.Namespace, Names: []string{state.ClusterSecret},
	})
	return append(out, r.services.permissions(true)...)
}

// refused is refusedReading with what any removal reads.
func (r *removal) refused(ctx context.Context, err error) error {
	record := state.SecretName(r.name, r.NamespaceOverride)
	needed := append(plan.ReadingPermissions(plan.Remove, record, false), cluster.PolicyPermission())
	return refusedReading(ctx, r.conn, r.Common, needed, err)
}

// access asks what only the permissions of a plan depend on. namespaces are those that the operation
// needs beside those of what is rendered.
func (o *observer) access(ctx context.Context, conn *cluster.Cluster, namespaces []string, others ...object.Permission) (*plan.Access, error) {
	a := &plan.Access{Kinds: map[object.Kind]object.Resource{}, Others: others}
	for _, ref := range o.mentioned() {
		if _, known := a.Kinds[ref.GroupKind()]; known {
			continue
		}
		resource, known, err := o.client.Resource(ref)
		if err != nil {
			return nil, err
		}
		if known {
			a.Kinds[ref.GroupKind()] = resource
		}
	}
	for _, w := range o.facts.Wanted {
		namespaces = append(namespaces, w.Namespace)
		namespaces = append(namespaces, w.Namespaces...)
	}
	slices.Sort(namespaces)
	var err error
	a.Absent, err = conn.Absent(ctx, slices.Compact(namespaces))
	return a, err
}

// mentioned returns an object of each kind that the operation works on, and more.
func (o *observer) mentioned() []object.Ref {
	var out []object.Ref
	for _, ref := range o.refs {
		out = append(out, ref)
	}
	for _, has := range o.facts.Releases {
		out = append(out, has.UninstallHooks...)
	}
	for _, w := range o.facts.Wanted {
		out = append(out, w.CRDs...)
	}
	for _, c := range o.facts.Definition.Components {
		for _, h := range c.HealthChecks {
			out = append(out, object.Ref{APIVersion: h.APIVersion, Kind: h.Kind, Namespace: h.Namespace, Name: h.Name})
		}
	}
	return out
}

// permissions are those that the services of the cluster take beside reading how it was initialised.
func (s *services) permissions(images bool) []object.Permission {
	if s == nil || !s.exists {
		return nil
	}
	var out []object.Permission
	need := func(verb, resource, subresource string, names ...string) {
		out = append(out, object.Permission{Verb: verb, Resource: resource, Subresource: subresource, Namespace: state.Namespace, Names: names})
	}
	if s.state.RegistryInfo.MTLSStrategy == state.MTLSManaged {
		need("get", "secrets", "", registryClientTLS)
	}
	if !images {
		return out
	}
	if s.state.RegistryInfo.IsInternal() {
		need("get", "services", "", registryService)
		need("list", "pods", "")
		need("create", "pods", "portforward")
	}
	return append(out, imagesLease("get"))
}

// imagePrunePermissions are those that an image prune takes: all records and all pods tell which images
// are still used.
func imagePrunePermissions() []object.Permission {
	out := []object.Permission{
		{Verb: "list", Resource: "secrets", Namespace: state.Namespace},
		{Verb: "list", Resource: "pods"},
	}
	for _, verb := range []string{"get", "create", "update", "delete"} {
		out = append(out, imagesLease(verb))
	}
	return out
}

func imagesLease(verb string) object.Permission {
	p := object.Permission{Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Namespace: state.Namespace}
	if verb != "create" {
		p.Names = []string{cluster.ImagesLease}
	}
	return p
}
