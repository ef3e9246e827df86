package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/state"
)

// Phase says in one word how a deployed package is.
func Phase(d host.Deployed) string {
	latest, known := d.Record.LatestEvent()
	switch {
	case d.Err != nil:
		return "unreadable"
	case !known:
		return fromComponents(d.Record)
	case d.Interrupted:
		return "interrupted"
	case latest.Outcome == state.InProgress && latest.Type == state.Remove:
		return "removing"
	case latest.Outcome == state.InProgress:
		return "deploying"
	default:
		return strings.ToLower(string(latest.Outcome))
	}
}

// fromComponents judges a record without events by its components, the worst first.
func fromComponents(p state.Package) string {
	for _, s := range []state.Status{state.StatusFailed, state.StatusDeploying, state.StatusRemoving} {
		for _, c := range p.DeployedComponents {
			if c.Status == s {
				return strings.ToLower(string(s))
			}
		}
	}
	return "succeeded"
}

// List writes one line a package.
func List(w io.Writer, deployed []host.Deployed) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "PACKAGE\tNAMESPACE OVERRIDE\tVERSION\tSTATUS\tCONNECTIVITY\tGENERATION\tCOMPONENTS\tLAST EVENT\tDIGEST")
	for _, d := range deployed {
		p := d.Record
		name := p.Name
		if d.Err != nil {
			name = d.Secret
		}
		var components []string
		for _, c := range p.DeployedComponents {
			name := c.Name
			if v := Differs(d, c.Name); v != "" {
				name += "@" + v
			}
			components = append(components, name)
		}
		last := "unknown"
		if e, ok := p.LatestEvent(); ok {
			last = fmt.Sprintf("%s %s %s", e.Type, e.Outcome, moment(e.Timestamp))
		}
		row(t, name, p.NamespaceOverride, p.Data.Metadata.Version, Phase(d), string(p.Connectivity), strconv.Itoa(p.Generation),
			strings.Join(components, ","), last, short(p.Digest))
	}
	return t.Flush()
}

// row writes one line of a table; its writer remembers what went wrong until it is flushed.
func row(t *tabwriter.Writer, cells ...string) {
	for i, c := range cells {
		cells[i] = Line(c)
	}
	_, _ = fmt.Fprintln(t, strings.Join(cells, "\t"))
}

// Differs returns the version of the package that a component runs from where it is not the
// recorded one, and its digest where only that differs.
func Differs(d host.Deployed, component string) string {
	v, digest := d.Runs(component)
	switch {
	case digest == "" || digest == d.Record.Digest:
		return ""
	case v != "" && v != d.Record.Data.Metadata.Version:
		return v
	}
	return short(digest)
}

// moment writes a time, which may be unknown.
func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown time"
	}
	return t.UTC().Format(time.RFC3339)
}

// Names writes the names of the packages, one a line; one with a namespace override as namespace/name.
func Names(w io.Writer, deployed []host.Deployed) error {
	for _, d := range deployed {
		if d.Err != nil {
			continue
		}
		name := d.Record.Name
		if ns := d.Record.NamespaceOverride; ns != "" {
			name = ns + "/" + name
		}
		if _, err := fmt.Fprintln(w, Line(name)); err != nil {
			return err
		}
	}
	return nil
}

// Status writes all that is known of one package but its configuration.
func Status(w io.Writer, s host.Status) error {
	p := s.Record
	t := &tree{w: w}
	t.line(0, "package %s %s: %s", p.Name, version(p.Data.Metadata.Version), Phase(s.Deployed))
	if p.NamespaceOverride != "" {
		t.line(1, "in namespace %s", p.NamespaceOverride)
	}
	t.line(1, "digest %s, generation %d, %s", p.Digest, p.Generation, p.Connectivity)
	if s.Holder != "" {
		t.line(1, "at work: %s", s.Holder)
	}
	if s.Interrupted {
		t.line(1, "the last operation never ended, and nobody is at work: run the same command again to go on")
	}
	if name := s.Own.Identity.OriginalName; name != "" {
		t.line(1, "called %s in the package", name)
	}
	t.line(1, "events:")
	if len(p.Events) == 0 {
		t.line(2, "none: Zarf, or a program before there were events, wrote this record last")
	}
	for _, e := range p.Events {
		source := ""
		if e.Source != "" {
			source = " from " + e.Source
		}
		t.line(2, "%s  %-6s  %-10s  %s%s", moment(e.Timestamp), e.Type, e.Outcome, version(e.Version), source)
	}
	t.line(1, "components:")
	for _, c := range p.DeployedComponents {
		runs := ""
		if v := Differs(s.Deployed, c.Name); v != "" {
			runs = ", runs " + v
		}
		t.line(2, "%s: %s%s", c.Name, componentStatus(c), runs)
		for _, r := range s.Releases {
			if r.Component != c.Name {
				continue
			}
			orphaned := ""
			if r.Orphaned {
				orphaned = ", orphaned: the package has it no more, and a deployment with --prune=cluster-resources uninstalls it"
			}
			if r.Owner != "" {
				orphaned += ", belongs to " + r.Owner
			}
			if !r.Exists {
				t.line(3, "release %s: not there%s", r.Release, orphaned)
				continue
			}
			t.line(3, "release %s: %s, revision %d, chart %s %s%s", r.Release, r.Status, r.Revision, r.Chart, r.Version, orphaned)
		}
	}
	t.remembered(s)
	return t.err
}

