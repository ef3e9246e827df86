package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// shelf stands in for a registry: an image whose name begins with "stuck" fails, with "held" is kept.
type shelf struct {
	*world
	err error // of the whole prune
}

func (s shelf) Prune(ctx context.Context, prune ImagePrune) ([]ImageResult, error) {
	var done []ImageResult
	for _, i := range slices.Concat(prune.Images, prune.Shared) {
		r := ImageResult{Reference: i.Reference, Outcome: ImageDeleted}
		switch {
		case strings.HasPrefix(i.Reference, "stuck"):
			r.Outcome, r.Err = ImageFailed, errBroken
		case strings.HasPrefix(i.Reference, "held"):
			r.Outcome, r.Reason = ImageKept, "it is held"
		}
		done = append(done, r)
	}
	if s.err != nil {
		return nil, s.err
	}
	err := s.do(ctx, "prune %d images", len(done))
	if err == nil && prune.Then != nil {
		err = prune.Then(ctx)
	}
	return done, err
}

// stocked adds images to a plan and to its record.
func stocked(p *plan.Plan, r *state.Record, references ...string) {
	for _, reference := range references {
		p.Prune.Images = append(p.Prune.Images, plan.PruneImage{Reference: reference})
		r.Own = r.Own.Push(state.PushedImage{Reference: reference})
	}
}

func pushed(r state.Record) string {
	var out []string
	for _, i := range r.Own.Pushed {
		out = append(out, i.Reference)
	}
	return strings.Join(out, " ")
}

// Images go when everything else went, and the record after them.
func TestRemoveImagesBeforeTheRecord(t *testing.T) {
	w := &world{t: t}
	m := removal(deployed())
	stocked(&m.Plan, &m.Record, "a", "held", "b")
	m.Inherited = []state.PushedImage{{Reference: "zarfs"}}
	e := w.engine()
	e.Images = shelf{world: w}
	result, err := e.Remove(t.Context(), m)
	if err != nil || result.Outcome != state.Succeeded || len(result.Images) != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
	if got := w.trace[len(w.trace)-3:]; !slices.Equal(got, []string{"prune 3 images", "record InProgress", "forget"}) {
		t.Errorf("the end is %q", got)
	}
	if got := pushed(w.saved); got != "held zarfs" {
		t.Errorf("on record before it goes: %s", got)
	}
}

// One that fails keeps the record, with what is left to do.
func TestRemoveKeepsTheRecordForImages_D2(t *testing.T) {
	w := &world{t: t}
	m := removal(deployed())
	stocked(&m.Plan, &m.Record, "a", "stuck", "b")
	e := w.engine()
	e.Images = shelf{world: w}
	result, err := e.Remove(t.Context(), m)
	var failed *ImagesError
	if !errors.As(err, &failed) || !errors.Is(err, errBroken) || failed.Of != 3 || result.Outcome != state.Failed {
		t.Fatalf("%v, %v", result.Outcome, err)
	}
	if latest, _ := w.saved.Package.LatestEvent(); w.deleted || pushed(w.saved) != "stuck" || latest.Outcome != state.Failed {
		t.Errorf("forgotten: %v, on record: %s, %s", w.deleted, pushed(w.saved), latest.Outcome)
	}
	// The next removal, without components, ends it.
	again := &world{t: t}
	next := Removal{Record: w.saved, Event: m.Event, Plan: plan.Plan{Prune: plan.Prune{Images: []plan.PruneImage{{Reference: "loose"}}}}}
	e = again.engine()
	e.Images = shelf{world: again}
	if _, err := e.Remove(t.Context(), next); err != nil || !again.deleted {
		t.Errorf("the repeat: %v, forgotten: %v", err, again.deleted)
	}
}

// A deployment prunes images last, never after something failed, and lists what it will push before.
func TestDeployPrunesImagesLast(t *testing.T) {
	w := &world{t: t}
	d := shop()
	d.Plan.Images = []plan.Image{{Target: "new-zarf-1", Plain: "new", Digest: "n"}, {Target: "own", Plain: "own", Identity: true}}
	d.Inherited = []state.PushedImage{{Reference: "zarfs"}, {Reference: "new", Digest: "old"}}
	stocked(&d.Plan, &d.Record, "a", "stuck")
	e := w.engine()
	e.Images = shelf{world: w}
	_, err := e.Deploy(t.Context(), d)
	if !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	if got := pushed(w.saved); got != "new new-zarf-1 stuck zarfs" || w.saved.Own.Pushed[0].Digest != "n" {
		t.Errorf("on record: %s, %+v", got, w.saved.Own.Pushed[0])
	}
	if at := slices.Index(w.trace, "prune 2 images"); at < slices.Index(w.trace, "install pg") {
		t.Errorf("pruned at %d: %q", at, w.trace)
	}

	w = &world{t: t, on: at("install pg", broken)}
	e = w.engine()
	e.Images = shelf{world: w}
	if _, err := e.Deploy(t.Context(), d); err == nil || slices.Contains(w.trace, "prune 2 images") {
		t.Errorf("pruned after a failure: %v", err)
	}
}

// What cannot even be looked at changes nothing on record.
func TestPruneOfImagesThatCannotBegin(t *testing.T) {
	w := &world{t: t}
	d := shop()
	stocked(&d.Plan, &d.Record, "a")
	e := w.engine()
	e.Images = shelf{w, errBroken}
	if _, err := e.Deploy(t.Context(), d); !errors.Is(err, errBroken) || pushed(w.saved) != "a" {
		t.Errorf("%v, on record: %s", err, pushed(w.saved))
	}
}

// What other packages had goes with the last of them, and no other prune looks before the record is gone:
// packages that go at once would keep each other's images for ever.
func TestRemoveSharedImagesWithTheLast(t *testing.T) {
	w := &world{t: t}
	m := removal(deployed())
	stocked(&m.Plan, &m.Record, "a")
	shared := plan.PruneImage{Reference: "reg.test/b:1"}
	m.Plan = m.Plan.WithImages([]plan.PruneImage{{Reference: "reg.test/a:1"}, shared}, nil, plan.ImageFacts{
		Registry: "reg.test", Neighbours: []plan.Neighbour{neighbour(t, "b:1")},
	})
	if got := m.Plan.Shared(); len(got) != 1 || got[0].Reference != shared.Reference {
		t.Fatalf("shared are %v", got)
	}
	e := w.engine()
	e.Images = shelf{world: w}
	result, err := e.Remove(t.Context(), m)
	if err != nil || result.Outcome != state.Succeeded {
		t.Fatalf("%+v, %v", result, err)
	}
	if got := w.trace[len(w.trace)-2:]; !slices.Equal(got, []string{"prune 2 images", "forget"}) {
		t.Errorf("the end is %q", got)
	}
}

func neighbour(t *testing.T, image string) plan.Neighbour {
	t.Helper()
	n, err := plan.NewNeighbour(state.Record{Package: state.Package{
		Name: "other", Data: spec.Package{Components: []spec.Component{{Name: "c", Images: []string{"reg.test/" + image}}}},
	}}, "reg.test")
	if err != nil {
		t.Fatal(err)
	}
	return n
}
