package state

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

// ours is a record that zarf-host wrote: components a and b of version 1, deployed successfully,
// and one attempt at version 2 that failed in b.
func ours(t *testing.T) (data, own []byte) {
	t.Helper()
	var r Record
	r.Package.Name, r.Package.CLIVersion, r.Package.Digest = "p", "v1+zarf-host", "sha256:1"
	deploy := func(version string, outcome EventOutcome, second int) {
		definition := definition("a", "b")
		definition.Metadata.Version = version
		r.Package = r.Package.Define(definition, "a", "b").
			Begin(PackageEvent{Type: Deploy, Version: version, Digest: "sha256:" + version, ConfigDigest: "sha256:c", Timestamp: at(second)}).
			BeginComponent("a", Deploy, at(second), r1).FinishComponent("a", Succeeded, at(second), "").
			SetChart("a", Chart{Namespace: r1.Namespace, Name: r1.Name, Status: StatusSucceeded}).
			BeginComponent("b", Deploy, at(second), r2, r3).FinishComponent("b", outcome, at(second), "").
			Finish(outcome, at(second+1), &DeployConfig{SetVariables: map[string]string{"A": "canary"}})
		r.Own = r.Own.Runs("a", From{Version: version, Digest: "sha256:" + version})
		if outcome == Succeeded {
			r.Own = r.Own.Runs("b", From{Version: version, Digest: "sha256:" + version})
		}
	}
	deploy("1", Succeeded, 1)
	deploy("2", Failed, 3)
	data, own, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data, own
}

