package host

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
)

// sized is a deployment whose largest record takes exactly n bytes.
func sized(t *testing.T, n int) apply.Deployment {
	t.Helper()
	d := apply.Deployment{
		Definition: spec.Package{Components: []spec.Component{{Name: "one"}}},
		Selected:   []string{"one"},
		Event:      state.PackageEvent{Type: state.Deploy, Version: "1", Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Plan:       plan.Plan{Releases: []plan.Release{{Release: object.Release{Namespace: "n", Name: "r"}, Component: "one"}}},
	}
	d.Record.Package.Name = "p"
	fill := n
	for range 2 { // the second time it is known what the rest takes
		d.Config.SetVariables = map[string]string{"A": strings.Repeat("x", fill)}
		if largest := measure(t, d); largest != n {
			fill -= largest - n
		}
	}
	d.Config.SetVariables = map[string]string{"A": strings.Repeat("x", fill)}
	if got := measure(t, d); got != n {
		t.Fatalf("the record takes %d bytes, want %d", got, n)
	}
	return d
}

func measure(t *testing.T, d apply.Deployment) int {
	t.Helper()
	largest := 0
	for _, r := range apply.Forecast(d) {
		n, _, err := r.Size()
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, n)
	}
	return largest
}

func TestSizeOfTheRecord_A17_N2(t *testing.T) {
	for n, fits := range map[int]bool{1_048_500: true, 1_048_576: true, 1_048_577: false, 1_200_000: false} {
		err := preflightRecord(sized(t, n))
		var failed *PreflightError
		if fits != (err == nil) || err != nil && !errors.As(err, &failed) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err == nil {
			continue
		}
		for _, want := range []string{"would take 1", "1048576", "the largest parts are the configuration 1"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%d bytes: %q is not in %v", n, want, err)
			}
		}
		if strings.Contains(err.Error(), "xxx") {
			t.Errorf("%d bytes: the configuration is in the error", n)
		}
	}
}

func TestRepository(t *testing.T) {
	for source, want := range map[string]string{
		"oci://reg.test/team/pkg:1.0.0":             "reg.test/team/pkg",
		"oci://reg.test:5000/pkg":                   "reg.test:5000/pkg",
		"oci://reg.test:5000/pkg:1@sha256:" + "abc": "reg.test:5000/pkg",
		"oci://reg.test/pkg@sha256:abc":             "reg.test/pkg",
		"pkg.tar.zst":                               "",
		"https://example.test/pkg.tar.zst":          "",
	} {
		if got := repository(source); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

func TestRedeployIsWhatWasDeployed(t *testing.T) {
	var r state.Record
	event := state.PackageEvent{Type: state.Deploy, Source: "there", Digest: "sha256:d", ConfigDigest: "sha256:c"}
	r.Package = r.Package.Begin(event).Finish(state.Succeeded, time.Time{}, &state.DeployConfig{})
	r.Own.Deployment = &state.Deployment{Components: []string{"a", "b"}, Connected: true}
	got, err := RedeployOptions{Name: "p", Namespace: "n"}.again(r)
	if err != nil {
		t.Fatal(err)
	}
	want := DeployOptions{
		Source: "there", Digest: "sha256:d", ReuseConfig: true, Connected: true, Components: "-*,a,b",
		Layers: []config.Layer{{Origin: config.OriginFlag, Config: state.DeployConfig{NamespaceOverride: "n"}}},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b state.DeployConfig) bool { return a.NamespaceOverride == b.NamespaceOverride })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	changed, err := RedeployOptions{Name: "p", Source: "here", AllowChangedSource: true}.again(r)
	if err != nil || changed.Source != "here" || changed.Digest != "" {
		t.Errorf("%+v, %v", changed, err)
	}
	for name, change := range map[string]func(*state.Record){
		"no selection":     func(r *state.Record) { r.Own.Deployment = nil },
		"no source":        func(r *state.Record) { r.Package.Events[0].Source = "" },
		"no configuration": func(r *state.Record) { r.Package.DeployConfig = nil },
		"no success":       func(r *state.Record) { r.Package.Events[0].Outcome = state.Failed },
	} {
		broken := r
		broken.Package.Events = []state.PackageEvent{r.Package.Events[0]}
		change(&broken)
		if _, err := (RedeployOptions{Name: "p"}).again(broken); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// found is a release as it is found in the cluster.
func found(namespace, name, chartName, status string) chart.History {
	return chart.History{
		Release:   object.Release{Namespace: namespace, Name: name},
		Revisions: []chart.Revision{{Number: 3, Status: status, ChartName: chartName}},
	}
}

func TestRebuild_F15(t *testing.T) {
	manifest := chart.ManifestReleaseName("p", "web-front", "m")
	definition := spec.Package{Kind: spec.KindPackage, Components: []spec.Component{
		{Name: "db", Charts: []spec.Chart{{Name: "pg", Namespace: "n", ReleaseName: "postgres"}}},
		{Name: "web-front", Manifests: []spec.Manifest{{Name: "m", Namespace: "n"}}},
		{Name: "never"},
	}}
	releases := []chart.History{
		found("n", "postgres", "pg", "deployed"),
		found("n", manifest, "raw-p-web-front-m", "failed"),
		found("n", "zarf-old", "raw-p-db-old-one", "deployed"),
		found("n", "zarf-plain", "raw-p-other-m", "deployed"),
		found("n", "stranger", "stranger", "pending-upgrade"),
	}
	tests := map[string]struct {
		definition spec.Package
		want       []string
	}{
		"with the package": {definition, []string{
			"db Succeeded: postgres zarf-old", "web-front Failed: " + manifest, "other Succeeded: zarf-plain", "recovered Failed: stranger",
		}},
		"charts in the order of the package": {spec.Package{Kind: spec.KindPackage, Components: []spec.Component{
			{Name: "all", Charts: []spec.Chart{
				{Name: "s", Namespace: "n", ReleaseName: "stranger"}, {Name: "z", Namespace: "n", ReleaseName: "zarf-plain"},
				{Name: "o", Namespace: "n", ReleaseName: "zarf-old"}, {Name: "pg", Namespace: "n", ReleaseName: "postgres"},
			}},
		}}, []string{"all Failed: stranger zarf-plain zarf-old postgres", "recovered Failed: " + manifest}},
		"without it": {spec.Package{}, []string{
			"recovered Failed: postgres " + manifest + " zarf-old stranger", "other Succeeded: zarf-plain",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := rebuild(state.Package{Name: "p"}, test.definition, releases)
			var lines []string
			for _, c := range got.Record.DeployedComponents {
				var names []string
				for _, ch := range c.InstalledCharts {
					names = append(names, ch.Name)
				}
				lines = append(lines, c.Name+" "+string(c.Status)+": "+strings.Join(names, " "))
				if _, ok := got.Record.Definition(c.Name); !ok {
					t.Errorf("component %q has no definition, so Zarf would not remove it", c.Name)
				}
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, ok := got.Record.Definition("never"); ok {
				t.Error("a component is on record of which nothing is there")
			}
			if got.Record.Data.Kind != spec.KindPackage || got.Record.Data.Metadata.Name == "" && name == "without it" {
				t.Errorf("the definition is %+v", got.Record.Data.Metadata)
			}
			if _, known := got.Record.LatestEvent(); known {
				t.Error("a record that was made up has an event")
			}
		})
	}
}
