package chart

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/object"
)

// Document is one object of a rendered or stored manifest.
type Document struct {
	object.Ref
	Labels      map[string]string
	Annotations map[string]string
	// Body is the object as YAML. It may hold secrets: it is for comparing, never for showing. It
	// is absent from the revisions of a History that are not deployed.
	Body []byte
	// KnownAfterApply says why the object cannot be known before it is applied (a function in its
	// template, or two renders that differ); empty where it can.
	KnownAfterApply string
}

// Keep reports whether the object asks to be kept (helm.sh/resource-policy: keep).
func (d Document) Keep() bool { return object.AsksToBeKept(d.Annotations) }

// String names the object, so that no print of a Document shows its body.
func (d Document) String() string { return d.Ref.String() }

// GoString is String.
func (d Document) GoString() string { return d.String() }

func isHook(annotations map[string]string) bool {
	_, ok := annotations[release.HookAnnotation]
	return ok
}

// piece is one YAML document of a manifest with the template that it came from.
type piece struct {
	source string
	text   string
}

const sourceComment = "# Source: "

// split cuts a manifest into documents as Helm does.
func split(manifest string) []piece {
	docs := releaseutil.SplitManifests(manifest)
	keys := make([]string, 0, len(docs))
	for key := range docs {
		keys = append(keys, key)
	}
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	pieces := make([]piece, 0, len(keys))
	for _, key := range keys {
		p := piece{text: docs[key]}
		if rest, ok := strings.CutPrefix(p.text, sourceComment); ok {
			p.source, p.text, _ = strings.Cut(rest, "\n")
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// join is the manifest that Helm stores of documents.
func join(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString("---\n")
		if p.source != "" {
			b.WriteString(sourceComment + p.source + "\n")
		}
		b.WriteString(strings.TrimSuffix(p.text, "\n") + "\n")
	}
	return b.String()
}

// parse reads the objects of one document: none for an empty one, several for a List.
func (p piece) parse() ([]*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON([]byte(p.text))
	if err != nil {
		return nil, fmt.Errorf("parsing a document of %s: %w", p.from(), err)
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil, nil
	}
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("parsing a document of %s: it is no object: %w", p.from(), err)
	}
	if len(content) == 0 {
		return nil, nil
	}
	return flatten(&unstructured.Unstructured{Object: content}, p.from())
}

// maxListDepth bounds Lists within Lists.
const maxListDepth = 8

func flatten(obj *unstructured.Unstructured, from string) ([]*unstructured.Unstructured, error) {
	return flattenTo(nil, obj, from, 0)
}

func flattenTo(out []*unstructured.Unstructured, obj *unstructured.Unstructured, from string, depth int) ([]*unstructured.Unstructured, error) {
	if kind, _ := obj.Object["kind"].(string); kind == "" {
		return nil, fmt.Errorf("a document of %s has no kind", from)
	}
	items, ok := obj.Object["items"].([]any)
	if !ok || !strings.HasSuffix(obj.GetKind(), "List") {
		if obj.GetName() == "" && obj.GetGenerateName() == "" {
			return nil, fmt.Errorf("a %s of %s has no name", obj.GetKind(), from)
		}
		if err := textMetadata(obj); err != nil {
			return nil, fmt.Errorf("%s %q of %s: %w", obj.GetKind(), obj.GetName(), from, err)
		}
		return append(out, obj), nil
	}
	if depth == maxListDepth {
		return nil, fmt.Errorf("a %s of %s is nested too deeply", obj.GetKind(), from)
	}
	var err error
	for _, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a %s of %s has an item that is no object", obj.GetKind(), from)
		}
		if out, err = flattenTo(out, &unstructured.Unstructured{Object: content}, from, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// textMetadata makes sure that labels and annotations are what the accessors can read; they return
// nothing where one value is no text, and whoever then adds a label drops all others. A null is the
// empty text to the API server.
func textMetadata(obj *unstructured.Unstructured) error {
	for _, field := range []string{"labels", "annotations"} {
		values, found, err := unstructured.NestedFieldNoCopy(obj.Object, "metadata", field)
		if err != nil || !found || values == nil {
			continue
		}
		texts, ok := values.(map[string]any)
		if !ok {
			return fmt.Errorf("its %s are no map", field)
		}
		for key, value := range texts {
			switch value.(type) {
			case string:
			case nil:
				texts[key] = ""
			default:
				return fmt.Errorf("the value of %q in its %s must be text: quote it", key, field)
			}
		}
	}
	return nil
}

func (p piece) from() string {
	if p.source == "" {
		return "the manifest"
	}
	return p.source
}

// parseAll reads every object of a manifest.
func parseAll(manifest string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, p := range split(manifest) {
		objs, err := p.parse()
		if err != nil {
			return nil, err
		}
		all = append(all, objs...)
	}
	return all, nil
}

// scoper tells whether objects of a kind have a namespace.
type scoper func(gvk schema.GroupVersionKind) (namespaced bool, err error)

// reference names an object, with the namespace that it will have when it is applied in one.
func reference(obj *unstructured.Unstructured, namespace string, scope scoper) (object.Ref, error) {
	ref := object.Ref{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName()}
	namespaced, err := scope(obj.GroupVersionKind())
	if err != nil {
		return ref, fmt.Errorf("finding out whether %s has a namespace: %w", ref, err)
	}
	if namespaced {
		if ref.Namespace = obj.GetNamespace(); ref.Namespace == "" {
			ref.Namespace = namespace
		}
	}
	return ref, nil
}

// document describes an object of a manifest that is applied in a namespace.
func document(obj *unstructured.Unstructured, namespace string, scope scoper) (Document, error) {
	ref, err := reference(obj, namespace, scope)
	if err != nil {
		return Document{}, err
	}
	body, err := yaml.Marshal(obj.Object)
	if err != nil {
		return Document{}, fmt.Errorf("writing %s as YAML: %w", ref, withoutBody(err))
	}
	return Document{Ref: ref, Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(), Body: body}, nil
}

// withoutBody drops what a marshaller says, since it may quote a Secret.
func withoutBody(error) error { return errors.New("the object cannot be marshalled") }

// documents describes every object of a manifest.
func documents(manifest, namespace string, scope scoper) ([]Document, error) {
	objs, err := parseAll(manifest)
	if err != nil {
		return nil, err
	}
	docs := make([]Document, 0, len(objs))
	for _, obj := range objs {
		d, err := document(obj, namespace, scope)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

func refs(docs []Document) []object.Ref {
	out := make([]object.Ref, len(docs))
	for i, d := range docs {
		out[i] = d.Ref
	}
	return out
}

// keySet makes a set of references.
func keySet(refs []object.Ref) map[object.Key]bool {
	set := make(map[object.Key]bool, len(refs))
	for _, r := range refs {
		set[r.Key()] = true
	}
	return set
}

func sortedRefs(refs []object.Ref) []object.Ref {
	out := slices.Clone(refs)
	slices.SortFunc(out, object.Ref.Compare)
	return out
}

// clusterScoped are the built-in kinds without a namespace, for rendering without a cluster.
func clusterScoped(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		return gk.Kind == "Namespace" || gk.Kind == "Node" || gk.Kind == "PersistentVolume" || gk.Kind == "ComponentStatus"
	case "rbac.authorization.k8s.io":
		return strings.HasPrefix(gk.Kind, "Cluster")
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "scheduling.k8s.io",
		"node.k8s.io", "flowcontrol.apiserver.k8s.io":
		return true
	case "storage.k8s.io":
		return gk.Kind != "CSIStorageCapacity"
	case "certificates.k8s.io":
		return gk.Kind == "CertificateSigningRequest" || gk.Kind == "ClusterTrustBundle"
	case "networking.k8s.io":
		return gk.Kind == "IngressClass" || gk.Kind == "IPAddress" || gk.Kind == "ServiceCIDR"
	}
	return false
}
