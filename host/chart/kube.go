package chart

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

// rules are what an operation may do to objects, decided before.
type rules struct {
	keep          map[object.Key]bool // never deleted
	keepOther     func(object.Live) bool
	adopt         map[object.Key]string // taken over, if they have this UID
	only          map[object.Key]string // deleted only with this UID
	takeOwnership bool                  // take over whatever is there
	allowDataLoss bool
	// leaveForeign makes a rollback pass over objects that belong to somebody else by now.
	leaveForeign bool
	// earlier are the objects of all revisions since the last deployed one, oldest first: what is
	// live may come from any of them, while Helm compares two revisions only. What the target lacks
	// of them goes.
	earlier []*unstructured.Unstructured
	hooks   map[object.Key]bool // the hooks of stored revisions
	// uninstall is set where the hooks that run are those of an uninstall.
	uninstall bool
	// hookDataLoss lets a hook take the place of a namespace or volume.
	hookDataLoss bool
}

// kubeClient is Helm's way to the cluster in one operation on one release.
type kubeClient struct {
	kube.Interface // Helm's own; every method that changes or waits for something is ours

	c        *Client
	ctx      context.Context // of the operation; Helm's interface has none
	release  object.Release
	rules    rules
	deadline time.Time // no write is tried again after it

	mu      sync.Mutex
	journal journal
	clients map[schema.GroupVersion]resource.RESTClient
	err     error // the first failure, which Helm passes on as text only
}

// journal is what an operation did.
type journal struct {
	created map[types.UID]bool
	adopted []adoption
	deleted []object.Ref
	kept    []object.Ref
	foreign []object.Ref
	failed  []FailedDelete
}

func (c *Client) newKubeClient(ctx context.Context, r object.Release, rules rules, timeout time.Duration) *kubeClient {
	helm := kube.New(c.getter)
	helm.Namespace = r.Namespace
	return &kubeClient{
		Interface: helm,
		c:         c,
		ctx:       ctx,
		release:   r,
		rules:     rules,
		deadline:  time.Now().Add(timeout),
		journal:   journal{created: map[types.UID]bool{}},
		clients:   map[schema.GroupVersion]resource.RESTClient{},
	}
}

// fail remembers the first failure.
func (k *kubeClient) fail(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = err
	}
	return err
}

// cause returns the first failure of ours, which says more than what Helm makes of it, or Helm's.
func (k *kubeClient) cause(helm error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if helm != nil && k.err != nil {
		return k.err
	}
	return helm
}

// failure returns the first failure of ours.
func (k *kubeClient) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// kept returns what was found worth keeping on the way.
func (k *kubeClient) kept() []object.Ref {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.journal.kept)
}

// IsReachable answers without a request: the next one tells.
func (k *kubeClient) IsReachable() error { return k.ctx.Err() }

// Build reads the objects of a manifest. Helm asks for validation of what it is about to apply,
// which the API server does; without it, it reads what was applied once, of which a kind may have
// gone from the cluster with all its objects.
func (k *kubeClient) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, k.fail(fmt.Errorf("reading the manifest of release %q: %w", k.release, err))
	}
	objs, err := parseAll(string(data))
	if err != nil {
		return nil, k.fail(err)
	}
	list := kube.ResourceList{}
	for _, obj := range objs {
		info, err := k.info(obj)
		if meta.IsNoMatchError(err) && !validate {
			k.c.emit(event.Warn, k.release, "%s %q is of a kind that the cluster no longer serves; it is passed over",
				obj.GetKind(), obj.GetName())
			continue
		}
		if err != nil {
			return nil, k.fail(fmt.Errorf("finding kind %q of %q in the cluster: %w", obj.GetKind(), obj.GetAPIVersion(), err))
		}
		list = append(list, info)
	}
	return list, nil
}

func (k *kubeClient) info(obj *unstructured.Unstructured) (*resource.Info, error) {
	gvk := obj.GroupVersionKind()
	m, err := k.c.awaitMapping(k.ctx, gvk)
	if err != nil {
		return nil, err
	}
	namespace := ""
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace = obj.GetNamespace(); namespace == "" {
			namespace = k.release.Namespace
		}
	}
	obj.SetNamespace(namespace)
	client, err := k.restClient(m)
	if err != nil {
		return nil, err
	}
	return &resource.Info{Client: client, Mapping: m, Namespace: namespace, Name: obj.GetName(), Object: obj}, nil
}

