package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/zarf-host/zarf-host/host/object"
)

// begin starts a plan with what needs no decision.
func begin(op Operation, f Facts) Plan {
	p := Plan{
		APIVersion: APIVersion, Kind: Kind, Operation: op,
		Package: f.Package, Config: f.Config, Recovery: slices.Clone(f.Recovery),
		Warnings: slices.Clone(f.Warnings), Components: []Component{}, Images: slices.Clone(f.Images),
		Prune: Prune{Scopes: f.Scopes}, configDigest: f.ConfigDigest, basis: basisOf(f),
	}
	if f.Record != nil {
		_, events := f.Record.LatestEvent()
		p.Deployed = &Deployed{
			Version: f.Record.Data.Metadata.Version, Flavor: f.Record.Data.Build.Flavor,
			Digest: f.Record.Digest, Generation: f.Record.Generation, Events: events,
		}
	}
	return p
}

// finish sorts what has no order of its own and computes the digest.
func finish(p Plan) Plan {
	slices.SortStableFunc(p.Prune.Kept, func(a, b Kept) int {
		return compareKept(a, b)
	})
	p.Permissions = permissions(p)
	p.Digest = digest(p)
	return p
}

// digest covers what a person confirms: steps, releases, removed objects with their UIDs, collisions,
// denials and the configuration's digest. Bodies, warnings, recovery steps and labels are left out, so that
// equal facts give equal digests before and after an interrupted run was put right.
func digest(p Plan) string {
	type step struct {
		Name   string
		Action ComponentAction
	}
	type release struct {
		object.Release
		Component string
		Action    ReleaseAction
		Moved     []Move
	}
	type gone struct {
		object.Ref
		UID, Release string
	}
	type collided struct {
		ID       string
		Verdict  Severity
		Accepted bool
	}
	covered := struct {
		Operation Operation
		Package   Package
		Steps     []step
		Releases  []release
		Images    [][2]string // what ends up under which reference, whether it is there or not
		Pruned    []PruneRelease
		Gone      []gone
		Untagged  [][2]string // references that go, and what they are
		Kept      []Kept
		Forgotten []ForgottenRelease
		Collided  []collided
		Denials   []Finding
		Config    string
	}{Operation: p.Operation, Package: p.Package, Pruned: p.Prune.Releases, Kept: p.Prune.Kept, Denials: p.Refusals(), Forgotten: p.Prune.Forgotten, Config: p.configDigest}
	covered.Package.Source = "" // the same bytes from elsewhere are the same package
	for _, c := range p.Components {
		covered.Steps = append(covered.Steps, step{c.Name, c.Action})
	}
	for _, r := range p.Releases {
		covered.Releases = append(covered.Releases, release{r.Release, r.Component, r.Action, r.Moved})
	}
	for _, img := range p.Images {
		covered.Images = append(covered.Images, [2]string{img.Target, img.Digest})
	}
	for _, c := range p.Collisions {
		covered.Collided = append(covered.Collided, collided{c.ID, c.Verdict, c.Accepted})
	}
	for _, o := range p.Prune.Objects {
		covered.Gone = append(covered.Gone, gone{o.Ref, o.UID, o.Release})
	}
	for _, img := range p.Prune.Images {
		covered.Untagged = append(covered.Untagged, [2]string{img.Reference, img.Digest})
	}
	data, err := json.Marshal(covered)
	if err != nil {
		panic("plan: marshalling plain values: " + err.Error()) // strings and slices of them always marshal
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