// componentStatus says how a component is. An attempt that was cancelled leaves the status as it was,
// and where there was none before, as it was while the attempt was under way.
func componentStatus(c state.Component) string {
	attempt := strings.ToLower(string(c.LastEvent.Type))
	switch {
	case c.LastEvent.Outcome != state.Cancelled:
		return string(c.Status)
	case c.Status == state.StatusDeploying || c.Status == state.StatusRemoving:
		return string(state.Cancelled)
	default:
		return fmt.Sprintf("%s, the last attempt to %s it was cancelled", c.Status, attempt)
	}
}

// remembered writes what only zarf-host knows of a package.
func (t *tree) remembered(s host.Status) {
	for _, u := range s.Unconfirmed {
		is := "it is not there as this package's, and does not count"
		if c, ok := s.Record.Component(u.Component); ok {
			if _, confirmed := c.Chart(u.Release); confirmed {
				is = "it is there and counts"
			}
		}
		t.line(1, "unconfirmed: release %s of component %s, which Zarf's record forgot: %s", u.Release, u.Component, is)
	}
	for _, a := range s.Own.Accepted {
		t.line(1, "accepted: %d collisions of kind %s, by %s", a.Count, a.Kind, a.By)
	}
	for _, k := range s.Own.Kept {
		t.line(1, "kept: %s of release %s", k.Ref, k.Release)
	}
	if n := len(s.Own.Pushed); n > 0 {
		t.line(1, "images in the registry: %d references", n)
	}
	for _, note := range s.Notes {
		t.line(1, "note: %s", note)
	}
}

// History writes one line an attempt, the newest first.
func History(w io.Writer, events []state.PackageEvent) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "TIME\tTYPE\tOUTCOME\tVERSION\tFLAVOR\tDIGEST\tSOURCE")
	for _, e := range slices.Backward(events) {
		row(t, moment(e.Timestamp), string(e.Type), string(e.Outcome), e.Version, e.Flavor, short(e.Digest), e.Source)
	}
	return t.Flush()
}

// Result writes what an operation came to, in one line and a few more where there is more to say.
func Result(w io.Writer, r host.Result) error {
	t := &tree{w: w}
	done := r.Applied
	t.line(0, "%s of %s: %s", r.Plan.Operation, title(r.Plan.Package), strings.ToLower(string(done.Outcome)))
	for _, c := range done.Components {
		t.line(1, "component %s: %s", c.Name, ended(c))
	}
	for _, k := range done.Kept {
		t.line(1, "kept %s", k)
	}
	for _, i := range done.Images {
		switch i.Outcome {
		case apply.ImageKept:
			t.line(1, "image %s: kept: %s", i.Reference, i.Reason)
		case apply.ImageFailed:
			t.line(1, "image %s: failed: %v", i.Reference, i.Err)
		default:
			t.line(1, "image %s: %s", i.Reference, i.Outcome)
		}
	}
	if t.err == nil {
		t.err = Outcomes(w, after(r.Outcomes))
	}
	if !r.Recorded {
		t.line(1, "no component needs a cluster, so no record was left")
	}
	return t.err
}

// ended says what became of a component: that it was removed, if it was meant to go and went.
func ended(c apply.ComponentResult) string {
	switch outcome := strings.ToLower(string(c.Outcome)); {
	case !c.Pruned:
		return outcome
	case c.Outcome == state.Succeeded:
		return "removed"
	default:
		return "removal " + outcome
	}
}

// after returns what plugins said once everything was done; the rest was shown with the plan.
func after(outcomes []hook.Outcome) []hook.Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o hook.Outcome) bool {
		return o.Hook != hook.PostDeploy && o.Hook != hook.PostRemove
	})
}

// Rebuilt writes a record that was made up.
func Rebuilt(w io.Writer, r host.Rebuilt) error {
	p := r.Record
	t := &tree{w: w}
	t.line(0, "record of package %s %s, made up of its releases", p.Name, version(p.Data.Metadata.Version))
	if p.NamespaceOverride != "" {
		t.line(1, "in namespace %s", p.NamespaceOverride)
	}
	for _, c := range p.DeployedComponents {
		t.line(1, "+ component %s: %s", c.Name, c.Status)
		for _, chart := range c.InstalledCharts {
			t.line(2, "+ release %s: %s", chart.Release(), chart.Status)
		}
	}
	for _, note := range r.Notes {
		t.line(1, "note: %s", note)
	}
	return t.err
}
