package chart

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/state"
)

// The labels and annotations of Zarf and Helm.
const (
	labelPackage   = "zarf.dev/package"
	labelOverride  = "zarf.dev/namespace-override"
	labelAgent     = "zarf.dev/agent"
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedByHelm  = "Helm"
	managedByZarf  = "zarf"
	agentIgnore    = "ignore"
	agentMutate    = "mutate"

	annotationReleaseName      = "meta.helm.sh/release-name"
	annotationReleaseNamespace = "meta.helm.sh/release-namespace"

	labelConnectName             = "zarf.dev/connect-name"
	annotationConnectDescription = "zarf.dev/connect-description"
	annotationConnectURL         = "zarf.dev/connect-url"
)

// postRendered is a manifest as it will be applied, and what goes beside it.
type postRendered struct {
	pieces  []piece
	objects []*unstructured.Unstructured // those of pieces, in the same order
	// namespaces are the Namespace objects that were taken out, with Zarf's labels, and for every
	// other namespace that the release needs a bare one; by name.
	namespaces map[string]*unstructured.Unstructured
	taken      []string // the names of those that were taken out
	connect    state.ConnectStrings
}

// postRender turns a rendered manifest into what is applied: text templates filled, Lists taken
// apart, every object and pod template labelled, Namespaces taken out: Zarf makes them apart from
// the release, so that no uninstall takes a namespace with everything in it.
func postRender(w Wanted, manifest string) (postRendered, error) {
	out := postRendered{
		namespaces: map[string]*unstructured.Unstructured{},
		connect:    state.ConnectStrings{},
	}
	out.need(w.Release.Namespace)
	for _, p := range split(manifest) {
		filled, err := w.fill(p.text)
		if err != nil {
			return out, fmt.Errorf("filling the variables of %s: %w", p.from(), err)
		}
		p.text = filled
		objs, err := p.parse()
		if err != nil {
			return out, err
		}
		for _, obj := range objs {
			if obj.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
				addLabels(obj, zarfNamespaceLabels())
				out.namespaces[obj.GetName()] = obj
				out.taken = append(out.taken, obj.GetName())
				continue
			}
			if obj.GetKind() == "Service" {
				out.connectTo(obj)
			}
			out.need(obj.GetNamespace())
			w.label(obj)
			if err := w.Pods.rewrite(obj, w.Release.Namespace); err != nil {
				return out, fmt.Errorf("%s: %w", p.from(), err)
			}
			text, err := yaml.Marshal(obj.Object)
			if err != nil {
				return out, fmt.Errorf("writing a %s of %s as YAML: %w", obj.GetKind(), p.from(), withoutBody(err))
			}
			out.pieces = append(out.pieces, piece{source: p.source, text: string(text)})
			out.objects = append(out.objects, obj)
		}
	}
	return out, nil
}

func (w Wanted) fill(text string) (string, error) {
	if w.Fill == nil {
		return text, nil
	}
	filled, err := w.Fill([]byte(text))
	return string(filled), err
}

func (p postRendered) need(namespace string) {
	if namespace == "" || p.namespaces[namespace] != nil {
		return
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	ns.SetName(namespace)
	ns.SetLabels(zarfNamespaceLabels())
	p.namespaces[namespace] = ns
}

func (p postRendered) connectTo(service *unstructured.Unstructured) {
	name, ok := service.GetLabels()[labelConnectName]
	if !ok {
		return
	}
	annotations := service.GetAnnotations()
	p.connect[name] = state.ConnectString{
		Description: annotations[annotationConnectDescription],
		URL:         annotations[annotationConnectURL],
	}
}

func (p postRendered) namespaceNames() []string {
	names := make([]string, 0, len(p.namespaces))
	for name := range p.namespaces {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func zarfNamespaceLabels() map[string]string {
	return map[string]string{labelManagedBy: managedByZarf, labelAgent: agentMutate}
}

// labels are those that every object of the release gets.
func (w Wanted) labels() map[string]string {
	labels := map[string]string{}
	if w.Package != "" {
		labels[labelPackage] = w.Package
	}
	if w.NamespaceOverride != "" {
		labels[labelOverride] = w.NamespaceOverride
	}
	if w.IgnoreAgent {
		labels[labelAgent] = agentIgnore
	}
	return labels
}

func (w Wanted) label(obj *unstructured.Unstructured) {
	addLabels(obj, w.labels())
	// Only pod templates that have labels, as Zarf does.
	template, found, err := unstructured.NestedMap(obj.Object, "spec", "template", "metadata", "labels")
	if !found || err != nil {
		return
	}
	for name, value := range w.labels() {
		template[name] = value
	}
	// The path was just read as a map, so it can be set.
	_ = unstructured.SetNestedMap(obj.Object, template, "spec", "template", "metadata", "labels")
}

func addLabels(obj *unstructured.Unstructured, add map[string]string) {
	if len(add) == 0 {
		return
	}
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for name, value := range add {
		labels[name] = value
	}
	obj.SetLabels(labels)
}

// fillHook fills the text templates of a hook and sets the images of its pods: hooks are handed to no post-renderer by Helm 3. Helm 4's
// releases are stored with filled hooks, so ours are too: an uninstall has no variables any more.
func (w Wanted) fillHook(manifest string) (string, error) {
	if strings.Contains(manifest, "###ZARF_") {
		var err error
		if manifest, err = w.fill(manifest); err != nil {
			return "", err
		}
	}
	return w.rewriteHook(manifest)
}
