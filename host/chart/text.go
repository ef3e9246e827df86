package chart

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

// Text renders a release for somebody who wants to read it: the chart's CRDs, the Namespaces that are
// made beside the release, its objects in the order in which they are installed, each with the
// template that it comes from, and its hooks. It is one stream of YAML documents, and holds whatever
// the objects hold, secrets too.
func (c *Client) Text(ctx context.Context, w Wanted) (string, error) {
	r, err := c.render(ctx, w)
	if err != nil {
		return "", fmt.Errorf("rendering release %q: %w", w.Release, err)
	}
	var pieces []piece
	for _, crd := range r.chart.CRDObjects() {
		for _, p := range split(string(crd.File.Data)) {
			pieces = append(pieces, piece{source: crd.Filename, text: p.text})
		}
	}
	slices.Sort(r.result.taken)
	for _, name := range slices.Compact(r.result.taken) {
		text, err := yaml.Marshal(r.result.namespaces[name].Object)
		if err != nil {
			return "", fmt.Errorf("writing namespace %q as YAML: %w", name, withoutBody(err))
		}
		pieces = append(pieces, piece{text: string(text)})
	}
	pieces = append(pieces, r.result.pieces...)
	for _, h := range r.hooks {
		pieces = append(pieces, piece{source: h.Path, text: h.Manifest})
	}
	return join(pieces), nil
}
