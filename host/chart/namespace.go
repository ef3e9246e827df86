package chart

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/zarf-host/zarf-host/host/event"
)

// ensureNamespaces creates the namespaces that a release needs and that do not exist. One that
// exists is left as it is, unless the release takes over what it finds.
func (c *Client) ensureNamespaces(ctx context.Context, w Wanted, needed postRendered) error {
	client := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	for _, name := range needed.namespaceNames() {
		want := needed.namespaces[name]
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(ctx, want, metav1.CreateOptions{FieldManager: fieldManager})
			if err == nil {
				c.emit(event.Info, w.Release, "created namespace %q", name)
				continue
			}
			if apierrors.IsAlreadyExists(err) {
				continue
			}
			return fmt.Errorf("creating namespace %q: %w", name, err)
		}
		switch {
		case err != nil:
			return fmt.Errorf("reading namespace %q: %w", name, err)
		case live.GetDeletionTimestamp() != nil:
			return fmt.Errorf("namespace %q is being deleted: wait until it is gone, then deploy again", name)
		case w.TakeOwnership:
			if err := c.adoptNamespace(ctx, w, want); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Client) adoptNamespace(ctx context.Context, w Wanted, want *unstructured.Unstructured) error {
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
	_, err = c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return fmt.Errorf("taking over namespace %q: %w", name, err)
	}
	return nil
}
