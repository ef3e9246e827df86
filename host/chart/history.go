package chart

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/zarf-host/zarf-host/host/object"
)

// Revision is one stored revision of a release.
type Revision struct {
	Number       int
	Status       string // Helm's word: deployed, failed, superseded, pending-upgrade, …
	Description  string
	ChartName    string
	ChartVersion string
	Objects      []Document // of the stored manifest, without hooks
	Package      string     // the value of zarf.dev/package on its objects, or empty
	Override     string     // the value of zarf.dev/namespace-override on the same, or empty

	hooks     []object.Ref // of the stored hooks
	uninstall []object.Ref // of those that an uninstall runs

	// content is the digest of chart and values, of a deployed revision only.
	content string
}

// History is what Helm has stored of a release, oldest revision first; no revisions means that
// there is no such release.
type History struct {
	Release   object.Release
	Revisions []Revision
}

// Exists reports whether the release has any revision.
func (h History) Exists() bool { return len(h.Revisions) > 0 }

// Latest returns the newest revision.
func (h History) Latest() (Revision, bool) {
	if len(h.Revisions) == 0 {
		return Revision{}, false
	}
	return h.Revisions[len(h.Revisions)-1], true
}

// Deployed returns the newest revision that is deployed.
func (h History) Deployed() (Revision, bool) {
	for _, r := range slices.Backward(h.Revisions) {
		if r.Status == string(release.StatusDeployed) {
			return r, true
		}
	}
	return Revision{}, false
}

// EverDeployed reports whether some revision is or was deployed.
func (h History) EverDeployed() bool {
	return slices.ContainsFunc(h.Revisions, func(r Revision) bool {
		return r.Status == string(release.StatusDeployed) || r.Status == string(release.StatusSuperseded)
	})
}

// Package returns the package that the release's objects are labelled with, as its newest labelled
// revision says, or empty.
func (h History) Package() string {
	for _, r := range slices.Backward(h.Revisions) {
		if r.Package != "" {
			return r.Package
		}
	}
	return ""
}

// Override returns the namespace that the package of Package was moved to, or empty.
func (h History) Override() string {
	for _, r := range slices.Backward(h.Revisions) {
		if r.Package != "" {
			return r.Override
		}
	}
	return ""
}

// ObjectsSinceDeployed returns the objects of the last deployed revision and of all later ones, the
// newest form of each: everything of the release that may be alive. Where the deployed revision is
// a rollback, the revisions that it rolled back over count too, and where it could not delete what
// earlier ones had, those: objects of theirs may be left. Where none is deployed, all count.
func (h History) ObjectsSinceDeployed() []Document {
	since := h.since()
	seen := map[object.Key]bool{}
	var docs []Document
	for _, r := range slices.Backward(h.Revisions) {
		if r.Number < since {
			break
		}
		for _, d := range r.Objects {
			if !seen[d.Key()] {
				seen[d.Key()] = true
				docs = append(docs, d)
			}
		}
	}
	return docs
}

// since returns the oldest revision whose objects may be alive.
func (h History) since() int {
	deployed, ok := h.Deployed()
	if !ok {
		return 0
	}
	if target, ok := number(deployed.Description, rollbackDescription); ok {
		return min(target+1, deployed.Number)
	}
	if first, ok := number(deployed.Description, leftoversDescription); ok {
		return min(first, deployed.Number)
	}
	return deployed.Number
}

const (
	// rollbackDescription begins what Helm says of a revision that a rollback made.
	rollbackDescription = "Rollback to "
	// leftoversDescription begins what we say of one that left objects behind.
	leftoversDescription = "Upgrade complete, objects could not be deleted of revision "
)

