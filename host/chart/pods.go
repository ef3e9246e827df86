package chart

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/object"
)

// Pods are how pods reach images that were pushed to the cluster's registry, where no agent of
// Zarf's does it. What is changed, and what is left alone, is what the agent would change.
type Pods struct {
	// Image returns the reference that a pod pulls instead of the one that its author wrote.
	Image func(reference string) (string, error)
	// PullSecret is the Secret that pods pull with, in each namespace.
	PullSecret string
	// Labelled changes only what asks for it with the label zarf.dev/agent: mutate, on the pod or
	// its namespace (the agent's mutation policy "labeled").
	Labelled bool
	// NamespaceAgent returns the value of the label zarf.dev/agent on a namespace.
	NamespaceAgent func(namespace string) string
}

// The marks that Zarf's agent leaves on pods.
const (
	labelPatched        = "zarf-agent"
	patched             = "patched"
	annotationImage     = "zarf.dev/original-image-"
	annotationVolume    = "zarf.dev/original-volume-"
	annotationPrefixLen = len("zarf.dev/")
	agentSkip           = "skip"
)

// podTemplates is where kinds keep the pods that they make.
var podTemplates = map[schema.GroupKind][]string{
	{Kind: "Pod"}:                        {},
	{Kind: "PodTemplate"}:                {"template"},
	{Kind: "ReplicationController"}:      {"spec", "template"},
	{Group: "apps", Kind: "Deployment"}:  {"spec", "template"},
	{Group: "apps", Kind: "StatefulSet"}: {"spec", "template"},
	{Group: "apps", Kind: "DaemonSet"}:   {"spec", "template"},
	{Group: "apps", Kind: "ReplicaSet"}:  {"spec", "template"},
	{Group: "batch", Kind: "Job"}:        {"spec", "template"},
	{Group: "batch", Kind: "CronJob"}:    {"spec", "jobTemplate", "spec", "template"},
}

// rewrite changes the pods that an object makes, if it makes any. namespace is the object's own or
// else that of its release.
func (p *Pods) rewrite(obj *unstructured.Unstructured, namespace string) error {
	if p == nil {
		return nil
	}
	path, ok := podTemplates[obj.GroupVersionKind().GroupKind()]
	if !ok {
		return nil
	}
	template := at(obj.Object, path)
	if template == nil {
		return nil // nothing to pull; the API server judges it
	}
	if obj.GetNamespace() != "" {
		namespace = obj.GetNamespace()
	}
	if err := p.template(template, namespace); err != nil {
		return fmt.Errorf("setting the images of %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// template changes one pod template in place.
func (p *Pods) template(template map[string]any, namespace string) error {
	spec, _ := template["spec"].(map[string]any)
	metadata, _ := template["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if spec == nil || !p.wants(labels, namespace) {
		return nil
	}
	originals := map[string]any{}
	if err := p.images(spec, originals); err != nil {
		return err
	}
	spec["imagePullSecrets"] = []any{map[string]any{"name": p.PullSecret}}
	if metadata == nil {
		metadata = map[string]any{}
		template["metadata"] = metadata
	}
	mergeInto(metadata, "labels", map[string]any{labelPatched: patched})
	mergeInto(metadata, "annotations", originals)
	return nil
}

// images rewrites the references of a pod's specification and notes the originals.
func (p *Pods) images(spec, originals map[string]any) error {
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		if err := p.each(spec[list], annotationImage, originals, func(entry map[string]any) map[string]any { return entry }, "image"); err != nil {
			return err
		}
	}
	volume := func(entry map[string]any) map[string]any {
		image, _ := entry["image"].(map[string]any)
		return image
	}
	return p.each(spec["volumes"], annotationVolume, originals, volume, "reference")
}

// at returns the map at a path, nil where there is none.
func at(content map[string]any, path []string) map[string]any {
	if len(path) == 0 {
		return content
	}
	found, _, err := unstructured.NestedFieldNoCopy(content, path...)
	if err != nil {
		return nil
	}
	m, _ := found.(map[string]any)
	return m
}

// each rewrites the reference in each entry of a list and notes the original under the entry's name.
func (p *Pods) each(list any, prefix string, originals map[string]any, holder func(map[string]any) map[string]any, key string) error {
	entries, _ := list.([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		in := holder(entry)
		reference, _ := in[key].(string)
		if reference == "" {
			continue
		}
		pulled, err := p.Image(reference)
		if err != nil {
			return err
		}
		name, _ := entry["name"].(string)
		originals[annotationName(prefix, name)] = reference
		in[key] = pulled
	}
	return nil
}

// wants reports whether the agent would change a pod.
func (p *Pods) wants(labels map[string]any, namespace string) bool {
	if value, _ := labels[labelPatched].(string); value == patched {
		return false
	}
	own, _ := labels[labelAgent].(string)
	of := ""
	if p.NamespaceAgent != nil {
		of = p.NamespaceAgent(namespace)
	}
	for _, value := range []string{own, of} {
		if value == agentIgnore || value == agentSkip {
			return false
		}
	}
	return !p.Labelled || own == agentMutate || of == agentMutate
}

// annotationName cuts the name of an annotation to what Kubernetes allows, as the agent does.
func annotationName(prefix, name string) string {
	full := prefix + name
	if most := annotationPrefixLen + validation.DNS1123LabelMaxLength; len(full) > most {
		full = strings.TrimRight(full[:most], "-")
	}
	return full
}

func mergeInto(metadata map[string]any, key string, add map[string]any) {
	has, _ := metadata[key].(map[string]any)
	if has == nil {
		has = map[string]any{}
		metadata[key] = has
	}
	for name, value := range add {
		has[name] = value
	}
}

// rewriteHook changes the pods of a hook, whose manifest Helm keeps as text.
func (w Wanted) rewriteHook(manifest string) (string, error) {
	if w.Pods == nil {
		return manifest, nil
	}
	objs, err := parseAll(manifest)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, obj := range objs {
		if err := w.Pods.rewrite(obj, w.Release.Namespace); err != nil {
			return "", err
		}
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return "", fmt.Errorf("writing a %s as YAML: %w", obj.GetKind(), withoutBody(err))
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.String(), nil
}

// PodImages returns the references that the pods of live objects pull, as the objects name them, of those
// that make pods or are some.
func (c *Client) PodImages(ctx context.Context, objects []object.Ref) (map[object.Key][]string, error) {
	var workloads []object.Ref
	for _, ref := range objects {
		if _, ok := podTemplates[schema.GroupKind{Group: ref.Group(), Kind: ref.Kind}]; ok {
			workloads = append(workloads, ref)
		}
	}
	if len(workloads) == 0 {
		return nil, nil
	}
	live, err := c.fetch(ctx, workloads, extent{bodies: true})
	if err != nil {
		return nil, err
	}
	out := map[object.Key][]string{}
	for key, obj := range live {
		var seen []string
		read := Pods{Image: func(reference string) (string, error) {
			seen = append(seen, reference)
			return reference, nil
		}}
		template := at(obj.Object, podTemplates[obj.GroupVersionKind().GroupKind()])
		if err := read.images(at(template, []string{"spec"}), map[string]any{}); err != nil {
			return nil, fmt.Errorf("reading the images of %s %q: %w", obj.GetKind(), obj.GetName(), err)
		}
		out[key] = seen
	}
	return out, nil
}
