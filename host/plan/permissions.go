package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// Access are the facts that only the permissions of a plan depend on.
type Access struct {
	// Kinds are the resources of the kinds that the facts name. A kind that is not among them is
	// one that the cluster does not serve and that nothing of the package brings: what it takes to
	// work on its objects cannot be told.
	Kinds map[object.Kind]object.Resource
	// Absent are the namespaces that do not exist.
	Absent []string
	// Others are permissions that the operation needs for what no plan tells of, such as a tunnel
	// to the registry.
	Others []object.Permission
	// SkipUnchanged leaves releases that are unchanged as they are.
	SkipUnchanged bool
}

// basis is what permissions depend on beside the plan itself: a plan whose objects are kept later
// has others.
type basis struct {
	access        *Access
	wanted        []Wanted
	releases      map[object.Release]ReleaseFacts
	live          map[object.Key]bool // no more of them, so that no print of a plan shows an annotation
	kept          []state.KeptObject
	takeOwnership bool
	noHooks       bool
}

func basisOf(f Facts) basis {
	live := map[object.Key]bool{}
	for key := range f.Live {
		live[key] = true
	}
	return basis{access: f.Access, wanted: f.Wanted, releases: f.Releases, live: live, kept: f.Own.Kept, takeOwnership: f.TakeOwnership, noHooks: f.NoHooks}
}

// of returns what a release renders.
func (b basis) of(r object.Release) Wanted {
	i := slices.IndexFunc(b.wanted, func(w Wanted) bool { return w.Release == r })
	if i < 0 {
		return Wanted{}
	}
	return b.wanted[i]
}

const (
	secrets = "secrets"
	// historyNearlyFull is the number of revisions from which on a new one, and the one that rolls
	// it back, may make Helm delete old ones: it keeps 10.
	historyNearlyFull = 9
)

// ReadingPermissions lists the permissions for what an operation does whatever its plan is: reading and writing the
// record of a package, whose Secret is named, under its lease, reading how the cluster was
// initialised unless the package brings everything from elsewhere, and reading releases.
func ReadingPermissions(op Operation, record string, connected bool, releases ...object.Release) []object.Permission {
	n := needs{}
	n.books(record)
	if op == Deploy && !connected {
		n.named(secrets, state.Namespace, state.ClusterSecret, "get")
	}
	for _, r := range releases {
		n.any("", secrets, r.Namespace, "list")
	}
	return n.list()
}

// permissions lists what the user must be allowed to do for the plan to be carried out, and no more:
// the requests that are made by the packages chart, cluster and apply. Rights that are only asked
// for where something may be known without them (reading namespaces) are left out. So are those of
// actions, which are programs, and those that the API server demands beyond the request itself,
// such as holding the rights of a Role that is created.
func permissions(p Plan) []object.Permission {
	if p.basis.access == nil {
		return nil // no cluster is asked
	}
	n := needs{access: *p.basis.access}
	n.record(p)
	n.reads(p)
	for _, r := range p.Releases {
		n.release(p, r)
	}
	for _, r := range p.Recovery {
		n.recovery(p, r)
	}
	n.prunes(p)
	for _, c := range p.Components {
		for _, ref := range c.Health {
			n.object(ref, "get")
		}
	}
	for _, o := range n.access.Others {
		n.add(o)
	}
	return n.list()
}

// needs collects permissions.
type needs struct {
	access Access
	// names are those that a permission (which has none itself) is needed for; nil: for any.
	names map[permission]map[string]bool
}

// permission is an object.Permission without names, to be compared.
type permission struct {
	verb, group, resource, subresource, namespace string
}

func (n *needs) add(p object.Permission) {
	if n.names == nil {
		n.names = map[permission]map[string]bool{}
	}
	key := permission{p.Verb, p.Group, p.Resource, p.Subresource, p.Namespace}
	names, known := n.names[key]
	switch {
	case len(p.Names) == 0:
		n.names[key] = nil
		return
	case !known:
		names = map[string]bool{}
		n.names[key] = names
	case names == nil:
		return // it is needed for any
	}
	for _, name := range p.Names {
		names[name] = true
	}
}

