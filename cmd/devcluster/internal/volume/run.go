package volume

import (
	"context"
	"fmt"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// key names a claim, or a volume when Namespace is empty.
type key struct{ Namespace, Name string }

type runner struct {
	client kubernetes.Interface
	root   string
	queue  workqueue.TypedRateLimitingInterface[key]
}

// Run provisions and reclaims volumes until ctx ends. Paths of volumes lie
// under root.
func Run(ctx context.Context, client kubernetes.Interface, root string) error {
	r := &runner{
		client: client,
		root:   root,
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]()),
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().PersistentVolumeClaims().Informer(),
		factory.Core().V1().PersistentVolumes().Informer(),
	} {
		handler := cache.ResourceEventHandlerFuncs{
			AddFunc:    r.enqueue,
			UpdateFunc: func(_, now any) { r.enqueue(now) },
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching claims and volumes: %w", err)
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()

	for {
		k, shutdown := r.queue.Get()
		if shutdown {
			return ctx.Err()
		}
		if err := r.handle(ctx, k); err != nil && ctx.Err() == nil {
			r.queue.AddRateLimited(k)
		} else {
			r.queue.Forget(k)
		}
		r.queue.Done(k)
	}
}

// enqueue leaves out at once what needs nothing, which is nearly everything.
func (r *runner) enqueue(object any) {
	switch o := object.(type) {
	case *core.PersistentVolumeClaim:
		if o.Spec.VolumeName == "" {
			r.queue.Add(key{Namespace: o.Namespace, Name: o.Name})
		}
	case *core.PersistentVolume:
		if Reclaimable(o) {
			r.queue.Add(key{Name: o.Name})
		}
	}
}

// handle reads the object again: what the watch told may be old by now.
func (r *runner) handle(ctx context.Context, k key) error {
	if k.Namespace == "" {
		return r.reclaim(ctx, k.Name)
	}
	return r.provision(ctx, k)
}

func (r *runner) provision(ctx context.Context, k key) error {
	claim, err := r.client.CoreV1().PersistentVolumeClaims(k.Namespace).Get(ctx, k.Name, meta.GetOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	name := claim.Spec.StorageClassName
	if name == nil || *name == "" {
		return nil // no class, or none yet: the claim comes back when it gets one
	}
	class, err := r.client.StorageV1().StorageClasses().Get(ctx, *name, meta.GetOptions{})
	if err != nil {
		return err // tried again: the class may come after the claim
	}
	v := ForClaim(claim, class, r.root)
	if v == nil {
		return nil
	}
	_, err = r.client.CoreV1().PersistentVolumes().Create(ctx, v, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (r *runner) reclaim(ctx context.Context, name string) error {
	v, err := r.client.CoreV1().PersistentVolumes().Get(ctx, name, meta.GetOptions{})
	if err != nil || !Reclaimable(v) {
		return ignoreNotFound(err)
	}
	err = r.client.CoreV1().PersistentVolumes().Delete(ctx, name, meta.DeleteOptions{
		Preconditions: meta.NewUIDPreconditions(string(v.UID)),
	})
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}
