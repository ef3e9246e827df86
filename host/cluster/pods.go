package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/zarf-host/zarf-host/host/object"
)

// maxOwners is how many owners above a pod are looked at: a Deployment is two above its pods.
const maxOwners = 6

// PodImage is an image that a pod runs, or is about to.
type PodImage struct {
	Reference string
	Namespace string // the pod's
	// Release is the Helm release that an owner of the pod, or the pod, says it belongs to; zero where
	// none does.
	Release object.Release
}

// PodImages returns the images, of those that are wanted, which pods of the whole cluster run. Pods
// that ended or are going do not count, nor do those whose owner is gone: they are about to follow
// it.
func (c *Cluster) PodImages(ctx context.Context, wanted func(reference string) bool) ([]PodImage, error) {
	client, err := kubernetes.NewForConfig(c.work)
	if err != nil {
		return nil, fmt.Errorf("preparing to list pods: %w", err)
	}
	owners, err := newOwners(c)
	if err != nil {
		return nil, err
	}
	var out []PodImage
	for options := (metav1.ListOptions{Limit: 500}); ; {
		page, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing the pods of the cluster: %w", err)
		}
		for i := range page.Items {
			pod := &page.Items[i]
			images := slices.DeleteFunc(podImages(pod), func(reference string) bool { return !wanted(reference) })
			if len(images) == 0 || ended(pod) {
				continue
			}
			release, going, err := owners.of(ctx, pod.ObjectMeta)
			if err != nil {
				return nil, fmt.Errorf("looking for the owner of pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			if going {
				continue
			}
			for _, reference := range images {
				out = append(out, PodImage{Reference: reference, Namespace: pod.Namespace, Release: release})
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return out, nil
		}
	}
}

func ended(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podImages are the references that a pod names, each once.
func podImages(pod *corev1.Pod) []string {
	var out []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		out = append(out, c.Image)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		out = append(out, c.Image)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			out = append(out, v.Image.Reference)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// owners follows objects to what owns them.
type owners struct {
	client metadata.Interface
	kinds  *kinds
	known  map[object.Ref]*metav1.PartialObjectMetadata // nil where there is none
}

func newOwners(c *Cluster) (*owners, error) {
	client, err := metadata.NewForConfig(c.work)
	if err != nil {
		return nil, fmt.Errorf("preparing to look for owners: %w", err)
	}
	kinds, err := newKinds(c.work)
	if err != nil {
		return nil, fmt.Errorf("preparing to look for owners: %w", err)
	}
	return &owners{client: client, kinds: kinds, known: map[object.Ref]*metav1.PartialObjectMetadata{}}, nil
}

// of returns the Helm release of an object or of one above it, and whether one above it is gone or
// going. What may not be read says neither.
func (o *owners) of(ctx context.Context, of metav1.ObjectMeta) (release object.Release, going bool, err error) {
	for range maxOwners {
		if r := (object.Release{Namespace: of.Annotations["meta.helm.sh/release-namespace"], Name: of.Annotations["meta.helm.sh/release-name"]}); r.Name != "" {
			release = r
		}
		owner := metav1.GetControllerOfNoCopy(&of)
		if owner == nil {
			return release, false, nil
		}
		above, told, err := o.get(ctx, object.Ref{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: of.Namespace, Name: owner.Name})
		switch {
		case err != nil:
			return release, false, err
		case !told:
			return release, false, nil
		case above == nil, above.UID != owner.UID, above.DeletionTimestamp != nil:
			return release, true, nil
		}
		of = above.ObjectMeta
	}
	return release, false, nil
}

// get reads an owner once. told is false where its kind is not known or it may not be read.
func (o *owners) get(ctx context.Context, ref object.Ref) (found *metav1.PartialObjectMetadata, told bool, err error) {
	if found, told = o.known[ref]; told {
		return found, true, nil
	}
	mapping, err := o.kinds.find(ref)
	if err != nil {
		return nil, false, nil // an API that is away says nothing about its objects
	}
	resource := metadata.ResourceInterface(o.client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = o.client.Resource(mapping.Resource).Namespace(ref.Namespace)
	}
	found, err = resource.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		found = nil
	case apierrors.IsForbidden(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	o.known[ref] = found
	return found, true, nil
}
