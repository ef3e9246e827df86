package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

const (
	// The client's own limits; the API server has its own fairness, these only keep a fault of ours
	// from flooding it.
	defaultQPS   = 100
	defaultBurst = 200
	// bookTimeout bounds one request for the books, which are all short, so that one that hangs is
	// tried again.
	bookTimeout = 15 * time.Second
	// connectTimeout bounds the first request, as in Zarf.
	connectTimeout = 30 * time.Second
)

// Options say which cluster to connect to: Config if set, else Loader, else Kubeconfig and Context
// with kubectl's rules for what is empty.
type Options struct {
	Config     *rest.Config
	Loader     clientcmd.ClientConfig
	Kubeconfig string
	Context    string
	// QPS and Burst limit the requests of each client; 0 means 100 and 200.
	QPS   float32
	Burst int
	// UserAgent names the program to the API server; empty means client-go's default.
	UserAgent string
	// Sink receives warnings of the API server; nil drops them.
	Sink event.Sink
}

// Cluster is a connection to one cluster. There are two ways through it: the one for the work,
// which Cut ends, and the one for the books (records, leases), which is still open then, so that
// what became of the work can be written down. CutAll ends both.
type Cluster struct {
	work, books     *rest.Config
	bare            *rest.Config         // the way for the books, on which nothing is sent again
	client          kubernetes.Interface // the way for the books
	cutWork, cutAll *Switch
	version         *version.Info
	context         string
	sink            event.Sink
}

// Connect reads the configuration and asks the server for its version, so that a configuration
// that is unusable or a server that does not answer is known at once. Call it only when an
// operation needs the cluster.
func Connect(ctx context.Context, options Options) (*Cluster, error) {
	config, name, err := load(options)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = defaultQPS, defaultBurst
	if options.QPS != 0 {
		config.QPS = options.QPS
	}
	if options.Burst != 0 {
		config.Burst = options.Burst
	}
	if options.UserAgent != "" {
		config.UserAgent = options.UserAgent
	}
	c := &Cluster{context: name, sink: options.Sink, cutWork: NewSwitch(), cutAll: NewSwitch()}
	if c.sink == nil {
		c.sink = event.Discard
	}
	config.WarningHandlerWithContext = warnings{c.sink}
	c.bare = rest.CopyConfig(config)
	c.bare.Timeout = bookTimeout
	c.bare.Wrap(c.cutAll.Wrap)
	// Behind the switches: what is cut off is sent no more.
	c.work, c.books = rest.CopyConfig(config), config
	c.work.Wrap(resend(0))
	c.books.Wrap(resend(bookTimeout))
	for _, way := range []*rest.Config{c.work, c.books} {
		way.Wrap(c.cutAll.Wrap)
	}
	c.work.Wrap(c.cutWork.Wrap)
	if c.client, err = kubernetes.NewForConfig(c.books); err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	if c.version, err = serverVersion(ctx, c.bare); err != nil {
		return nil, err
	}
	return c, nil
}

// Config returns the configuration for the work: whoever uses it is cut off by Cut.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.work) }

// Second returns the configuration for the books: it is still good after Cut, not after CutAll.
func (c *Cluster) Second() *rest.Config { return rest.CopyConfig(c.books) }

// Cut ends the work: requests through Config are refused at once, for the reason given.
func (c *Cluster) Cut(reason string) { c.cutWork.Cut(reason) }

// CutAll ends work and books: not a byte reaches the server any more. A lost lease asks for that.
func (c *Cluster) CutAll(reason string) {
	c.cutAll.Cut(reason)
	c.cutWork.Cut(reason)
}

// Version returns the server's version, such as v1.36.3.
func (c *Cluster) Version() string { return c.version.GitVersion }

// Context returns the name of the kubeconfig's context, empty where there is none.
func (c *Cluster) Context() string { return c.context }

// Server returns the address of the API server.
func (c *Cluster) Server() string { return c.books.Host }

// EnsureNamespace creates the namespace that records live in, with Zarf's labels, unless it exists. To
// who may neither read nor create it, it exists: taking the lease tells.
func (c *Cluster) EnsureNamespace(ctx context.Context) error {
	namespaces := c.client.CoreV1().Namespaces()
	_, err := namespaces.Get(ctx, state.Namespace, metav1.GetOptions{})
	unseen := IsForbidden(err)
	if err == nil {
		return nil
	}
	if !unseen && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading namespace %q: %w", state.Namespace, err)
	}
	err = persist(ctx, func() error {
		_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name:   state.Namespace,
			Labels: map[string]string{state.ManagedByLabel: state.ManagedBy, "zarf.dev/agent": "mutate"},
		}}, metav1.CreateOptions{FieldManager: zarfManager})
		return err
	})
	if unseen && IsForbidden(err) {
		return nil
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %q: %w", state.Namespace, err)
	}
	return nil
}

// UnreachableError says that the API server gave no answer.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("connecting to the cluster at %s: %v", e.Server, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *UnreachableError) Hint() string {
	return "check that the cluster runs and that --kubeconfig and --context name the right one"
}

// load returns the configuration and the name of its context.
func load(options Options) (*rest.Config, string, error) {
	if options.Config != nil {
		return rest.CopyConfig(options.Config), "", nil
	}
	loader := options.Loader
	if loader == nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = options.Kubeconfig
		loader = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
			&clientcmd.ConfigOverrides{CurrentContext: options.Context})
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if len(raw.Clusters) == 0 && config.Host == fallbackServer {
		return nil, "", fmt.Errorf("reading the kubeconfig: no cluster is named by %s: name a kubeconfig with --kubeconfig or KUBECONFIG",
			strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))
	}
	name := options.Context
	if name == "" {
		name = raw.CurrentContext
	}
	return rest.CopyConfig(config), name, nil
}

// fallbackServer is where client-go looks when nothing names a cluster, as no API server has
// listened for years: a forgotten kubeconfig would read as a cluster that is down.
const fallbackServer = "http://localhost:8080"

// serverVersion makes the first request of a connection.
func serverVersion(ctx context.Context, config *rest.Config) (*version.Info, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout,
		fmt.Errorf("no answer within %s", connectTimeout))
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %w", config.Host, err)
	}
	info := &version.Info{}
	data, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(data, info)
	}
	if err == nil {
		return info, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var wrapped *url.Error
	var dial *net.OpError
	if errors.As(err, &dial) {
		err = dial
	} else if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which the message has already
	}
	return nil, &UnreachableError{Server: config.Host, Err: err}
}

// warnings passes on what the API server warns of.
type warnings struct{ sink event.Sink }

func (w warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	if code == 299 && text != "" { // the one code that the API server uses
		w.sink.Emit(event.Event{Level: event.Debug, Step: "cluster", Message: "the API server warns: " + text})
	}
}
