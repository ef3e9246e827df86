package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// readRecord reads the record of a package. Where Zarf wrote last and forgot releases that we
// remember, those that are there and carry this package's label count again. A Secret that is not
// the package's record fails the preflight.
func readRecord(ctx context.Context, conn *cluster.Cluster, charts *chart.Client, name, namespace string) (cluster.Record, error) {
	record, err := conn.Records().Get(ctx, name, namespace)
	var foreign *cluster.NotRecordError
	if errors.As(err, &foreign) {
		return record, &PreflightError{Problems: []string{err.Error()}, Causes: []error{err}}
	}
	if err != nil || len(record.Unconfirmed) == 0 {
		return record, err
	}
	found, err := confirmed(ctx, charts, record)
	if err != nil {
		return record, err
	}
	for _, r := range found {
		record.Notes = append(record.Notes, fmt.Sprintf("release %s, which Zarf's record forgot, is there and counts as this package's", r))
	}
	record.Record = record.Confirm(found...)
	return record, nil
}

// confirmed returns the unconfirmed releases of a record that exist and are this package's.
func confirmed(ctx context.Context, charts *chart.Client, record cluster.Record) ([]object.Release, error) {
	var found []object.Release
	for _, u := range record.Unconfirmed {
		history, err := charts.History(ctx, u.Release)
		if err != nil {
			return nil, fmt.Errorf("looking for release %s of component %q, which only key %q names: %w", u.Release, u.Component, state.OwnKey, err)
		}
		if history.Exists() && history.Package() == record.Package.Name && history.Override() == record.Package.NamespaceOverride {
			found = append(found, u.Release)
		}
	}
	return found, nil
}

// preflightPlan refuses a plan that cannot be carried out, and shows it all the same.
func (d *deployment) preflightPlan(ctx context.Context, p plan.Plan, again string) error {
	if d.conn == nil {
		return nil
	}
	failed := errors.Join(preflightError(p.Blocked), preflightRecord(d.order(&Result{Plan: p})),
		preflightAccess(ctx, d.conn, d.Common, p.Permissions))
	if d.unprunable != nil {
		failed = errors.Join(failed, d.unprunable.preflight())
	}
	failed = errors.Join(failed, d.preflightDifferential())
	return d.refuse(ctx, p, again, failed)
}

// refuse shows a plan that cannot be carried out, and returns why.
func (c Common) refuse(ctx context.Context, p plan.Plan, again string, failed error) error {
	if failed == nil || c.Reviewer == nil {
		return failed
	}
	if _, err := c.Reviewer.Review(ctx, Review{Plan: p, Again: again}); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}

// preflightRecord refuses a deployment whose record would not fit into its Secret.
func preflightRecord(d apply.Deployment) error {
	for _, r := range apply.Forecast(d) {
		total, parts, err := r.Size()
		if err != nil {
			return err
		}
		if total > state.MaxSize {
			return preflightError([]string{tooLarge(total, parts)})
		}
	}
	return nil
}

// shownParts is how many of the parts of a record that does not fit are named.
const shownParts = 3

func tooLarge(total int, parts []state.Part) string {
	var named []string
	for _, p := range parts[:min(shownParts, len(parts))] {
		named = append(named, fmt.Sprintf("%s %d", p.Name, p.Bytes))
	}
	return fmt.Sprintf("the record of the package would take %d bytes, and a Secret holds %d: the largest parts are %s; split the package, or supply less",
		total, state.MaxSize, strings.Join(named, ", "))
}

// repository returns the OCI repository of a package's source, without tag and digest; empty where
// the package came from somewhere else.
func repository(source string) string {
	ref, ok := strings.CutPrefix(source, "oci://")
	if !ok {
		return ""
	}
	ref, _, _ = strings.Cut(ref, "@")
	if tag := strings.LastIndexByte(ref, ':'); tag > strings.LastIndexByte(ref, '/') {
		ref = ref[:tag]
	}
	return ref
}
