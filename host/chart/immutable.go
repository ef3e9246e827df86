package chart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/object"
)

// Immutable returns, of live objects, the fields that the API server refuses to change into what docs
// say, by the objects' keys. It asks with dry runs: which fields those are, only the server knows. An
// object about which it does not answer is taken to be changeable.
func (c *Client) Immutable(ctx context.Context, docs []Document) (map[object.Key][]string, error) {
	if err := c.online(); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	out := map[object.Key][]string{}
	err := each(ctx, docs, func(d Document) error {
		fields, err := c.immutable(ctx, d)
		if err != nil {
			return fmt.Errorf("asking whether %s can be changed: %w", d.Ref, err)
		}
		if len(fields) > 0 {
			mu.Lock()
			defer mu.Unlock()
			out[d.Key()] = fields
		}
		return nil
	})
	return out, err
}

func (c *Client) immutable(ctx context.Context, d Document) ([]string, error) {
	m, err := c.mapping(schema.FromAPIVersionAndKind(d.APIVersion, d.Kind))
	if err != nil {
		return nil, nil //nolint:nilerr // a kind that is not there has no object to change
	}
	target := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(d.Body, &target.Object); err != nil {
		return nil, withoutBody(err)
	}
	client := c.resource(m, d.Namespace)
	live, err := client.Get(ctx, d.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info := &resource.Info{Mapping: m, Namespace: d.Namespace, Name: d.Name, Object: target}
	patch, kind, err := threeWayPatch(info, target, target, live)
	if err != nil || patch == nil {
		return nil, err
	}
	err = retry(ctx, time.Time{}, func() error {
		_, err := client.Patch(ctx, d.Name, kind, patch, metav1.PatchOptions{FieldManager: fieldManager, DryRun: []string{metav1.DryRunAll}})
		return err
	})
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil, err
	}
	if !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return nil, nil // it may not be asked, or is wrong in another way, which the change will tell
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes { // their messages may quote values
		if !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	slices.Sort(fields)
	return fields, nil
}

// Delete deletes objects, each only while it is the one with that UID, and waits until they are gone.
func (c *Client) Delete(ctx context.Context, objects []object.Instance, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, Wanted{Timeout: timeout}.timeout())
	defer cancel()
	for _, o := range objects {
		m, err := c.mapping(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
		if err != nil {
			return fmt.Errorf("deleting %s: %w", o.Ref, err)
		}
		client := c.resource(m, o.Namespace)
		uid, policy := types.UID(o.UID), metav1.DeletePropagationForeground
		err = retry(ctx, time.Time{}, func() error {
			return client.Delete(ctx, o.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy})
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s: %w", o.Ref, err)
		}
		for {
			live, err := client.Get(ctx, o.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && string(live.GetUID()) != o.UID {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting until %s is gone: %w", o.Ref, context.Cause(ctx))
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}
