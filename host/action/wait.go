package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/spec"
)

// exists is the condition of a cluster wait that names none.
const exists = "exists"

// wait runs a wait action. Only the action's own maxTotalSeconds bounds it, not that of the
// defaults, as in Zarf. References to variables are replaced in every field.
func (r *Runner) wait(ctx context.Context, a spec.Action) error {
	limit := defaultWait
	if a.MaxTotalSeconds != nil && *a.MaxTotalSeconds > 0 {
		limit = time.Duration(*a.MaxTotalSeconds) * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var err error
	switch w := a.Wait; {
	case w.Cluster != nil:
		err = r.waitCluster(limited, *w.Cluster)
	case w.Network != nil:
		err = r.waitNetwork(limited, *w.Network)
	default:
		return errors.New("the wait names neither a cluster object nor a network address")
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return &TimeoutError{After: limit, Last: r.masked(err)}
	default:
		return r.masked(err)
	}
}

func (r *Runner) waitCluster(ctx context.Context, w spec.WaitCluster) error {
	expand := r.Variables.Expand
	condition := expand(w.Condition)
	if condition == "" {
		condition = exists
	}
	return r.Waiter.WaitFor(ctx, expand(w.Kind), expand(w.Name), expand(w.Namespace), condition)
}

func (r *Runner) waitNetwork(ctx context.Context, w spec.WaitNetwork) error {
	protocol := strings.ToLower(r.Variables.Expand(w.Protocol))
	code := w.Code
	if code == 0 && strings.HasPrefix(protocol, "http") {
		code = http.StatusOK
	}
	return r.Waiter.WaitForNetwork(ctx, protocol, r.Variables.Expand(w.Address), code)
}

// masked returns an error that says the same without sensitive values. The chain is given up only
// where there was something to hide.
func (r *Runner) masked(err error) error {
	if text := r.Variables.Mask(err.Error()); text != err.Error() {
		return fmt.Errorf("%s", text)
	}
	return err
}
