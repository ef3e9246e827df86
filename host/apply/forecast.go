package apply

import (
	"slices"
	"time"

	"github.com/zarf-host/zarf-host/host/state"
)

// Forecast returns the largest records that a deployment is going to write: the one before its end,
// which still has the configuration of the last success, and that of its own success. Whoever asks
// can tell before anything changes whether they fit. Only the connect strings of charts are not
// known yet.
func Forecast(d Deployment) []state.Record {
	at := d.Event.Timestamp.Truncate(time.Second).Add(time.Second - time.Nanosecond) // the longest that it can be
	r := d.Record
	d.Event.Timestamp = at
	d.begun(&r)
	for _, component := range d.Definition.Components {
		if !slices.Contains(d.Selected, component.Name) {
			continue
		}
		releases := intended(d.Plan, component.Name)
		r.Package = r.Package.BeginComponent(component.Name, state.Deploy, at, releases...)
		for _, release := range releases {
			r.Own = r.Own.SetRevision(release, max(r.Own.Revision(release), longRevision))
			r.Package = r.Package.SetChart(component.Name, state.Chart{
				Namespace: release.Namespace, Name: release.Name, Status: state.StatusSucceeded,
			})
		}
		r.Package = r.Package.FinishComponent(component.Name, state.Succeeded, at, "")
		r.Own = r.Own.Runs(component.Name, d.from())
	}
	for _, release := range d.Plan.Prune.Releases {
		r.Own = r.Own.Keep(release.Release, d.Plan.KeptOf(release.Release)...)
	}
	end := r
	end.Package = end.Package.Finish(state.Succeeded, at, &d.Config)
	d.succeeded(&end)
	return []state.Record{r, end}
}

// longRevision has as many digits as revisions ever have.
const longRevision = 99999
