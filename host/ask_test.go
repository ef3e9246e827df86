package host

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
)

// listener is a plugin in Go that keeps what it is asked.
type listener struct{ asked []hook.Request }

func (l *listener) Name() string                { return "listener" }
func (l *listener) Info() plan.Plugin           { return plan.Plugin{Name: "listener"} }
func (l *listener) Hooks() []hook.Name          { return []hook.Name{hook.PreDeploy} }
func (l *listener) Close(context.Context) error { return nil }
func (l *listener) Ask(_ context.Context, r hook.Request) (hook.Response, error) {
	l.asked = append(l.asked, r)
	return hook.Response{ID: r.ID, Verdict: hook.Allow}, nil
}

// A digest that covers the configuration would let a plugin try out short secrets.
func TestPluginsGetNoDigestOfTheConfiguration(t *testing.T) {
	l := &listener{}
	a := asker{
		common:    Common{Plugins: []Plugin{l}, Sink: event.Discard, Now: time.Now},
		operation: hook.Operation{Name: hook.OperationDeploy},
	}
	p := plan.ForDeploy(plan.Facts{Package: plan.Package{Name: "shop"}, ConfigDigest: "sha256:canary"})
	if p.Digest == "" {
		t.Fatal("the plan has no digest")
	}
	if _, _, err := a.decide(t.Context(), p, hook.PreDeploy); err != nil {
		t.Fatal(err)
	}
	if len(l.asked) != 1 || strings.Contains(string(l.asked[0].Plan), p.Digest) || strings.Contains(string(l.asked[0].Plan), "canary") {
		t.Errorf("asked %d times, with %s", len(l.asked), l.asked[0].Plan)
	}
}