func (n *needs) list() []object.Permission {
	out := make([]object.Permission, 0, len(n.names))
	for p, names := range n.names {
		out = append(out, object.Permission{
			Verb: p.verb, Group: p.group, Resource: p.resource, Subresource: p.subresource, Namespace: p.namespace,
			Names: slices.Sorted(maps.Keys(names)),
		})
	}
	slices.SortFunc(out, object.Permission.Compare)
	return out
}

// any adds verbs on whatever objects of a resource.
func (n *needs) any(group, resource, namespace string, verbs ...string) {
	for _, verb := range verbs {
		n.add(object.Permission{Verb: verb, Group: group, Resource: resource, Namespace: namespace})
	}
}

// named adds verbs on one object of the core group.
func (n *needs) named(resource, namespace, name string, verbs ...string) {
	for _, verb := range verbs {
		n.add(object.Permission{Verb: verb, Resource: resource, Namespace: namespace, Names: []string{name}})
	}
}

// object adds verbs on one object, which create does not name.
func (n *needs) object(ref object.Ref, verbs ...string) {
	r, known := n.access.Kinds[ref.GroupKind()]
	if !known {
		return
	}
	for _, verb := range verbs {
		p := object.Permission{Verb: verb, Group: r.Group, Resource: r.Name}
		if r.Namespaced {
			p.Namespace = ref.Namespace
		}
		if verb != "create" {
			p.Names = []string{ref.Name}
			if r.Group == "" && r.Name == "namespaces" {
				p.Namespace = ref.Name // as the API server sees it
			}
		}
		n.add(p)
	}
}

// books adds what it takes to write a record under its lease.
func (n *needs) books(record string) {
	n.named(secrets, state.Namespace, record, "get", "patch")
	const group = "coordination.k8s.io"
	n.any(group, "leases", state.Namespace, "create")
	for _, verb := range []string{"get", "update", "delete"} {
		n.add(object.Permission{Verb: verb, Group: group, Resource: "leases", Namespace: state.Namespace, Names: []string{record}})
	}
}

func (n *needs) record(p Plan) {
	record := state.SecretName(p.Package.Name, p.Package.NamespaceOverride)
	n.books(record)
	if slices.Contains(n.access.Absent, state.Namespace) {
		n.any("", "namespaces", "", "create")
	}
	if p.Operation == Deploy {
		if p.Deployed == nil {
			n.any("", secrets, state.Namespace, "create")
		}
		if !p.Package.Connected {
			n.named(secrets, state.Namespace, state.ClusterSecret, "get")
		}
		return
	}
	stays := slices.ContainsFunc(p.Components, func(c Component) bool { return c.Action != ComponentRemove })
	if !stays {
		n.named(secrets, state.Namespace, record, "delete")
	}
}

// reads adds what it takes to observe: the revisions of every release that is looked at, and the
// objects of these and of what is to be installed.
func (n *needs) reads(p Plan) {
	for r, has := range p.basis.releases {
		n.any("", secrets, r.Namespace, "list")
		for _, o := range has.Objects {
			n.look(p, o.Ref)
		}
	}
	for _, k := range p.basis.kept {
		n.look(p, k.Ref)
	}
	for _, w := range p.basis.wanted {
		n.any("", secrets, w.Namespace, "list")
		for _, o := range w.Objects {
			n.look(p, o.Ref)
		}
		for _, h := range w.Hooks {
			n.look(p, h.Ref)
		}
	}
}

// look adds what it takes to observe an object; with a definition of a kind go the objects of that
// kind, wherever they are.
func (n *needs) look(p Plan, ref object.Ref) {
	n.object(ref, "get")
	if _, lives := p.basis.live[ref.Key()]; !lives || !isCRD(ref) {
		return
	}
	if plural, group, ok := definedBy(ref); ok {
		n.any(group, plural, "", "list")
	}
}