// rewritten is data as Zarf writes it: without the fields that it does not know.
func rewritten(t *testing.T, data []byte, change func(*Package)) []byte {
	t.Helper()
	var p Package
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	p.Events, p.DeployConfig = nil, nil
	for i := range p.DeployedComponents {
		p.DeployedComponents[i].LastEvent = ComponentEvent{}
	}
	change(&p)
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func zarfDeploys(components ...string) func(*Package) {
	return func(p *Package) {
		p.CLIVersion, p.Digest, p.Generation = "v0.84.0", "sha256:z", p.Generation+2
		p.Data = spec.Package{}
		p.Data.Metadata.Name, p.Data.Metadata.Version = "p", "3"
		p.DeployedComponents = nil
		for _, name := range components {
			p.Data.Components = append(p.Data.Components, spec.Component{Name: name})
			p.DeployedComponents = append(p.DeployedComponents, Component{
				Name: name, Status: StatusSucceeded, ObservedGeneration: p.Generation,
			})
		}
	}
}

// What we wrote stays, whoever rewrites the record without what he does not know.
func TestMergedAfterZarf_N3(t *testing.T) {
	tests := map[string]struct {
		zarf        func(*Package)
		event       PackageEvent
		unconfirmed []Unconfirmed
		runs        map[string]string
	}{
		"deployed one of two": {
			zarf:        zarfDeploys("b"),
			event:       PackageEvent{Type: Deploy, Outcome: Succeeded, Timestamp: at(9), Version: "3", Digest: "sha256:z"},
			unconfirmed: []Unconfirmed{{"a", r1}, {"b", r2}, {"b", r3}},
			runs:        map[string]string{"a": "2", "b": "3"},
		},
		"failed": {
			zarf: func(p *Package) {
				zarfDeploys("a", "b")(p)
				p.DeployedComponents[1].Status = StatusFailed
				p.DeployedComponents[0].InstalledCharts = []Chart{{Namespace: r1.Namespace, Name: r1.Name}}
			},
			event:       PackageEvent{Type: Deploy, Outcome: Failed, Timestamp: at(9), Version: "3", Digest: "sha256:z"},
			unconfirmed: []Unconfirmed{{"b", r2}, {"b", r3}},
			runs:        map[string]string{"a": "3", "b": "1"},
		},
		"is still at it": {
			zarf: func(p *Package) {
				zarfDeploys("a")(p)
				p.DeployedComponents[0].Status = StatusDeploying
			},
			event:       PackageEvent{Type: Deploy, Outcome: InProgress, Timestamp: at(9), Version: "3", Digest: "sha256:z"},
			unconfirmed: []Unconfirmed{{"a", r1}, {"b", r2}, {"b", r3}},
			runs:        map[string]string{"a": "2", "b": "1"},
		},
		"removed a component": {
			zarf:        func(p *Package) { p.DeployedComponents = p.DeployedComponents[:1] },
			event:       PackageEvent{Type: Remove, Outcome: Succeeded, Timestamp: at(9), Version: "2", Digest: "sha256:1"},
			unconfirmed: []Unconfirmed{{"b", r2}, {"b", r3}},
			runs:        map[string]string{"a": "2", "b": "1"},
		},
		"failed to remove a component": {
			zarf: func(p *Package) {
				p.DeployedComponents[1].InstalledCharts = p.DeployedComponents[1].InstalledCharts[:1]
			},
			event:       PackageEvent{Type: Remove, Outcome: Failed, Timestamp: at(9), Version: "2", Digest: "sha256:1"},
			unconfirmed: []Unconfirmed{{"b", r3}},
			runs:        map[string]string{"a": "2", "b": "1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data, own := ours(t)
			read, err := Decode(rewritten(t, data, test.zarf), own)
			if err != nil {
				t.Fatal(err)
			}
			merged := read.Merged(at(9))
			var events []string
			for _, e := range merged.Package.Events {
				events = append(events, fmt.Sprint(e.Version, e.Outcome))
			}
			if got := strings.Join(events, " "); !strings.HasPrefix(got, "1Succeeded 2Failed ") || len(events) != 3 {
				t.Errorf("events %s", got)
			}
			latest, _ := merged.Package.LatestEvent()
			if diff := cmp.Diff(test.event, latest); diff != "" {
				t.Errorf("event of Zarf's (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.unconfirmed, merged.Unconfirmed); diff != "" {
				t.Errorf("unconfirmed (-want +got):\n%s", diff)
			}
			runs := map[string]string{}
			for _, c := range merged.Own.Components {
				runs[c.Name] = c.Version
			}
			if diff := cmp.Diff(test.runs, runs); diff != "" {
				t.Errorf("what runs (-want +got):\n%s", diff)
			}
			if merged.Package.DeployConfig != nil || merged.Package.ConfigUnknown() == "" {
				t.Error("the configuration counts as known")
			}
			if len(merged.Notes) != 1 {
				t.Errorf("notes: %q", merged.Notes)
			}
			// The first write makes it our record again.
			again := merged.Confirm(r2)
			again.Package = again.Package.Begin(PackageEvent{Type: Deploy, Timestamp: at(10)})
			data, own, err = again.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if read, err = Decode(data, own); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read.Package.Events, read.Own.Events); diff != "" {
				t.Errorf("events and their copy:\n%s", diff)
			}
			if again := read.Merged(at(11)); len(again.Package.Events) != len(read.Package.Events) || again.Unconfirmed != nil {
				t.Error("a record that we wrote is merged again")
			}
			b, _ := read.Package.Component("b")
			if _, ok := b.Chart(r2); !ok {
				t.Errorf("the confirmed release is forgotten: %+v", b)
			}
			if _, ok := b.Chart(r3); ok && len(test.unconfirmed) > 1 {
				t.Errorf("a release that is not there counts: %+v", b)
			}
		})
	}
}

func TestNothingToMerge(t *testing.T) {
	data, own := ours(t)
	read, err := Decode(data, own)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]Record{
		"never ours":    {Package: deployed()},
		"ours":          read,
		"older own":     {Package: deployed(), Own: Own{}.SetRevision(r1, 3)},
		"nothing there": {},
	} {
		before, _ := json.Marshal(r.Package)
		after, _ := json.Marshal(r.Merged(at(9)).Package)
		if string(before) != string(after) {
			t.Errorf("%s: %s became %s", name, before, after)
		}
	}
}

