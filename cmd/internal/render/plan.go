// Package render turns what the engine says into text: plans, records, progress. It is the only
// place that knows how things look to a person.
package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
)

// Plan writes a plan as a tree.
func Plan(w io.Writer, p plan.Plan) error {
	t := &tree{w: w}
	t.line(0, "%s %s", p.Operation, title(p.Package))
	if d := p.Deployed; d != nil {
		t.line(1, "deployed: %s, generation %d", version(d.Version), d.Generation)
	}
	if p.SameAsDeployed {
		t.line(1, "same package, configuration and selection as deployed last")
	}
	for _, r := range p.Recovery {
		t.line(1, "! recover release %s (revision %d is %s): %s", r.Release, r.Revision, r.Status, r.Action)
	}
	for _, c := range p.Components {
		t.component(p, c)
	}
	t.prune(p.Prune)
	t.config(p.Config)
	for _, pl := range p.Plugins {
		t.line(1, "plugin %s %s (%s)", pl.Name, pl.Version, short(pl.Digest))
	}
	for _, c := range p.Collisions {
		t.collision(c)
	}
	for _, f := range p.Findings {
		t.line(1, "%s %s: %s", f.Severity, f.Rule, f.Message)
	}
	for _, warning := range p.Warnings {
		t.line(1, "warning: %s", warning)
	}
	t.permissions(p.Permissions)
	t.line(1, "plan digest: %s", p.Digest)
	return t.err
}

// Outcomes writes what the plugins said.
func Outcomes(w io.Writer, outcomes []hook.Outcome) error {
	t := &tree{w: w}
	for _, o := range outcomes {
		if len(o.Findings)+len(o.Failures)+len(o.Keep)+len(o.Collisions) == 0 {
			continue
		}
		t.line(0, "%s: %s", o.Hook, o.Verdict)
		for _, f := range o.Failures {
			t.line(1, "%s: no answer (%s): %v", f.Plugin, f.Kind, f.Err)
		}
		for _, f := range o.Findings {
			where := ""
			if f.Object != nil {
				where = f.Object.String() + ": "
			}
			t.line(1, "%s: %s: %s%s", f.Plugin, f.Severity, where, f.Message)
			if f.Remedy != "" {
				t.line(2, "remedy: %s", f.Remedy)
			}
		}
		for _, c := range o.Collisions {
			t.line(1, "%s: %s on %s: %s", c.Plugin, c.Verdict, c.ID, c.Message)
		}
		for _, k := range o.Keep {
			t.line(1, "%s keeps %s: %s", k.Plugin, k.Target(), k.Reason)
		}
	}
	return t.err
}

// tree writes indented lines and remembers the first error.
type tree struct {
	w   io.Writer
	err error
}

func (t *tree) line(depth int, format string, args ...any) {
	if t.err != nil {
		return
	}
	indent := strings.Repeat("  ", depth)
	_, t.err = fmt.Fprintln(t.w, indent+Lines(fmt.Sprintf(format, args...), indent+margin))
}

// permissions lists what the user must be allowed to do, a line for each namespace.
func (t *tree) permissions(all []object.Permission) {
	for _, group := range object.GroupPermissions(all) {
		t.line(1, "needs %s: %s", group.Where, strings.Join(group.What, "; "))
	}
}

// config names keys of the configuration, those of one origin in a line, and never a value.
func (t *tree) config(c plan.ConfigChanges) {
	byOrigin := map[string][]string{}
	for key, origin := range c.Origins {
		byOrigin[origin] = append(byOrigin[origin], key)
	}
	for _, origin := range slices.Sorted(maps.Keys(byOrigin)) {
		slices.Sort(byOrigin[origin])
		t.line(1, "configuration from %s: %s", origin, strings.Join(byOrigin[origin], ", "))
	}
	if len(c.Changed) > 0 {
		t.line(1, "configuration changed: %s", strings.Join(c.Changed, ", "))
	}
}

func (t *tree) component(p plan.Plan, c plan.Component) {
	t.line(1, "%s component %s: %s%s", sign(c.Action), c.Name, c.Action, reason(c.Reason))
	for _, a := range c.Actions {
		t.line(2, "action %s: %s", a.When, a.Description)
	}
	for _, f := range c.Files {
		t.line(2, "file %s", f)
	}
	for _, img := range p.Images {
		if img.Component == c.Name {
			mark := map[plan.ImageAction]string{plan.ImagePush: "+", plan.ImagePresent: "="}[img.Action]
			t.line(2, "%s image %s: %s (%s)", mark, img.Reference, img.Action, size(img.Bytes))
		}
	}
	for _, r := range p.Releases {
		if r.Component == c.Name {
			t.release(r)
		}
	}
}

// size writes a number of bytes as people read it.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < len("KMGT")-1 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[prefix])
}

