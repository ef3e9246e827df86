package chart

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/object"
)

// findPage is how many stored revisions, of at most 1 MiB each, are read at once.
const findPage = 50

// Find returns the releases in the whole cluster whose objects are labelled with a package and a
// namespace override (empty: none), with their newest revision, sorted. Revisions that cannot be
// decoded are returned by the name of their Secret: they may be anybody's.
func (c *Client) Find(ctx context.Context, pkg, override string) (found []History, unreadable []string, err error) {
	if err := c.online(); err != nil {
		return nil, nil, err
	}
	newest := map[object.Release]*release.Release{}
	options := metav1.ListOptions{LabelSelector: "owner=helm,status!=superseded", Limit: findPage}
	for {
		page, err := c.clients.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, nil, fmt.Errorf("listing the Helm releases of the cluster: %w", err)
		}
		for i := range page.Items {
			secret := &page.Items[i]
			rel, err := decodeSecret(secret)
			if err != nil {
				unreadable = append(unreadable, secret.Namespace+"/"+secret.Name)
				continue
			}
			at := object.Release{Namespace: secret.Namespace, Name: rel.Name}
			if has := newest[at]; has == nil || has.Version < rel.Version {
				newest[at] = rel
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(newest), object.Release.Compare) {
		h, err := history(at, []*release.Release{newest[at]}, c.scope(ctx))
		if err != nil {
			unreadable = append(unreadable, at.String())
			continue
		}
		if h.Package() == pkg && h.Override() == override {
			found = append(found, h)
		}
	}
	return found, unreadable, nil
}

// ManifestOf returns what the name of a generated chart tells of the manifest that it was made of,
// "<component>-<manifest>", false for any other chart.
func (r Revision) ManifestOf(pkg string) (string, bool) {
	return strings.CutPrefix(r.ChartName, "raw-"+pkg+"-")
}
