package chaos_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/state"
)

// A picture is all that matters of a cell, in lines that do not depend on the cell's name or the
// time: objects, releases and record, but not the events, which tell of the disturbance.
type picture struct {
	lines  []string
	events []string // type, outcome and version of each
	claim  string   // the UID of the claim, which holds data and must never be another one
}

func (c *cell) picture() picture {
	c.t.Helper()
	var p picture
	add := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		for _, manifest := range []string{"settings-flags", "settings-gone", "legacy-legacy"} {
			line = strings.ReplaceAll(line, manifestRelease(c.name, manifest), "MANIFEST-"+manifest)
		}
		p.lines = append(p.lines, strings.ReplaceAll(line, c.name, "NAME"))
	}
	c.objects(add, &p)
	c.releases(add)
	c.recorded(add, &p)
	_, err := c.cluster.Client().CoordinationV1().Leases(state.Namespace).Get(c.t.Context(), c.record(), meta.GetOptions{})
	if !errors.IsNotFound(err) {
		add("lease: still there (%v)", err)
	}
	slices.Sort(p.lines)
	return p
}

// manifestRelease is Zarf's name for the release of a manifest, given as COMPONENT-MANIFEST.
func manifestRelease(pkg, manifest string) string {
	sum := sha1.Sum([]byte("raw-" + pkg + "-" + manifest))
	return "zarf-" + hex.EncodeToString(sum[:])
}

// objects adds what lives, with its owner and content.
func (c *cell) objects(add func(string, ...any), p *picture) {
	c.t.Helper()
	api, ctx := c.cluster.Client(), c.t.Context()
	object := func(kind string, o meta.ObjectMeta, content string) {
		owner := ""
		if name := o.Annotations["meta.helm.sh/release-name"]; name != "" {
			owner = name
		}
		going := ""
		if o.DeletionTimestamp != nil {
			going = " (going)"
		}
		add("object: %s %s of release %q, package %q: %s%s", kind, o.Name, owner, o.Labels["zarf.dev/package"], content, going)
	}
	maps, err := api.CoreV1().ConfigMaps(c.name).List(ctx, meta.ListOptions{})
	c.check(err)
	for _, o := range maps.Items {
		if o.Name != "kube-root-ca.crt" {
			object("ConfigMap", o.ObjectMeta, fmt.Sprint(o.Data))
		}
	}
	claims, err := api.CoreV1().PersistentVolumeClaims(c.name).List(ctx, meta.ListOptions{})
	c.check(err)
	for _, o := range claims.Items {
		if o.DeletionTimestamp != nil {
			continue // its finalizer is the controllers' business
		}
		object("PersistentVolumeClaim", o.ObjectMeta, o.Spec.Resources.Requests.Storage().String())
		p.claim = string(o.UID)
	}
	deployments, err := api.AppsV1().Deployments(c.name).List(ctx, meta.ListOptions{})
	c.check(err)
	for _, o := range deployments.Items {
		object("Deployment", o.ObjectMeta, o.Spec.Template.Spec.Containers[0].Image)
	}
	jobs, err := api.BatchV1().Jobs(c.name).List(ctx, meta.ListOptions{})
	c.check(err)
	for _, o := range jobs.Items {
		object("Job", o.ObjectMeta, o.Spec.Template.Spec.Containers[0].Image)
	}
}

// releases adds, for each release, the status of its newest revision and how many are deployed.
func (c *cell) releases(add func(string, ...any)) {
	c.t.Helper()
	secrets, err := c.cluster.Client().CoreV1().Secrets(c.name).List(c.t.Context(), meta.ListOptions{LabelSelector: "owner=helm"})
	c.check(err)
	newest, at, deployed := map[string]string{}, map[string]int{}, map[string]int{}
	for _, s := range secrets.Items {
		name, status, number := s.Labels["name"], s.Labels["status"], 0
		if _, err := fmt.Sscan(s.Labels["version"], &number); err != nil {
			c.t.Errorf("revision %q of release %q: %v", s.Labels["version"], name, err)
		}
		if number > at[name] {
			newest[name], at[name] = status, number
		}
		if status == "deployed" {
			deployed[name]++
		}
	}
	for name, status := range newest {
		add("release: %s is %s, %d deployed revisions", name, status, deployed[name])
	}
}

// recorded adds what the record says.
func (c *cell) recorded(add func(string, ...any), p *picture) {
	c.t.Helper()
	record, ok := c.readRecord()
	if !ok {
		return
	}
	pkg := record.Package
	for _, e := range pkg.Events {
		p.events = append(p.events, fmt.Sprintf("%s %s %s", e.Type, e.Outcome, e.Version))
	}
	for i, component := range pkg.DeployedComponents {
		add("record: component %d is %s: %s, %s %s", i, component.Name, component.Status, component.LastEvent.Type, component.LastEvent.Outcome)
		for j, chart := range component.InstalledCharts {
			add("record: component %s has chart %d: %s is %s", component.Name, j, chart.Release(), chart.Status)
		}
	}
	for _, component := range pkg.Data.Components {
		add("record: definition of component %s", component.Name)
	}
	for _, chart := range record.Own.Charts {
		add("record: own key has chart %s/%s", chart.Namespace, chart.Name)
	}
	for _, kept := range record.Own.Kept {
		add("record: kept %s", kept.Ref)
	}
	config, err := json.Marshal(pkg.DeployConfig)
	c.check(err)
	add("record: version %s, config %s", pkg.Data.Metadata.Version, config)
}

func (c *cell) readRecord() (state.Record, bool) {
	c.t.Helper()
	secret, ok := c.recordSecret()
	if !ok {
		return state.Record{}, false
	}
	record, err := state.Decode(secret.Data[state.DataKey], secret.Data[state.OwnKey])
	if err != nil {
		c.t.Fatalf("reading the record: %v", err)
	}
	return record, true
}

func (c *cell) recordSecret() (*core.Secret, bool) {
	c.t.Helper()
	secret, err := c.cluster.Client().CoreV1().Secrets(state.Namespace).Get(c.t.Context(), c.record(), meta.GetOptions{})
	if errors.IsNotFound(err) {
		return nil, false
	}
	c.check(err)
	return secret, true
}

func (c *cell) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// same reports every line in which a cell differs from the undisturbed one.
func (p picture) same(c *cell, want picture) {
	c.t.Helper()
	var diff []string
	for _, line := range want.lines {
		if !slices.Contains(p.lines, line) {
			diff = append(diff, "- "+line)
		}
	}
	for _, line := range p.lines {
		if !slices.Contains(want.lines, line) {
			diff = append(diff, "+ "+line)
		}
	}
	if len(diff) > 0 {
		c.t.Errorf("the end is not that of an undisturbed run (-want +got):\n%s", strings.Join(diff, "\n"))
	}
}

// closed are the events of an attempt that was disturbed, as the next attempt leaves them.
func closed(events []string) []string {
	out := slices.Clone(events)
	if n := len(out); n > 0 {
		out[n-1] = strings.Replace(out[n-1], string(state.InProgress), string(state.Failed), 1)
	}
	return out
}
