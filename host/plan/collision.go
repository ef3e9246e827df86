package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/object"
)

// CollisionKind says what a deployment runs into (SPEC 7).
type CollisionKind string

// The kinds of a collision.
const (
	CollidesName    CollisionKind = "package-name"  // a package of this name is deployed that may be another one
	CollidesVersion CollisionKind = "downgrade"     // a later version of the package is deployed
	CollidesFlavor  CollisionKind = "flavor-change" // another flavor of the package is deployed
	CollidesRelease CollisionKind = "release-name"  // a Helm release of that name is somebody else's
	CollidesObject  CollisionKind = "object"        // an object is another release's, or nobody's
)

// CollisionKinds returns all of them, in the order in which a plan lists them.
func CollisionKinds() []CollisionKind {
	return []CollisionKind{CollidesName, CollidesVersion, CollidesFlavor, CollidesRelease, CollidesObject}
}

// ParseCollisionKinds reads the kinds that are accepted. One that does not exist is an error that
// names it and those that do.
func ParseCollisionKinds(words []string) ([]CollisionKind, error) {
	var out []CollisionKind
	for _, word := range words {
		kind := CollisionKind(strings.TrimSpace(word))
		if !slices.Contains(CollisionKinds(), kind) {
			return nil, fmt.Errorf("there is no collision of kind %q: the kinds are %s", word, joinKinds(CollisionKinds()))
		}
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out, nil
}

func joinKinds(kinds []CollisionKind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

// Collision is one thing of others that the deployment would touch, or a sign that the package is not
// the one that is deployed under its name.
type Collision struct {
	// ID names the collision, the same for the same collision in every plan: its kind, then what it is
	// about, such as object/v1/ConfigMap/shop/settings.
	ID   string        `json:"id"`
	Kind CollisionKind `json:"kind"`
	// Verdict is what counts: the built-in one, Allow once it is accepted, or that of the plugins that
	// judged the collision.
	Verdict Severity `json:"verdict"`
	// Likeness is that of the two packages, where Kind is package-name.
	Likeness Likeness `json:"likeness,omitempty"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Accepted is true where the operator accepts collisions of the kind.
	Accepted bool `json:"accepted,omitempty"`
	// Plugin is the one whose verdict counts, empty where none judged the collision; Answer is what it
	// said.
	Plugin string `json:"plugin,omitempty"`
	Answer string `json:"answer,omitempty"`
}

// Judgement is what plugins think of one collision.
type Judgement struct {
	ID      string
	Verdict Severity
	Plugin  string
	Message string
}

// WithJudged returns the plan with the plugins' verdicts on its collisions. A judgement on one that
// the plan does not have counts for nothing: what it judged is not there.
func (p Plan) WithJudged(judgements ...Judgement) Plan {
	if len(judgements) == 0 {
		return p
	}
	p.Collisions = slices.Clone(p.Collisions)
	for _, j := range judgements {
		for i := range p.Collisions {
			if c := &p.Collisions[i]; c.ID == j.ID {
				c.Verdict, c.Plugin, c.Answer = j.Verdict, j.Plugin, j.Message
			}
		}
	}
	return finish(p)
}

// Judged returns what plugins said about the collisions, so that the same can be said of a newer plan.
func (p Plan) Judged() []Judgement {
	var out []Judgement
	for _, c := range p.Collisions {
		if c.Plugin != "" {
			out = append(out, Judgement{ID: c.ID, Verdict: c.Verdict, Plugin: c.Plugin, Message: c.Answer})
		}
	}
	return out
}

// Accepted returns the collisions that go on because the operator accepts them.
func (p Plan) Accepted() []Collision {
	return slices.DeleteFunc(slices.Clone(p.Collisions), func(c Collision) bool { return !c.Accepted || c.Verdict == Deny })
}

// finding is a collision as a verdict about the plan.
func (c Collision) finding() Finding {
	f := Finding{Severity: c.Verdict, Rule: string(c.Kind), Message: c.Message, Remedy: c.Remedy}
	if c.Plugin != "" {
		f.Message = fmt.Sprintf("%s (collision %s, denied by plugin %q: %s)", c.Message, c.ID, c.Plugin, c.Answer)
	}
	return f
}

// collide adds a collision with its built-in verdict, unless the operator accepts its kind.
func (d *deployment) collide(c Collision) {
	if slices.Contains(d.Accept, c.Kind) && c.Verdict != Allow {
		c.Accepted, c.Verdict = true, Allow
	}
	d.p.Collisions = append(d.p.Collisions, c)
}

// releaseCollision is about a release that exists and is not this package's.
func (d *deployment) releaseCollision(w Wanted, has ReleaseFacts) {
	remedy := "deploy with --namespace into another namespace, or remove that release first; --accept-collision=release-name takes it over"
	if d.Package.OriginalName != "" {
		remedy = fmt.Sprintf("--release-name does not change the release names of charts: deploy with --namespace too, so that chart %q is installed elsewhere; "+
			"--accept-collision=release-name takes the release over", w.Chart)
	}
	d.collide(Collision{
		ID: "release-name/" + w.Release.String(), Kind: CollidesRelease, Verdict: Deny,
		Message: fmt.Sprintf("release %s exists and belongs to %s", w.Release, has.Owner()),
		Remedy:  remedy, Evidence: d.releaseEvidence(w.Release, has),
	})
}

// objectCollision is about an object that a release renders and somebody else has. Whoever lets it
// pass lets the release take the object over.
func (d *deployment) objectCollision(w Wanted, live object.Live) {
	c := Collision{
		ID: objectID(live.Ref), Kind: CollidesObject, Verdict: Deny,
		Message: fmt.Sprintf("%s, which release %s renders, exists and belongs to %s", live.Ref, w.Release, ownerOf(live)),
		Remedy:  "deploy with --take-ownership, or remove the object first",
	}
	if component, stays := d.staysWith(live.Owner); stays {
		c.Message += fmt.Sprintf(" of component %q, which still has it and is not selected", component)
		c.Remedy = fmt.Sprintf("deploy component %q in the same run", component)
	}
	if live.Package != "" {
		c.Evidence = append(c.Evidence, fmt.Sprintf("it is labelled as package %q", live.Package))
	}
	d.collide(c)
}

func ownerOf(live object.Live) string {
	if live.Owner == (object.Release{}) {
		return "nothing that Helm manages"
	}
	return "release " + live.Owner.String()
}

// objectID is readable, and has the group and version as the cluster serves the object.
func objectID(ref object.Ref) string {
	parts := []string{"object", ref.APIVersion, ref.Kind, ref.Namespace, ref.Name}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}
