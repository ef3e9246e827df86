package host

import (
	"context"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// carryOut does what was decided, under the lease.
func (d *deployment) carryOut(ctx context.Context, decided Result) (Result, error) {
	if d.conn == nil {
		done, err := d.engine(decided.Plan, nil).Deploy(ctx, d.order(&decided))
		decided.Applied = &done
		return decided, err
	}
	return underLease(ctx, d.Common, d.conn, d.name(), func(ctx context.Context) (Result, error) {
		result, err := d.again(ctx, decided)
		if err != nil {
			return result, err
		}
		d.tellAccepted(result.Plan)
		engine := d.engine(result.Plan, &recorder{records: d.conn.Records(), current: d.record, version: d.cliVersion()})
		done, err := engine.Deploy(ctx, d.order(&result))
		result.Applied = &done
		return result, err
	})
}

// again recovers what was planned and observes once more under the lease: only facts that differ
// make it plan, ask and show again.
func (d *deployment) again(ctx context.Context, decided Result) (Result, error) {
	if err := d.recover(ctx, decided.Plan); err != nil {
		return decided, err
	}
	now, err := d.observe(ctx)
	if err != nil {
		return decided, err
	}
	kept, _, err := now.WithJudged(decided.Plan.Judged()...).WithKept(decided.Plan.Asked()...)
	if err == nil && kept.Digest == decided.Plan.Digest {
		return decided, nil
	}
	return d.decide(ctx, "the cluster changed meanwhile")
}

// recover puts right what an interrupted run left. A new revision is recorded before it is made.
func (d *deployment) recover(ctx context.Context, p plan.Plan) error {
	if len(p.Recovery) == 0 {
		return nil
	}
	r := &recorder{records: d.conn.Records(), current: d.record, version: d.cliVersion()}
	err := recovery{
		client: d.charts, plan: p, own: d.record.Own, common: d.Common,
		save: func(ctx context.Context, change func(*state.Record)) error {
			next := r.current.Record
			change(&next)
			return r.Save(ctx, next)
		},
	}.run(ctx)
	d.record = r.current
	return err
}

// order is what the apply step is told. What the post-deploy hooks say is added to the result.
func (d *deployment) order(result *Result) apply.Deployment {
	record := d.record.Record
	record.Own = record.Own.StillKept(d.live, d.held)
	record.Own.Policies, record.Own.Plugins = d.participants()
	record.Package.Name = d.recordName()
	record.Package.NamespaceOverride = d.resolved.Config.NamespaceOverride
	record.Package.CLIVersion = d.cliVersion()
	return apply.Deployment{
		Plan: result.Plan, Definition: d.inFull(), Selected: names(d.selected), Record: record,
		Config: d.resolved.Config, SkipUnchanged: d.SkipUnchanged, Inherited: d.inherited(),
		Identity: d.identity(), Accepted: acceptances(result.Plan, d.User),
		Event: state.PackageEvent{
			Type: state.Deploy, Timestamp: d.Now(), Version: d.definition.Metadata.Version,
			Flavor: d.definition.Build.Flavor, Digest: d.pkg.Digest(), Source: d.pkg.Source(), ConfigDigest: d.digest,
		},
		Finally: func(ctx context.Context, done apply.Result) error {
			done.Outcome = state.Succeeded // what it is, unless a hook says no
			outcome, err := d.asker().ask(ctx, hook.PostDeploy, result.Plan, hookResult(done))
			if err != nil {
				return err
			}
			result.Outcomes = append(result.Outcomes, outcome)
			return outcome.Err()
		},
	}
}

func (d *deployment) engine(p plan.Plan, r *recorder) apply.Engine {
	e := apply.Engine{Steps: d.steps(), Sink: d.Sink, Now: d.Now}
	if r == nil {
		return e
	}
	e.Recorder, e.Images = r, d.pruner()
	e.Releases = &releases{
		client: d.charts, own: d.record.Own, plan: p, wanted: d.byRelease(), revisions: map[object.Release]int{},
		allowDataLoss: d.AllowDataLoss, timeout: d.Common,
	}
	return e
}

func (d *deployment) byRelease() map[object.Release]release {
	out := map[object.Release]release{}
	for _, r := range d.wanted {
		out[r.Release] = r
	}
	return out
}
