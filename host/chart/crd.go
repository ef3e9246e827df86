package chart

import (
	"context"
	"fmt"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

// crdTimeout bounds the wait for CRDs to be established, as in Helm.
const crdTimeout = time.Minute

// installCRDs creates what a chart's crds folders hold and does not exist yet, before the chart is
// rendered for good: its templates may ask for the API. Helm would render with the capabilities
// that it had before.
func (c *Client) installCRDs(ctx context.Context, w Wanted, ch *helmchart.Chart) error {
	var made []object.Ref
	deadline := time.Now().Add(w.timeout())
	for _, file := range ch.CRDObjects() {
		objs, err := parseAll(string(file.File.Data))
		if err != nil {
			return fmt.Errorf("reading CRDs of %s: %w", file.Filename, err)
		}
		for _, obj := range objs {
			ref := object.Ref{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName()}
			gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
			m, err := c.mapping(gvk)
			if err != nil {
				return fmt.Errorf("finding kind %q of %s in the cluster: %w", ref.Kind, file.Filename, err)
			}
			err = retry(ctx, deadline, func() error {
				_, err := c.resource(m, w.Release.Namespace).Create(ctx, obj, metav1.CreateOptions{FieldManager: fieldManager})
				return err
			})
			c.sawCRD(obj)
			if apierrors.IsAlreadyExists(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("creating %s: %w", ref, err)
			}
			c.emit(event.Info, w.Release, "created %s", ref)
			made = append(made, ref)
		}
	}
	if len(made) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	if err := c.waiter.Ready(wait, made); err != nil {
		return fmt.Errorf("waiting for CRDs of release %q to be established: %w", w.Release, err)
	}
	c.refreshAPIs()
	return nil
}
