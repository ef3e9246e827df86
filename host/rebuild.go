package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// RebuildOptions say which record was lost.
type RebuildOptions struct {
	Common
	// Name is that of the package, Namespace the one that it was deployed into instead of its own.
	Name, Namespace string
	// Source is the package as it is deployed, if it is at hand: it tells which component each
	// release belongs to, and what its onRemove actions are.
	Source string
	// Connected says that the package was deployed without pushing its images.
	Connected bool
	// Review is shown the record before it is written, and may say no; nil means yes.
	Review func(ctx context.Context, r Rebuilt) (bool, error)
}

// Rebuilt is a record made up of what is in the cluster.
type Rebuilt struct {
	Record state.Package
	// OriginalName is the name in the package, where it was deployed under another one; empty otherwise,
	// and where Source was not given.
	OriginalName string
	// Notes say what could not be known.
	Notes []string
	// Written is false where it was only shown.
	Written bool
}

// Rebuild makes up the lost record of a package from the releases in the cluster that carry its
// label. It has no events, as one of Zarf's, since what was deployed is not known: not the
// configuration, and the definition only if Source gives it. A record that exists is never touched.
func Rebuild(ctx context.Context, o RebuildOptions) (Rebuilt, error) {
	o.Common = o.defaulted()
	conn, err := cluster.Connect(ctx, o.Cluster)
	if err != nil {
		return Rebuilt{}, err
	}
	charts, err := chartClient(conn, o.Common)
	if err != nil {
		return Rebuilt{}, err
	}
	definition, original, digest, err := o.definition(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	record, err := o.lost(ctx, conn, charts)
	if err != nil {
		return Rebuilt{}, err
	}
	found, unreadable, err := charts.Find(ctx, o.Name, o.Namespace)
	if err != nil {
		return Rebuilt{}, err
	}
	if len(found) == 0 {
		return Rebuilt{}, &NotDeployedError{Name: o.Name, Namespace: o.Namespace}
	}
	if original != o.Name && o.Source != "" && !installs(o.Name, definition, found) {
		return Rebuilt{}, &PreflightError{Problems: []string{fmt.Sprintf(
			"package %q of %q is not what is deployed as %q: it brings none of the releases that carry that name (%s)",
			original, o.Source, o.Name, releasesOf(found))}}
	}
	out := rebuild(record.Package, definition, found)
	if original != o.Name {
		out.OriginalName = original
	}
	out.Record.Digest, out.Record.CLIVersion = digest, o.cliVersion()
	out.Record.Connectivity = state.Airgap
	if o.Connected || definition.Metadata.YOLO {
		out.Record.Connectivity = state.Connected
	}
	for _, name := range unreadable {
		out.Notes = append(out.Notes, fmt.Sprintf("%s cannot be read, and may be a release of this package", name))
	}
	if o.Review != nil {
		if yes, err := o.Review(ctx, out); err != nil || !yes {
			return out, errorOr(err, o.DryRun)
		}
	}
	if o.DryRun {
		return out, nil
	}
	_, err = underLease(ctx, o.Common, conn, record.Secret(), func(ctx context.Context) (Result, error) {
		record, err := o.lost(ctx, conn, charts)
		if err != nil {
			return Result{}, err
		}
		record.Package, record.Own.Identity.OriginalName = out.Record, out.OriginalName
		record.Own.MadeUp = o.Source == ""
		_, err = conn.Records().Write(ctx, record)
		return Result{}, err
	})
	if err != nil {
		return out, err
	}
	o.say(event.Info, "record", fmt.Sprintf("wrote the record of package %q", o.Name))
	out.Written = true
	return out, nil
}

// errorOr is what a no means: nothing in a dry run.
func errorOr(err error, dryRun bool) error {
	if err == nil && !dryRun {
		return ErrDeclined
	}
	return err
}

// lost returns the place of a record that must not exist.
func (o RebuildOptions) lost(ctx context.Context, conn *cluster.Cluster, charts *chart.Client) (cluster.Record, error) {
	record, err := readRecord(ctx, conn, charts, o.Name, o.Namespace)
	if err != nil {
		return record, err
	}
	if record.Exists {
		return record, &PreflightError{Problems: []string{fmt.Sprintf(
			"package %q is on record in Secret %q, and nothing is to be rebuilt: deploy or remove it; if that record is not true, save and delete the Secret first",
			o.Name, record.Secret())}}
	}
	return record, nil
}

// definition reads the package that is deployed, if it was named.
func (o RebuildOptions) definition(ctx context.Context) (definition spec.Package, name, digest string, err error) {
	if o.Source == "" {
		return spec.Package{}, "", "", nil
	}
	pkg, err := Open(ctx, o.Source, o.openOptions())
	if err != nil {
		return spec.Package{}, "", "", err
	}
	defer func() { _ = pkg.Close() }() // only read from
	definition = differential.Whole(pkg.Definition())
	if o.Namespace != "" {
		if err := definition.OverrideNamespace(o.Namespace); err != nil {
			return spec.Package{}, "", "", fmt.Errorf("reading the package as one in namespace %q: %w", o.Namespace, err)
		}
	}
	name, definition.Metadata.Name = definition.Metadata.Name, o.Name
	return definition, name, pkg.Digest(), nil
}

// rebuild makes up a record from an empty one, a definition that may be empty, and the releases that
// were found.
func rebuild(empty state.Package, definition spec.Package, found []chart.History) Rebuilt {
	r := Rebuilt{Record: empty}
	r.Record.Generation = 1
	owners := expected(empty.Name, definition)
	given := len(definition.Components) > 0
	if given && len(found) > 0 && !installs(empty.Name, definition, found) {
		r.Notes = append(r.Notes, "the package brings none of the releases that are there: it may be another version of it, or another package")
	}
	for _, h := range inOrder(empty.Name, definition, found) {
		newest, _ := h.Latest()
		component, known := owners[h.Release]
		if !known {
			component = owner(empty.Name, newest, definition)
		}
		switch {
		case component == state.RecoveredComponent:
			r.Notes = append(r.Notes, fmt.Sprintf("release %s (chart %s): which component it belongs to is not known", h.Release, newest.ChartName))
		case given && !known:
			r.Notes = append(r.Notes, fmt.Sprintf("release %s is not in the package: component %q had it by its name", h.Release, component))
		}
		status := state.StatusSucceeded
		if newest.Status != "deployed" {
			status = state.StatusFailed
			r.Notes = append(r.Notes, fmt.Sprintf("release %s is %s", h.Release, newest.Status))
		}
		r.add(component, h.Release, status)
	}
	r.Record.Data = completed(empty.Name, definition, r.Record)
	r.Record = r.Record.Define(r.Record.Data, componentNames(r.Record)...)
	if !given {
		r.Notes = append(r.Notes, "without the package its version, its digest and its onRemove actions are not known: --from names it")
	}
	r.Notes = append(r.Notes, "components without a release, the configuration and kept objects are not known")
	return r
}

// add records a release of a component.
func (r *Rebuilt) add(component string, release object.Release, status state.Status) {
	if _, ok := r.Record.Component(component); !ok {
		r.Record.DeployedComponents = append(r.Record.DeployedComponents, state.Component{
			Name: component, Status: state.StatusSucceeded, ObservedGeneration: r.Record.Generation,
		})
	}
	r.Record = r.Record.SetChart(component, state.Chart{Namespace: release.Namespace, Name: release.Name, Status: status})
	if status != state.StatusSucceeded {
		i := slices.IndexFunc(r.Record.DeployedComponents, func(c state.Component) bool { return c.Name == component })
		r.Record.DeployedComponents[i].Status = status
	}
}

// installs reports whether a package brings any of the releases that were found.
func installs(name string, definition spec.Package, found []chart.History) bool {
	owners := expected(name, definition)
	return slices.ContainsFunc(found, func(h chart.History) bool { return owners[h.Release] != "" })
}

// inOrder returns the releases in the order in which the package installs them, others after them: a
// removal goes through what is on record from its end.
func inOrder(name string, definition spec.Package, found []chart.History) []chart.History {
	var order []object.Release
	for _, c := range definition.Components {
		order = append(order, installedBy(name, c)...)
	}
	at := func(h chart.History) int {
		if i := slices.Index(order, h.Release); i >= 0 {
			return i
		}
		return len(order)
	}
	out := slices.Clone(found)
	slices.SortStableFunc(out, func(a, b chart.History) int { return at(a) - at(b) })
	return out
}

func releasesOf(found []chart.History) string {
	names := make([]string, len(found))
	for i, h := range found {
		names[i] = h.Release.String()
	}
	return strings.Join(names, ", ")
}

// installedBy returns the releases that a component installs, in their order.
func installedBy(name string, c spec.Component) []object.Release {
	var out []object.Release
	for _, ch := range c.Charts {
		out = append(out, object.Release{Namespace: ch.Namespace, Name: chart.ReleaseName(ch)})
	}
	for _, m := range c.Manifests {
		out = append(out, chart.FromManifest(name, c.Name, m, nil, time.Time{}).Release)
	}
	return out
}

// expected returns which component of a definition installs each release.
func expected(name string, definition spec.Package) map[object.Release]string {
	out := map[object.Release]string{}
	for _, c := range definition.Components {
		for _, r := range installedBy(name, c) {
			out[r] = c.Name
		}
	}
	return out
}

// owner guesses the component of a release that no definition explains, where there is one guess
// only: the chart of a manifest is called after component and manifest, and both may have dashes.
func owner(name string, newest chart.Revision, definition spec.Package) string {
	rest, generated := newest.ManifestOf(name)
	if !generated {
		return state.RecoveredComponent
	}
	var fits []string
	for _, c := range definition.Components {
		if strings.HasPrefix(rest, c.Name+"-") {
			fits = append(fits, c.Name)
		}
	}
	switch {
	case len(fits) == 1:
		return fits[0]
	case len(fits) == 0 && strings.Count(rest, "-") == 1:
		component, _, _ := strings.Cut(rest, "-")
		return component
	}
	return state.RecoveredComponent
}

// completed is the definition that is recorded: the given one, with a component of nothing but a name for
// each that it lacks, since Zarf removes only what the record defines.
func completed(name string, definition spec.Package, record state.Package) spec.Package {
	if definition.Kind == "" {
		definition.Kind, definition.Metadata.Name = spec.KindPackage, name
	}
	definition.Components = slices.Clone(definition.Components)
	for _, has := range record.DeployedComponents {
		if !slices.ContainsFunc(definition.Components, func(c spec.Component) bool { return c.Name == has.Name }) {
			definition.Components = append(definition.Components, spec.Component{Name: has.Name})
		}
	}
	return definition
}

func componentNames(p state.Package) []string {
	out := make([]string, len(p.DeployedComponents))
	for i, c := range p.DeployedComponents {
		out[i] = c.Name
	}
	return out
}
