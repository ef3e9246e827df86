package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns a moment, seconds after some beginning.
func at(seconds int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func TestEventsAreRetained(t *testing.T) {
	ok, failed := PackageEvent{Type: Deploy, Outcome: Succeeded}, PackageEvent{Type: Deploy, Outcome: Failed}
	removed := PackageEvent{Type: Remove, Outcome: Succeeded}
	tests := map[string]struct {
		first PackageEvent
		rest  PackageEvent
		want  []string // versions that are left
	}{
		"the oldest go":                        {failed, failed, []string{"2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}},
		"but not the only successful deploy":   {ok, failed, []string{"0", "3", "4", "5", "6", "7", "8", "9", "10", "11"}},
		"an older successful deploy does go":   {ok, ok, []string{"2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}},
		"a successful removal is no deploy":    {removed, removed, []string{"2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}},
		"removals do not push out the deploy ": {ok, removed, []string{"0", "3", "4", "5", "6", "7", "8", "9", "10", "11"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var p Package
			for i := range 12 {
				e := test.rest
				if i == 0 {
					e = test.first
				}
				e.Version = fmt.Sprint(i)
				e.Timestamp = at(i)
				p = p.Begin(e).Finish(e.Outcome, at(i), nil)
			}
			var got []string
			for _, e := range p.Events {
				got = append(got, e.Version)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLatestEvents(t *testing.T) {
	var p Package
	if _, ok := p.LatestEvent(); ok {
		t.Error("a record without events has a latest one")
	}
	if _, ok := p.LastSuccessfulDeploy(); ok {
		t.Error("a record without events has a successful deployment")
	}
	p = p.Begin(PackageEvent{Type: Deploy, Version: "1", Timestamp: at(0)}).Finish(Succeeded, at(1), nil)
	p = p.Begin(PackageEvent{Type: Remove, Version: "1", Timestamp: at(2)}).Finish(Succeeded, at(3), nil)
	p = p.Begin(PackageEvent{Type: Deploy, Version: "2", Timestamp: at(4)})
	if e, ok := p.LatestEvent(); !ok || e != (PackageEvent{Type: Deploy, Outcome: InProgress, Version: "2", Timestamp: at(4)}) {
		t.Errorf("latest: %+v, %v", e, ok)
	}
	if e, ok := p.LastSuccessfulDeploy(); !ok || e != (PackageEvent{Type: Deploy, Outcome: Succeeded, Version: "1", Timestamp: at(1)}) {
		t.Errorf("last successful: %+v, %v", e, ok)
	}
}

func TestStatusFollowsOutcome(t *testing.T) {
	for _, test := range []struct {
		kind    EventType
		outcome EventOutcome
		want    Status
	}{
		{Deploy, InProgress, StatusDeploying},
		{Remove, InProgress, StatusRemoving},
		{Deploy, Succeeded, StatusSucceeded},
		{Remove, Succeeded, StatusSucceeded},
		{Deploy, Failed, StatusFailed},
		{Remove, Failed, StatusFailed},
		{Deploy, Cancelled, "was"},
		{Remove, Cancelled, "was"},
	} {
		if got := (ComponentEvent{Type: test.kind, Outcome: test.outcome}).status("was"); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.kind, test.outcome, got, test.want)
		}
	}
}