func (t *tree) release(r plan.Release) {
	mark := map[plan.ReleaseAction]string{plan.ReleaseInstall: "+", plan.ReleaseUpgrade: "~", plan.ReleaseUnchanged: "="}[r.Action]
	t.line(2, "%s release %s (chart %s): %s, %d objects added, %d there", mark, r.Release, r.Chart, r.Action, len(r.Added), len(r.Changed))
	for _, o := range r.Replaced {
		t.line(3, "%s is replaced, and goes from %s first: %s cannot be changed", o.Ref, o.From, strings.Join(o.Fields, ", "))
	}
	for _, m := range r.Moved {
		from := "nobody"
		if m.From != (object.Release{}) {
			from = "release " + m.From.String()
		}
		t.line(3, "%s changes owner, from %s", m.Ref, from)
	}
	for _, k := range r.KnownAfterApply {
		t.line(3, "known after apply: %s", k)
	}
	if r.CannotRender != "" {
		t.line(3, "known after apply: %s", r.CannotRender)
	}
}

// collision writes what the deployment runs into, what shows it, and what counts.
func (t *tree) collision(c plan.Collision) {
	how := string(c.Verdict)
	switch {
	case c.Plugin != "":
		how = fmt.Sprintf("%s by plugin %q", c.Verdict, c.Plugin)
	case c.Accepted:
		how = "accepted"
	case c.Verdict == plan.Allow:
		how = "note"
	}
	t.line(1, "collision %s (%s): %s", c.ID, how, c.Message)
	for _, e := range c.Evidence {
		t.line(2, "%s", e)
	}
}

func (t *tree) prune(p plan.Prune) {
	if !p.Empty() {
		what := fmt.Sprintf("%d releases, %d objects", len(p.Releases), len(p.Objects))
		if len(p.Images) > 0 {
			what += fmt.Sprintf(", %d references of images (%s)", len(p.Images), size(imageBytes(p.Images)))
		}
		t.line(1, "to be deleted: %s", what)
	}
	for _, r := range p.Releases {
		gone := ""
		if r.Missing {
			gone = " (gone already)"
		}
		t.line(2, "- release %s of component %s%s", r.Release, r.Component, gone)
	}
	for _, o := range p.Objects {
		data := ""
		if o.HoldsData {
			data = " [holds data]"
		}
		if o.DataLoss {
			data += " [data loss]"
		}
		t.line(2, "- %s of release %s%s", o.Ref, o.Release, data)
		for _, lost := range o.Lost {
			t.line(3, "- %s goes with it", lost)
		}
	}
	for _, i := range p.Images {
		t.image(i)
	}
	for _, r := range p.Forgotten {
		t.line(1, "forgotten: release %s of component %s, which belongs to %s", r.Release, r.Component, r.Owner)
	}
	if len(p.Kept) > 0 {
		t.line(1, "kept: %d", len(p.Kept))
	}
	for _, k := range p.Kept {
		subject := "component " + k.Component
		if k.Object != nil {
			subject = k.Object.String()
		} else if k.Release != nil {
			subject = "release " + k.Release.String()
		} else if k.Image != "" {
			subject = "image " + k.Image
		}
		t.line(2, "%s, by %s: %s", subject, k.By, k.Reason)
	}
}

func (t *tree) image(i plan.PruneImage) {
	var about []string
	if i.Missing {
		about = append(about, "gone already")
	} else {
		about = append(about, short(i.Digest), size(i.Bytes))
	}
	last := map[plan.PruneReason]string{
		plan.PruneDropped: "not in the package any more", plan.PruneComponent: "its component goes",
		plan.PruneRemove: "the package goes", plan.PruneLeft: "left by an earlier version",
	}[i.Reason]
	if i.Version != "" {
		last += ", last used by " + i.Version
	}
	t.line(2, "- image %s (%s): %s", i.Reference, strings.Join(about, ", "), last)
}

// imageBytes is what images take together, each counted once however many references it has.
func imageBytes(images []plan.PruneImage) (sum int64) {
	seen := map[string]bool{}
	for _, i := range images {
		if key := i.Repository() + "@" + i.Digest; !i.Missing && !seen[key] {
			seen[key] = true
			sum += i.Bytes
		}
	}
	return sum
}

func title(p plan.Package) string {
	s := p.Name + " " + version(p.Version)
	if p.OriginalName != "" {
		s += ", in the package " + p.OriginalName
	}
	if p.Flavor != "" {
		s += ", flavor " + p.Flavor
	}
	if p.NamespaceOverride != "" {
		s += ", in namespace " + p.NamespaceOverride
	}
	if p.Digest != "" {
		s += " (" + short(p.Digest) + ")"
	}
	return s
}

func version(v string) string {
	if v == "" {
		return "(no version)"
	}
	return v
}

func reason(r string) string {
	if r == "" {
		return ""
	}
	return " (" + r + ")"
}

func sign(a plan.ComponentAction) string {
	switch a {
	case plan.ComponentInstall:
		return "+"
	case plan.ComponentUpgrade:
		return "~"
	case plan.ComponentPrune, plan.ComponentRemove:
		return "-"
	default:
		return "="
	}
}

// short returns a digest as people compare it.
func short(digest string) string {
	const length = len("sha256:") + 12
	if len(digest) > length {
		return digest[:length]
	}
	return digest
}
