package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// withImages is an upgrade of shop that brings images.
func withImages() Deployment {
	d := shop()
	d.Event.Version, d.Event.Digest = "2", "sha256:2"
	d.Record.Package.Data = spec.Package{Components: []spec.Component{{Name: "web", Description: "old"}}}
	d.Record.Package.DeployedComponents = []state.Component{{Name: "web", Status: state.StatusSucceeded}}
	d.Record.Own = d.Record.Own.Runs("web", state.From{Version: "1", Digest: "sha256:1"})
	d.Plan.Images = []plan.Image{
		{Component: "web", Target: "reg/a:1-zarf", Plain: "reg/a:1", Digest: "sha256:a", Bytes: 7},
		{Component: "web", Target: "reg/own:1", Plain: "reg/own:1", Digest: "sha256:b", Identity: true},
	}
	return d
}

// What is going to be pushed is on record while the definition still is the old one. An image whose
// host is the registry never is.
func TestPushedIsRecordedFirst(t *testing.T) {
	w := &world{t: t}
	w.on = func(string) error { return nil }
	var first state.Record
	e := w.engine()
	e.Recorder = savedFirst{w, &first}
	if _, err := e.Deploy(t.Context(), withImages()); err != nil {
		t.Fatal(err)
	}
	want := []state.PushedImage{
		{Reference: "reg/a:1", Digest: "sha256:a", Bytes: 7, Version: "2"},
		{Reference: "reg/a:1-zarf", Digest: "sha256:a", Bytes: 7, Version: "2"},
	}
	if diff := cmp.Diff(want, first.Own.Pushed); diff != "" {
		t.Errorf("pushed (-want +got):\n%s", diff)
	}
	if c, _ := first.Package.Definition("web"); c.Description != "old" || first.Package.Digest != "" {
		t.Errorf("the first record has the new definition already: %+v", c)
	}
	if w.saved.Package.Digest != "sha256:2" || len(w.saved.Own.Pushed) != 2 {
		t.Errorf("the last record: %+v", w.saved.Own.Pushed)
	}
}

type savedFirst struct {
	*world
	first *state.Record
}

func (s savedFirst) Save(ctx context.Context, record state.Record) error {
	if len(s.trace) == 0 {
		*s.first = record
	}
	return s.world.Save(ctx, record)
}

// The record says what runs, also when the upgrade to something else failed.
func TestWhatRuns_A2(t *testing.T) {
	tests := map[string]struct {
		fails string
		want  map[string]string
	}{
		"all succeeds":    {"", map[string]string{"web": "2 sha256:2", "db": "2 sha256:2"}},
		"web fails":       {"install front", map[string]string{"web": "1 sha256:1"}},
		"db fails":        {"install pg", map[string]string{"web": "2 sha256:2"}},
		"onSuccess fails": {"run success", map[string]string{"web": "1 sha256:1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t}
			if test.fails != "" {
				w.on = at(test.fails, broken)
			}
			if _, err := w.engine().Deploy(t.Context(), withImages()); test.fails != "" != errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, c := range w.saved.Own.Components {
				got[c.Name] = c.Version + " " + c.Digest
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if known := w.saved.Own.Deployment != nil; known != (test.fails == "") {
				t.Errorf("a selection to deploy again is recorded: %v", known)
			}
		})
	}
}

// A forecast is what comes, but for a few bytes of times and numbers, and never less.
func TestForecast_A17(t *testing.T) {
	d := withImages()
	d.Config = state.DeployConfig{SetVariables: map[string]string{"A": strings.Repeat("x", 5000)}}
	d.Record.Package.DeployConfig = &state.DeployConfig{SetVariables: map[string]string{"A": strings.Repeat("y", 9000)}}
	d.Record.Package = d.Record.Package.Begin(state.PackageEvent{Type: state.Deploy}).Finish(state.Failed, d.Event.Timestamp, nil)
	w := &world{t: t}
	largest := 0
	e := w.engine()
	e.Recorder = measured{w, &largest}
	d.Event.Timestamp = e.Now()
	if _, err := e.Deploy(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	forecast := 0
	for _, r := range Forecast(d) {
		forecast = max(forecast, size(t, r))
	}
	if forecast < largest || forecast > largest+300 {
		t.Errorf("forecast %d bytes, and the largest record has %d", forecast, largest)
	}
}

type measured struct {
	*world
	largest *int
}

func (m measured) Save(ctx context.Context, record state.Record) error {
	*m.largest = max(*m.largest, size(m.t, record))
	return m.world.Save(ctx, record)
}

func size(t *testing.T, r state.Record) int {
	t.Helper()
	n, _, err := r.Size()
	if err != nil {
		t.Fatal(err)
	}
	return n
}