func TestConfirmedComponentIsWhatItWas(t *testing.T) {
	data, own := ours(t)
	read, err := Decode(rewritten(t, data, zarfDeploys("a")), own)
	if err != nil {
		t.Fatal(err)
	}
	b, ok := read.Merged(at(9)).Confirm(r3).Package.Component("b")
	if !ok || b.Status != StatusFailed || b.LastEvent.Outcome != Failed || len(b.InstalledCharts) != 1 || b.InstalledCharts[0].Release() != r3 {
		t.Errorf("%+v", b)
	}
	if _, ok := read.Merged(at(9)).Confirm().Package.Component("b"); ok {
		t.Error("a component counts of which nothing is there")
	}
}

func TestConfigUnknown_G2(t *testing.T) {
	config := &DeployConfig{}
	event := func(outcome EventOutcome, digest string) PackageEvent {
		return PackageEvent{Type: Deploy, Outcome: outcome, Version: "1", ConfigDigest: digest}
	}
	tests := map[string]struct {
		p    Package
		want string
	}{
		"known":                 {Package{Events: []PackageEvent{event(Succeeded, "x")}, DeployConfig: config}, ""},
		"known, then failed":    {Package{Events: []PackageEvent{event(Succeeded, "x"), event(Failed, "y")}, DeployConfig: config}, ""},
		"no events":             {Package{DeployConfig: config}, "did not record"},
		"never succeeded":       {Package{Events: []PackageEvent{event(Failed, "x")}}, "ever succeeded"},
		"Zarf's":                {Package{Events: []PackageEvent{event(Succeeded, "x"), event(Succeeded, "")}, DeployConfig: config}, "was Zarf's"},
		"lost by somebody else": {Package{Events: []PackageEvent{event(Succeeded, "x")}}, "another program"},
	}
	for name, test := range tests {
		got := test.p.ConfigUnknown()
		if got != "" != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPushed(t *testing.T) {
	var o Own
	o = o.Push(PushedImage{Reference: "b", Version: "1"}, PushedImage{Reference: "a", Version: "1"})
	next := o.Push(PushedImage{Reference: "b", Digest: "d", Version: "2"}, PushedImage{Reference: "c", Version: "2"})
	want := []PushedImage{{Reference: "a", Version: "1"}, {Reference: "b", Digest: "d", Version: "2"}, {Reference: "c", Version: "2"}}
	if diff := cmp.Diff(want, next.Pushed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(o.Pushed) != 2 || o.Pushed[1].Version != "1" {
		t.Errorf("the old value changed: %+v", o.Pushed)
	}
	// Images that differ in their hosts alone share the plain tag, which the last one gets.
	if twice := o.Push(PushedImage{Reference: "s", Digest: "1"}, PushedImage{Reference: "s", Digest: "2"}); len(twice.Pushed) != 3 || twice.Pushed[2].Digest != "2" {
		t.Errorf("of two under one reference: %+v", twice.Pushed)
	}
	if left := next.Unpush("b", "x"); len(left.Pushed) != 2 || len(next.Pushed) != 3 {
		t.Errorf("left: %+v", left.Pushed)
	}
}

func TestOwnShowsNoConfiguration(t *testing.T) {
	_, own := ours(t)
	var o Own
	if err := json.Unmarshal(own, &o); err != nil {
		t.Fatal(err)
	}
	if o.DeployConfig == nil {
		t.Fatal("there is no configuration to hide")
	}
	shown, _ := json.Marshal(o.Public())
	texts := []string{string(shown), fmt.Sprintf("%v %+v %#v", o, o, o), o.LogValue().String()}
	for _, text := range texts {
		if strings.Contains(text, "canary") || strings.Contains(string(shown), "sha256:c") {
			t.Errorf("shown: %s", text)
		}
	}
}
