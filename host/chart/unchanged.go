package chart

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/object"
)

// Unchanged reports whether applying w would change nothing: the newest revision is deployed from
// an equal chart with equal values, its manifest is equal to r, and every object lives, belongs to
// the release and has everything that the manifest asks for. When in doubt it answers false.
func (c *Client) Unchanged(ctx context.Context, w Wanted, r Rendered, h History) (bool, error) {
	latest, ok := h.Latest()
	if !ok || latest.Status != string(release.StatusDeployed) || len(h.ObjectsSinceDeployed()) != len(latest.Objects) {
		return false, nil
	}
	ch, err := w.load()
	if err != nil {
		return false, err
	}
	// Helm stores a chart as its dependencies left it, without those that are switched off.
	values := map[string]any{}
	merge(values, w.Values)
	if err := chartutil.ProcessDependenciesWithMerge(ch, values); err != nil {
		return false, fmt.Errorf("processing the chart's dependencies: %w", err)
	}
	content, err := contentDigest(ch, w.Values, w.Generated != nil)
	if err != nil {
		return false, err
	}
	if content != latest.content || !equalDocuments(r.Objects, latest.Objects) {
		return false, nil
	}
	live, err := c.fetch(ctx, refs(r.Objects), managedBodies)
	if err != nil {
		return false, err
	}
	for _, d := range r.Objects {
		has, ok := live[d.Key()]
		if !ok || has.GetDeletionTimestamp() != nil || owner(has.GetLabels(), has.GetAnnotations()) != h.Release {
			return false, nil
		}
		wants, err := d.object()
		if err != nil {
			return false, err
		}
		if !covers(has, wants) {
			return false, nil
		}
	}
	return true, nil
}

func (d Document) object() (*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON(d.Body)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", d.Ref, withoutBody(err))
	}
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("parsing %s: %w", d.Ref, withoutBody(err))
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// equalDocuments reports whether two manifests hold the same objects, in whatever order.
func equalDocuments(a, b []Document) bool {
	if len(a) != len(b) {
		return false
	}
	bodies := make(map[object.Ref][]byte, len(b))
	for _, d := range b {
		bodies[d.Ref] = d.Body
	}
	for _, d := range a {
		// Both are marshalled by this package, with sorted keys.
		body, ok := bodies[d.Ref]
		if !ok || !bytes.Equal(bytes.TrimSpace(body), bytes.TrimSpace(d.Body)) {
			return false
		}
	}
	return true
}

// generatedBy reports whether a stored chart carries plain manifests, by Zarf's names for those.
func generatedBy(ch *helmchart.Chart) bool {
	return ch != nil && ch.Metadata != nil &&
		strings.HasPrefix(ch.Metadata.Name, "raw-") && strings.HasPrefix(ch.Metadata.Version, "0.1.")
}