func number(description, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(description, prefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil
}

// History reads what Helm has stored of a release. A revision that cannot be decoded is an error:
// deciding without it could delete what it holds.
func (c *Client) History(ctx context.Context, r object.Release) (History, error) {
	stored, err := c.stored(ctx, r)
	if err != nil {
		return History{}, err
	}
	return history(r, stored, c.scope(ctx))
}

func history(r object.Release, stored []*release.Release, scope scoper) (History, error) {
	h := History{Release: r}
	for _, rel := range stored {
		rev, err := revision(rel, r.Namespace, scope)
		if err != nil {
			return History{}, fmt.Errorf("reading revision %d of release %q: %w", rel.Version, r, err)
		}
		h.Revisions = append(h.Revisions, rev)
	}
	return h, nil
}

func revision(rel *release.Release, namespace string, scope scoper) (Revision, error) {
	rev := Revision{Number: rel.Version, Status: rel.Info.Status.String(), Description: rel.Info.Description}
	if rel.Chart != nil && rel.Chart.Metadata != nil {
		rev.ChartName, rev.ChartVersion = rel.Chart.Metadata.Name, rel.Chart.Metadata.Version
	}
	docs, err := documents(rel.Manifest, namespace, scope)
	if err != nil {
		return rev, err
	}
	rev.Objects = docs
	if rev.hooks, err = hookRefs(rel, namespace, scope); err != nil {
		return rev, err
	}
	if rev.uninstall, err = uninstallHooks(rel, namespace, scope); err != nil {
		return rev, err
	}
	for i := range docs {
		if rev.Package == "" {
			rev.Package, rev.Override = docs[i].Labels[labelPackage], docs[i].Labels[labelOverride]
		}
		if rel.Info.Status != release.StatusDeployed {
			docs[i].Body = nil
		}
	}
	if rel.Info.Status == release.StatusDeployed {
		if rev.content, err = contentDigest(rel.Chart, rel.Config, generatedBy(rel.Chart)); err != nil {
			return rev, err
		}
	}
	return rev, nil
}

// stored returns the stored revisions of a release, oldest first.
func (c *Client) stored(ctx context.Context, r object.Release) ([]*release.Release, error) {
	if err := c.online(); err != nil {
		return nil, err
	}
	list, err := c.clients.CoreV1().Secrets(r.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{"owner": "helm", "name": r.Name}.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the revisions of release %q: %w", r, err)
	}
	var stored []*release.Release
	for i := range list.Items {
		rel, err := decodeSecret(&list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("decoding Secret %s/%s: %w", r.Namespace, list.Items[i].Name, err)
		}
		stored = append(stored, rel)
	}
	slices.SortFunc(stored, func(a, b *release.Release) int { return a.Version - b.Version })
	return stored, nil
}

func decodeSecret(secret *corev1.Secret) (*release.Release, error) {
	rel, err := decode(secret.Data["release"])
	if err != nil {
		return nil, err
	}
	// The storage driver writes the labels back on an update; those of its own it sets anew.
	rel.Labels = map[string]string{}
	for name, value := range secret.Labels {
		switch name {
		case "name", "owner", "status", "version", "createdAt", "modifiedAt":
		default:
			rel.Labels[name] = value
		}
	}
	return rel, nil
}

// maxRelease bounds a decompressed release: its Secret holds at most 1 MiB.
const maxRelease = 128 << 20

// decode reads a release as Helm 3 and 4 store it: JSON, compressed, in base64.
func decode(data []byte) (*release.Release, error) {
	plain := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(plain, data)
	if err != nil {
		return nil, fmt.Errorf("the release is not base64: %w", err)
	}
	plain = plain[:n]
	if bytes.HasPrefix(plain, []byte{0x1f, 0x8b}) {
		unzip, err := gzip.NewReader(bytes.NewReader(plain))
		if err != nil {
			return nil, fmt.Errorf("decompressing the release: %w", err)
		}
		if plain, err = io.ReadAll(io.LimitReader(unzip, maxRelease+1)); err != nil {
			return nil, fmt.Errorf("decompressing the release: %w", err)
		}
		if len(plain) > maxRelease {
			return nil, fmt.Errorf("the release is larger than %d bytes", maxRelease)
		}
	}
	var rel release.Release
	if err := json.Unmarshal(plain, &rel); err != nil {
		return nil, fmt.Errorf("the release is no valid JSON of one")
	}
	if rel.Name == "" || rel.Info == nil || rel.Version < 1 {
		return nil, fmt.Errorf("the release has no name, revision or status")
	}
	return &rel, nil
}