// restClient returns the client with which Helm looks at objects of a mapping itself.
func (k *kubeClient) restClient(m *meta.RESTMapping) (resource.RESTClient, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	gv := m.GroupVersionKind.GroupVersion()
	if client, ok := k.clients[gv]; ok {
		return client, nil
	}
	client, err := k.c.getter.unstructuredClient(gv)
	if err == nil {
		k.clients[gv] = client
	}
	return client, err
}

// Create creates hooks, or what a first install renders.
func (k *kubeClient) Create(resources kube.ResourceList) (*kube.Result, error) {
	if len(resources) == 0 {
		return &kube.Result{}, nil
	}
	hook, err := annotationsOf(resources[0])
	if err != nil {
		return &kube.Result{}, k.fail(err)
	}
	if isHook(hook) {
		res := &kube.Result{}
		for i, info := range resources {
			if err := k.createHook(info); err != nil {
				return res, k.fail(k.hookError(resources[i:i+1], err))
			}
			res.Created = append(res.Created, info)
		}
		return res, nil
	}
	return k.reconcile(nil, resources)
}

// Update brings the release from original to target.
func (k *kubeClient) Update(original, target kube.ResourceList, _ bool) (*kube.Result, error) {
	return k.reconcile(original, target)
}

// UpdateThreeWayMerge is Update, which always merges three ways.
func (k *kubeClient) UpdateThreeWayMerge(original, target kube.ResourceList, _ bool) (*kube.Result, error) {
	return k.reconcile(original, target)
}

// reconcile applies target and deletes what the release had beside it. Its result is never nil:
// Helm reads it beside an error.
func (k *kubeClient) reconcile(original, target kube.ResourceList) (*kube.Result, error) {
	res := &kube.Result{}
	for _, batch := range batches(target) {
		errs := make([]error, len(batch))
		done := make([]outcome, len(batch))
		items := make([]int, len(batch))
		for i := range items {
			items[i] = i
		}
		_ = each(k.ctx, items, func(i int) error {
			done[i], errs[i] = k.put(batch[i], original.Get(batch[i]))
			return nil
		})
		for i, info := range batch {
			switch done[i] {
			case outcomeCreated:
				res.Created = append(res.Created, info)
			case outcomeUpdated:
				res.Updated = append(res.Updated, info)
			}
		}
		if err := errors.Join(append(errs, k.ctx.Err())...); err != nil {
			return res, k.fail(err)
		}
	}
	gone, err := k.leftovers(original, target)
	if err != nil {
		return res, k.fail(err)
	}
	for _, info := range gone {
		deleted, err := k.remove(info)
		if err != nil {
			return res, k.fail(err)
		}
		if deleted {
			res.Deleted = append(res.Deleted, info)
		}
	}
	return res, nil
}

// batches cuts a list where the kind changes: objects of one kind do not depend on each other.
func batches(list kube.ResourceList) []kube.ResourceList {
	var out []kube.ResourceList
	for i, info := range list {
		if i == 0 || info.Mapping.GroupVersionKind != list[i-1].Mapping.GroupVersionKind {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], info)
	}
	return out
}

// leftovers are the objects that the release had and that the target lacks.
func (k *kubeClient) leftovers(original, target kube.ResourceList) (kube.ResourceList, error) {
	wanted, seen := map[object.Key]bool{}, map[object.Key]bool{}
	for _, info := range target {
		wanted[refOf(info).Key()] = true
	}
	var had kube.ResourceList
	for _, obj := range slices.Backward(k.rules.earlier) {
		info, err := k.info(obj.DeepCopy())
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding kind %q in the cluster: %w", obj.GetKind(), err)
		}
		had = append(had, info)
	}
	had = append(had, original...)
	var out kube.ResourceList
	for _, info := range had {
		key := refOf(info).Key()
		if !wanted[key] && !seen[key] {
			seen[key] = true
			out = append(out, info)
		}
	}
	return out, nil
}

// Delete deletes hooks as their policies say, what a failed upgrade created, or what an uninstall
// takes.
func (k *kubeClient) Delete(resources kube.ResourceList) (*kube.Result, []error) {
	return k.DeleteWithPropagationPolicy(resources, metav1.DeletePropagationBackground)
}

