package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/policy"
)

// CompatibleVersion is the version of Zarf whose formats are read and written: versionRequirements
// of packages are compared with it.
const CompatibleVersion = "v0.84.0"

// Common are the options that every operation on a cluster has. The zero value works without
// plugins, shows nothing and asks nobody.
type Common struct {
	// Cluster says which cluster; it is dialled only when an operation needs it.
	Cluster cluster.Options
	// Open says how packages are opened that are not on this machine.
	Open OpenOptions
	// Plugins are asked at the hooks that they declare, in this order.
	Plugins []Plugin
	// PluginsOf, if not nil, is called once the package is open and its policies are known, and returns the
	// plugins to ask in place of Plugins: those that the package carries can be loaded only then. The
	// package is nil where a deployed one is removed by its name.
	PluginsOf func(ctx context.Context, pkg *Package, policies policy.Set) ([]Plugin, error)
	// Policies apply to the operation beside those of the cluster. Their plugins are asked before others.
	Policies []Policy
	// PolicyPlugins say how the plugins of policies are had.
	PolicyPlugins PolicyPlugins
	// Reviewer is shown the plan and may say no; nil means yes.
	Reviewer Reviewer
	// Sink receives what happens; nil drops it.
	Sink event.Sink
	// DryRun stops after the plan was shown.
	DryRun bool
	// LockTimeout is how long to wait for another operation on the same package, after a stale
	// lease was waited out.
	LockTimeout time.Duration
	// NoUninstallHooks uninstalls releases without running the hooks that their charts have for that:
	// the way on where one of them can never run.
	NoUninstallHooks bool
	// Timeout bounds the wait for each release; 0 means 15 minutes, as in Zarf.
	Timeout time.Duration
	// Deadline bounds the whole operation; 0 means no bound.
	Deadline time.Duration
	// PlainHTTP allows registries that speak no HTTPS; InsecureSkipTLSVerify trusts any certificate.
	PlainHTTP             bool
	InsecureSkipTLSVerify bool
	// Concurrency is how many requests to a registry are under way at once; 0 means 6.
	Concurrency int
	// Retries is how often pushing is tried again without anything achieved in between; 0 means 3.
	Retries int
	// Patience bounds what a registry may keep an operation waiting for.
	Patience Patience
	// TempDir is where temporary files go; empty is where the system has them.
	TempDir string
	// PlanDigest, if set, is the only plan that may be carried out.
	PlanDigest string
	// Version is the version of the program, recorded beside CompatibleVersion.
	Version string
	// User is who runs the operation, as plugins see it.
	User string
	// Executable is the program that `./zarf` in an action stands for; empty means this one.
	Executable string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Patience is how long a registry is waited for while images are pushed. Zero values are right for
// most callers.
type Patience struct {
	// Backoff is the pause before the first retry; each further one is longer. Default 1 s.
	Backoff time.Duration
	// Stall is how long an upload may stand still, and a request go unanswered. Default 1 min.
	Stall time.Duration
	// Commit is how long the registry may take to confirm what it has received. Default 5 min.
	Commit time.Duration
}

// Plugin answers hooks. Plugins written in Go implement it, and OpenPlugin makes one of a WASM
// module: the contract is the same.
type Plugin interface {
	// Name is what findings are shown under.
	Name() string
	// Info identifies the plugin in plans and records.
	Info() plan.Plugin
	// Hooks are the hooks at which the plugin wants to be asked.
	Hooks() []hook.Name
	// Ask answers one request. An error is never an answer: the hook's failure policy decides.
	Ask(ctx context.Context, request hook.Request) (hook.Response, error)
}

// Reviewer is shown a plan before anything changes.
type Reviewer interface {
	// Review shows the plan and what the plugins said about it. Where review.Ask is set it returns
	// whether to go on; an error stops the operation too.
	Review(ctx context.Context, review Review) (bool, error)
}

// Review is what a Reviewer is shown.
type Review struct {
	Plan     plan.Plan
	Policies []policy.Ref // that apply
	Outcomes []hook.Outcome
	// Ask is false where nothing follows: a dry run, or a plan that was denied.
	Ask bool
	// Again says why the plan is shown once more, empty the first time.
	Again string
}

// ErrDeclined is returned when the Reviewer said no. Nothing was changed.
var ErrDeclined = errors.New("declined: nothing was changed")

// defaulted fills what was left out.
func (c Common) defaulted() Common {
	if c.Sink == nil {
		c.Sink = event.Discard
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	c.Cluster.Sink = c.Sink
	return c
}

// hooksLeftOut warns of uninstall hooks that are not run.
func (c Common) hooksLeftOut() []string {
	if !c.NoUninstallHooks {
		return nil
	}
	return []string{"the uninstall hooks of releases that go are not run: what they clean up or back up stays as it is"}
}

const defaultTimeout = 15 * time.Minute

// bounded returns a context that ends at the operation's deadline.
func (c Common) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Deadline <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, c.Deadline, &DeadlineError{Limit: c.Deadline})
}

// cliVersion is how records name the program that wrote them.
func (c Common) cliVersion() string { return CompatibleVersion + "+zarf-host." + c.Version }

func (c Common) say(level event.Level, step, message string) {
	c.Sink.Emit(event.Event{Level: level, Step: step, Message: message})
}

// checkTempDir refuses a folder for temporary files that is none, before anything depends on it.
func (c Common) checkTempDir() error {
	if c.TempDir == "" {
		return nil
	}
	info, err := os.Stat(c.TempDir)
	if err != nil {
		return fmt.Errorf("looking for the folder for temporary files: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder for temporary files", c.TempDir)
	}
	return nil
}
