package chart

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

// fieldManager is the name under which fields are owned, Zarf's own. Helm's package variable for it
// stays unset: every object is written by this package, never by Helm's client.
const fieldManager = "zarf"

// Request rate towards the API server when the Config sets none: client-go's default of 5 a second
// would dominate a release of a hundred objects.
const (
	defaultQPS   = 200
	defaultBurst = 400
)

// maxHistory is how many revisions of a release are kept, as Zarf does.
const maxHistory = 10

// Waiter judges readiness. Its methods return as soon as ctx is done, with its error. References
// carry a namespace wherever the kind has one.
type Waiter interface {
	// Ready returns when every object is ready to use.
	Ready(ctx context.Context, refs []object.Ref) error
	// Deleted returns when none of the objects exists any more.
	Deleted(ctx context.Context, refs []object.Ref) error
	// Complete returns when Jobs have completed and Pods have succeeded, and other kinds exist;
	// it fails at once when one of them failed for good. Hooks are waited for with it.
	Complete(ctx context.Context, refs []object.Ref) error
}

// Options are what a Client needs.
type Options struct {
	// Config reaches the API server; its transport may be cut from outside. Without it the Client
	// only renders, with the capabilities that Helm assumes offline.
	Config *rest.Config
	// KubeVersion is the version of Kubernetes that charts see without a Config, such as v1.34.0.
	// Default: Helm's.
	KubeVersion string
	// SecondConfig is asked, after an operation was cancelled, for a way to the API server that is
	// not cut, to write the release's status. A nil function or a nil answer writes nothing: a
	// lost lease allows no further write.
	SecondConfig func() *rest.Config
	// Waiter is needed by whatever applies or uninstalls.
	Waiter Waiter
	// Sink receives what happens; nil drops it.
	Sink event.Sink
}

// Client does everything with releases in one cluster. It may be used from several goroutines, on
// different releases.
type Client struct {
	config  *rest.Config
	second  func() *rest.Config
	waiter  Waiter
	sink    event.Sink
	getter  *getter
	clients kubernetes.Interface
	dynamic dynamic.Interface
	meta    metadata.Interface

	mu   sync.Mutex
	caps *chartutil.Capabilities
	// scopes remembers, for kinds whose CRD was rendered or applied here, whether they have
	// namespaces: their objects are rendered, and perhaps applied, before discovery knows them.
	scopes  map[schema.GroupKind]meta.RESTScopeName
	plurals map[schema.GroupKind]string // and what the API server will call them
}

// New returns a Client. It makes no request.
func New(o Options) (*Client, error) {
	c := &Client{
		second:  o.SecondConfig,
		waiter:  o.Waiter,
		sink:    o.Sink,
		scopes:  map[schema.GroupKind]meta.RESTScopeName{},
		plurals: map[schema.GroupKind]string{},
	}
	if c.sink == nil {
		c.sink = event.Discard
	}
	if o.Config == nil {
		return c, c.assume(o.KubeVersion)
	}
	c.config = rest.CopyConfig(o.Config)
	c.config.WarningHandler = warnings{c.sink}
	if c.config.QPS == 0 && c.config.RateLimiter == nil {
		c.config.QPS, c.config.Burst = defaultQPS, defaultBurst
	}
	var err error
	if c.getter, err = newGetter(c.config); err != nil {
		return nil, fmt.Errorf("preparing discovery of the cluster: %w", err)
	}
	if c.clients, err = kubernetes.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("preparing a client of the cluster: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("preparing a client of the cluster: %w", err)
	}
	if c.meta, err = metadata.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("preparing a client of the cluster: %w", err)
	}
	return c, nil
}

// errNoCluster answers whatever needs a cluster of a Client that has none.
var errNoCluster = errors.New("no cluster is configured: this client only renders")

func (c *Client) online() error {
	if c.config == nil {
		return errNoCluster
	}
	return nil
}

func (c *Client) emit(level event.Level, r object.Release, format string, args ...any) {
	e := event.Event{Level: level, Step: "chart", Message: fmt.Sprintf(format, args...)}
	if r.Name != "" {
		e.Release = r.String()
	}
	c.sink.Emit(e)
}

// warnings passes the API server's warnings (deprecated versions, unknown fields) to the Sink;
// client-go's default prints them.
type warnings struct{ sink event.Sink }

func (w warnings) HandleWarningHeader(code int, _ string, text string) {
	const warningCode = 299 // the only one that RFC 7234 leaves to servers
	if code == warningCode && text != "" {
		w.sink.Emit(event.Event{Level: event.Warn, Step: "chart", Message: "the API server warns: " + text})
	}
}
