package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zarf-host/zarf-host/host/event"
)

// ensureNamespaces creates the namespaces that a release needs and that do not exist. One that
// exists is left as it is, unless the release takes over what it finds.
func (c *Client) ensureNamespaces(ctx context.Context, w Wanted, needed postRendered) error {
	deadline := time.Now().Add(w.timeout())
	for _, name := range needed.namespaceNames() {
		if err := c.ensureNamespace(ctx, w, needed.namespaces[name], deadline); err != nil {
			return err
		}
		for _, secret := range w.Secrets {
			if err := c.ensureSecret(ctx, name, secret, deadline); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Client) ensureNamespace(ctx context.Context, w Wanted, want *unstructured.Unstructured, deadline time.Time) error {
	client := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	name := want.GetName()
	var live *unstructured.Unstructured
	err := retry(ctx, deadline, func() (err error) {
		live, err = client.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	unseen := apierrors.IsForbidden(err) // whether it is there, only an attempt to create it tells
	switch {
	case unseen, apierrors.IsNotFound(err):
		err = retry(ctx, deadline, func() error {
			_, err := client.Create(ctx, want, metav1.CreateOptions{FieldManager: fieldManager})
			return err
		})
		switch {
		case err == nil:
			c.emit(event.Info, w.Release, "created namespace %q", name)
			return nil
		case unseen && apierrors.IsForbidden(err): // who may do neither was given a namespace that is there
		case !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("creating namespace %q: %w", name, err)
		}
		if w.TakeOwnership {
			return c.adoptNamespace(ctx, w, want, deadline)
		}
		return nil
	case err != nil:
		return fmt.Errorf("reading namespace %q: %w", name, err)
	case live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("namespace %q is being deleted: wait until it is gone, then deploy again", name)
	case w.TakeOwnership:
		return c.adoptNamespace(ctx, w, want, deadline)
	}
	return nil
}

// ensureSecret writes a Secret as Zarf does. One that is equal already costs no write.
func (c *Client) ensureSecret(ctx context.Context, namespace string, s Secret, deadline time.Time) error {
	secrets := c.clients.CoreV1().Secrets(namespace)
	var live *corev1.Secret
	err := retry(ctx, deadline, func() (err error) {
		live, err = secrets.Get(ctx, s.Name, metav1.GetOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading Secret %q in namespace %q: %w", s.Name, namespace, err)
	}
	if err == nil && maps.EqualFunc(live.Data, s.Data, bytes.Equal) {
		return nil
	}
	want := corev1ac.Secret(s.Name, namespace).WithType(corev1.SecretType(s.Type)).WithData(s.Data).
		WithLabels(map[string]string{labelManagedBy: managedByZarf})
	err = retry(ctx, deadline, func() error {
		_, err := secrets.Apply(ctx, want, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing Secret %q in namespace %q: %w", s.Name, namespace, err)
	}
	return nil
}

func (c *Client) adoptNamespace(ctx context.Context, w Wanted, want *unstructured.Unstructured, deadline time.Time) error {
	name := want.GetName()
	switch name {
	case "default", "kube-node-lease", "kube-public", "kube-system":
		c.emit(event.Warn, w.Release, "namespace %q is Kubernetes' own and is not taken over", name)
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels": want.GetLabels(), "annotations": want.GetAnnotations(),
	}})
	if err != nil {
		return fmt.Errorf("taking over namespace %q: %w", name, err)
	}
	err = retry(ctx, deadline, func() error {
		_, err := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
			Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("taking over namespace %q: %w", name, err)
	}
	return nil
}