// release adds what it takes to install or upgrade a release.
func (n *needs) release(p Plan, r Release) {
	if r.Action == ReleaseUnchanged && n.access.SkipUnchanged {
		return
	}
	has := p.basis.releases[r.Release]
	n.any("", secrets, r.Namespace, "list", "get", "create", "update")
	if has.Revisions >= historyNearlyFull {
		n.any("", secrets, r.Namespace, "delete")
	}
	w := p.basis.of(r.Release)
	namespaces := w.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{r.Namespace} // it cannot be rendered yet, but that much is known
	}
	for _, namespace := range namespaces {
		n.namespace(p, namespace)
		for _, secret := range w.Secrets {
			n.named(secrets, namespace, secret, "get", "patch")
			n.any("", secrets, namespace, "create")
		}
	}
	upgrade := p.upgrades(r)
	for _, ref := range r.Added {
		n.object(ref, "create")
		if upgrade {
			n.object(ref, "delete") // where the upgrade fails and is rolled back
		}
	}
	for _, ref := range r.Changed {
		n.object(ref, "patch")
		if !upgrade || !renders(has, ref) {
			n.object(ref, "create") // it is tried first
		}
	}
	for _, m := range r.Moved {
		n.object(m.Ref, "create", "patch")
	}
	for _, o := range r.Replaced {
		n.object(o.Ref, "get", "delete", "create")
	}
	if !upgrade {
		for _, ref := range w.CRDs {
			n.object(ref, "create", "get")
		}
	}
	for _, h := range w.Hooks {
		n.object(h.Ref, "create", "get", "delete")
	}
}

// upgrades reports whether a release is upgraded rather than installed.
func (p Plan) upgrades(r Release) bool {
	return r.Action == ReleaseUpgrade || r.Action == ReleaseUnchanged || p.basis.releases[r.Release].Exists && !r.Replace
}

func renders(has ReleaseFacts, ref object.Ref) bool {
	return slices.ContainsFunc(has.Objects, func(o Rendered) bool { return o.Key() == ref.Key() })
}

func (n *needs) namespace(p Plan, name string) {
	switch {
	case slices.Contains(n.access.Absent, name):
		n.any("", "namespaces", "", "create")
	case p.basis.takeOwnership && !kubernetesOwn(name):
		n.named("namespaces", name, name, "patch")
	}
}

// kubernetesOwn reports whether a namespace is Kubernetes' own, which nobody takes over.
func kubernetesOwn(namespace string) bool {
	switch namespace {
	case "default", "kube-node-lease", "kube-public", "kube-system":
		return true
	}
	return false
}

// recovery adds what it takes to put right what an interrupted run left, which may be anything.
func (n *needs) recovery(p Plan, r Recovery) {
	has := p.basis.releases[r.Release]
	n.any("", secrets, r.Namespace, "list", "get", "create", "update")
	if has.Uninstalling {
		return // it is finished within what the plan lists: see prunes
	}
	for _, o := range has.Objects {
		n.object(o.Ref, "get", "create", "patch", "delete")
	}
}

// prunes adds what it takes to delete objects and to let go of those that are kept.
func (n *needs) prunes(p Plan) {
	gone := map[string]bool{}
	for _, r := range p.uninstalls() {
		gone[r.String()] = true
		n.any("", secrets, r.Namespace, "list", "get", "update", "delete")
		for _, hook := range p.basis.releases[r].UninstallHooks {
			n.object(hook, "get")
			if !p.basis.noHooks {
				n.object(hook, "create", "delete")
			}
		}
	}
	for _, o := range p.Prune.Objects {
		n.object(o.Ref, "get", "delete")
		if o.Reason == PruneDropped {
			n.object(o.Ref, "create") // where the upgrade fails and is rolled back
		}
	}
	for _, k := range p.basis.kept {
		if gone[k.Release.String()] { // upgrades kept it, and it loses what ties it to the release
			n.object(k.Ref, "get", "patch")
		}
	}
	for _, k := range p.Prune.Kept {
		if k.Object != nil && k.By != byOwner && k.By != byEarlier && gone[k.In] {
			n.object(*k.Object, "get", "patch")
		}
	}
}

// definedBy returns what a CustomResourceDefinition defines, which its name must tell.
func definedBy(crd object.Ref) (plural, group string, ok bool) {
	return strings.Cut(crd.Name, ".")
}

func isCRD(ref object.Ref) bool {
	return ref.Group() == "apiextensions.k8s.io" && ref.Kind == "CustomResourceDefinition"
}