// contentDigest is the digest of what a release was made from, as far as Helm stores it: charts
// that a chart depends on are not stored, but what they render is. A generated chart's version
// holds the time of its deployment and Zarf's names for its templates a temporary folder; neither
// is content.
func contentDigest(ch *helmchart.Chart, values map[string]any, generated bool) (string, error) {
	if ch == nil {
		return "", nil
	}
	type file struct {
		Name string
		Data []byte
	}
	content := struct {
		Metadata  helmchart.Metadata
		Templates []file
		Files     []file
		Defaults  json.RawMessage
		Schema    []byte
		Values    json.RawMessage
	}{Schema: ch.Schema}
	if ch.Metadata != nil {
		content.Metadata = *ch.Metadata
	}
	files := func(in []*helmchart.File) []file {
		var out []file
		for _, f := range in {
			out = append(out, file{Name: f.Name, Data: f.Data})
		}
		slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.Name, b.Name) })
		return out
	}
	content.Templates, content.Files = files(ch.Templates), files(ch.Files)
	if generated {
		content.Metadata.Version = ""
		content.Templates = nil
		for _, f := range ch.Templates {
			content.Templates = append(content.Templates, file{Data: f.Data})
		}
	}
	var err error
	if content.Defaults, err = plainJSON(ch.Values); err == nil {
		content.Values, err = plainJSON(values)
	}
	if err != nil {
		return "", fmt.Errorf("digesting the values of chart %q: %w", content.Metadata.Name, err)
	}
	data, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("digesting chart %q: %w", content.Metadata.Name, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// plainJSON marshals values with every number as a decoder of stored releases would write it.
func plainJSON(values map[string]any) (json.RawMessage, error) {
	if len(values) == 0 {
		return json.RawMessage("{}"), nil
	}
	data, err := json.Marshal(values)
	if err != nil {
		return nil, withoutBody(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		return nil, withoutBody(err)
	}
	if data, err = json.Marshal(plain); err != nil {
		return nil, withoutBody(err)
	}
	return data, nil
}

// covers reports whether a live object has all that is wanted of it.
func covers(live, wants *unstructured.Unstructured) bool {
	wanted := wants.Object
	if wants.GetKind() == "Secret" && wants.GetAPIVersion() == "v1" {
		wanted = encodeStringData(wanted)
	}
	for key, value := range wanted {
		if key == "status" {
			continue
		}
		if key == "metadata" {
			if !covered(live.GetLabels(), wants.GetLabels()) || !covered(live.GetAnnotations(), wants.GetAnnotations()) {
				return false
			}
			continue
		}
		if !subset(value, live.Object[key]) {
			return false
		}
	}
	return true
}

func covered(live, wants map[string]string) bool {
	for name, value := range wants {
		// Helm's label replaces whatever the chart says of it.
		if has, ok := live[name]; name != labelManagedBy && (!ok || has != value) {
			return false
		}
	}
	return true
}

// encodeStringData moves what the API server moves when it stores a Secret.
func encodeStringData(secret map[string]any) map[string]any {
	text, ok := secret["stringData"].(map[string]any)
	if !ok {
		return secret
	}
	out := map[string]any{}
	for key, value := range secret {
		if key != "stringData" {
			out[key] = value
		}
	}
	data := map[string]any{}
	if has, ok := secret["data"].(map[string]any); ok {
		for key, value := range has {
			data[key] = value
		}
	}
	for key, value := range text {
		if s, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	out["data"] = data
	return out
}

// subset reports whether the live value has all that is wanted. Lists of named things (containers,
// ports, variables) may hold more, since webhooks add to them; other lists must have equal lengths.
func subset(wants, has any) bool {
	if has == nil && (wants == false || wants == "" || wants == int64(0)) {
		return true // the API server stores no zero values
	}
	switch w := wants.(type) {
	case nil:
		return true
	case map[string]any:
		h, ok := has.(map[string]any)
		if !ok {
			return len(w) == 0 && has == nil
		}
		for key, value := range w {
			if !subset(value, h[key]) {
				return false
			}
		}
		return true
	case []any:
		h, ok := has.([]any)
		if !ok {
			return len(w) == 0 && has == nil
		}
		return subsetList(w, h)
	case int64:
		switch h := has.(type) {
		case int64:
			return w == h
		case float64:
			return float64(w) == h
		}
		return false
	case float64:
		h, ok := has.(int64)
		return ok && w == float64(h) || reflect.DeepEqual(wants, has)
	default:
		return reflect.DeepEqual(wants, has)
	}
}

func subsetList(wants, has []any) bool {
	if byName, ok := named(has); ok {
		if _, ok := named(wants); ok {
			for _, w := range wants {
				if !subset(w, byName[w.(map[string]any)["name"].(string)]) {
					return false
				}
			}
			return true
		}
	}
	if len(wants) != len(has) {
		return false
	}
	for i := range wants {
		if !subset(wants[i], has[i]) {
			return false
		}
	}
	return true
}

// named indexes a list of maps by their names, if each has its own.
func named(list []any) (map[string]any, bool) {
	byName := make(map[string]any, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		name, ok := m["name"].(string)
		if !ok || byName[name] != nil {
			return nil, false
		}
		byName[name] = m
	}
	return byName, true
}