// DeleteWithPropagationPolicy is Delete; dependents always go in the background.
func (k *kubeClient) DeleteWithPropagationPolicy(resources kube.ResourceList, _ metav1.DeletionPropagation) (*kube.Result, []error) {
	res := &kube.Result{}
	var errs []error
	k.mu.Lock()
	before := len(k.journal.failed) // what an upgrade could not delete is no failure of a later hook
	k.mu.Unlock()
	for _, info := range resources {
		deleted, err := k.removeFor(info)
		if err != nil {
			errs = append(errs, k.fail(err))
			continue
		}
		if deleted {
			res.Deleted = append(res.Deleted, info)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	failed := k.journal.failed[before:]
	for _, f := range failed {
		errs = append(errs, f.Err)
	}
	if len(failed) > 0 && k.err == nil {
		k.err = &DeleteError{Release: k.release, Failed: failed}
	}
	return res, errs
}

// Wait waits until objects are ready.
func (k *kubeClient) Wait(resources kube.ResourceList, timeout time.Duration) error {
	return k.wait(k.c.waiter.Ready, refsOf(resources), timeout)
}

// WaitWithJobs is Wait: readiness is the Waiter's to judge.
func (k *kubeClient) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	return k.Wait(resources, timeout)
}

// WatchUntilReady waits until hooks have run.
func (k *kubeClient) WatchUntilReady(resources kube.ResourceList, timeout time.Duration) error {
	return k.wait(func(ctx context.Context, refs []object.Ref) error {
		return k.hookError(resources, k.c.waiter.Complete(ctx, refs))
	}, refsOf(resources), timeout)
}

// hookError says of hooks of an uninstall that they failed, which its caller can leave out.
func (k *kubeClient) hookError(hooks kube.ResourceList, err error) error {
	if err == nil || !k.rules.uninstall || k.ctx.Err() != nil {
		return err
	}
	return &HookError{Release: k.release, Hooks: refsOf(hooks), Err: err}
}

// WaitForDelete waits until objects that were deleted are gone; those that were left alone stay.
func (k *kubeClient) WaitForDelete(resources kube.ResourceList, timeout time.Duration) error {
	stays := k.staying()
	var going []object.Ref
	for _, ref := range refsOf(resources) {
		if !stays[ref.Key()] {
			going = append(going, ref)
		}
	}
	return k.wait(k.c.waiter.Deleted, going, timeout)
}

func (k *kubeClient) wait(wait func(context.Context, []object.Ref) error, refs []object.Ref, timeout time.Duration) error {
	if len(refs) == 0 {
		return k.ctx.Err()
	}
	ctx, cancel := context.WithTimeout(k.ctx, timeout)
	defer cancel()
	if err := wait(ctx, refs); err != nil {
		if ctx.Err() != nil && k.ctx.Err() == nil {
			err = fmt.Errorf("waiting for release %q took longer than %s: %w", k.release, timeout, err)
		}
		return k.fail(err)
	}
	return nil
}

// GetPodList finds the pods whose output a hook wants shown. Not finding them fails nothing.
func (k *kubeClient) GetPodList(namespace string, options metav1.ListOptions) (*corev1.PodList, error) {
	list, err := k.c.clients.CoreV1().Pods(namespace).List(k.ctx, options)
	if err != nil {
		k.c.emit(event.Warn, k.release, "the output of a hook cannot be had: %v", err)
		return &corev1.PodList{}, nil
	}
	return list, nil
}

// maxHookOutput bounds what is shown of one container's output.
const maxHookOutput = 64 << 10

// OutputContainerLogsForPodList passes the output of hooks on as events.
func (k *kubeClient) OutputContainerLogsForPodList(pods *corev1.PodList, namespace string, _ func(namespace, pod, container string) io.Writer) error {
	for _, pod := range pods.Items {
		for _, container := range pod.Spec.Containers {
			stream, err := k.c.clients.CoreV1().Pods(namespace).
				GetLogs(pod.Name, &corev1.PodLogOptions{Container: container.Name}).Stream(k.ctx)
			if err != nil {
				k.c.emit(event.Warn, k.release, "the output of hook pod %s cannot be had: %v", pod.Name, err)
				continue
			}
			lines := bufio.NewScanner(io.LimitReader(stream, maxHookOutput))
			for lines.Scan() {
				k.c.emit(event.Info, k.release, "hook pod %s: %s", pod.Name, lines.Text())
			}
			_ = stream.Close()
		}
	}
	return nil
}

func refOf(info *resource.Info) object.Ref {
	apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
	return object.Ref{APIVersion: apiVersion, Kind: kind, Namespace: info.Namespace, Name: info.Name}
}

func refsOf(list kube.ResourceList) []object.Ref {
	out := make([]object.Ref, len(list))
	for i, info := range list {
		out[i] = refOf(info)
	}
	return out
}

func annotationsOf(info *resource.Info) (map[string]string, error) {
	return meta.NewAccessor().Annotations(info.Object)
}
