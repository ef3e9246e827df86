package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// rename puts the package under the name that it is to be deployed as. Everything that goes by the
// package's name goes by that: the record, the releases of manifests, labels.
func (d *deployment) rename() {
	if d.ReleaseName == "" || d.ReleaseName == d.definition.Metadata.Name {
		return
	}
	d.originalName = d.definition.Metadata.Name
	d.definition.Metadata.Name = d.ReleaseName
	d.secrets.allow(d.ReleaseName, d.originalName)
	d.say(event.Info, "select", fmt.Sprintf("package %q is deployed as %q", d.originalName, d.ReleaseName))
}

// checkReleaseName refuses what cannot name a package: it ends the name of a Secret and is the value
// of a label.
func checkReleaseName(name string) error {
	switch {
	case name == "":
		return nil
	case len(name) > maxNameLength:
		return fmt.Errorf("--release-name has %d characters, and a record can hold %d", len(name), maxNameLength)
	case !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`).MatchString(name):
		return fmt.Errorf("--release-name %q is no name of a package: lower-case letters, digits and hyphens, no hyphen first or last", name)
	}
	return nil
}

// identity is what tells the package from others of its name.
func (d *deployment) identity() state.Identity {
	return state.Identity{OriginalName: d.originalName, Repository: repository(d.pkg.Source()), Signer: d.pkg.Signer()}
}

// conflicts are the collisions of a plan as plugins see them.
func conflicts(p plan.Plan) []hook.Conflict {
	out := make([]hook.Conflict, len(p.Collisions))
	for i, c := range p.Collisions {
		out[i] = hook.Conflict{
			ID: c.ID, Kind: string(c.Kind), Verdict: hook.Verdict(c.Verdict), Likeness: string(c.Likeness),
			Message: c.Message, Remedy: c.Remedy, Evidence: c.Evidence, Accepted: c.Accepted,
		}
	}
	return out
}

// judged translates the plugins' verdicts on collisions into the plan's words.
func judged(o hook.Outcome) []plan.Judgement {
	var out []plan.Judgement
	for _, c := range o.Collisions {
		out = append(out, plan.Judgement{ID: c.ID, Verdict: plan.Severity(c.Verdict), Plugin: c.Plugin, Message: c.Message})
	}
	return out
}

// tellAccepted says which collisions the deployment goes on with.
func (d *deployment) tellAccepted(p plan.Plan) {
	for _, c := range p.Accepted() {
		d.say(event.Warn, "collision", fmt.Sprintf("accepted %s: %s", c.ID, c.Message))
	}
}

// acceptances are what the record keeps of the accepted collisions.
func acceptances(p plan.Plan, user string) []state.Acceptance {
	var out []state.Acceptance
	for _, c := range p.Accepted() {
		i := slices.IndexFunc(out, func(a state.Acceptance) bool { return a.Kind == string(c.Kind) })
		if i < 0 {
			i = len(out)
			out = append(out, state.Acceptance{Kind: string(c.Kind), By: user})
		}
		out[i].Count++
		if len(out[i].IDs) < state.MaxAcceptedIDs {
			out[i].IDs = append(out[i].IDs, c.ID)
		}
	}
	return out
}

// acceptFlag is how plugins see which kinds of collisions are accepted.
func acceptFlag(kinds []plan.CollisionKind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ",")
}
