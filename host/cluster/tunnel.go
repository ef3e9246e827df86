package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/klog/v2"
)

// tunnelTimeout is how long a port-forward may take to be ready.
const tunnelTimeout = 30 * time.Second

// A Tunnel leads to a port of a pod, through the API server. When it breaks, it is closed and
// another one opened: the pod may be another one by then.
type Tunnel struct {
	address string
	stop    context.CancelFunc
	ended   chan struct{}
	err     error // why it ended; read after ended is closed
}

// OpenTunnel opens a way to a port of a service, to one of the ready pods behind it.
func (c *Cluster) OpenTunnel(ctx context.Context, namespace, service string, port int) (*Tunnel, error) {
	pod, target, err := c.behind(ctx, namespace, service, port)
	if err != nil {
		return nil, fmt.Errorf("opening a tunnel to service %q in namespace %q: %w", service, namespace, err)
	}
	config := c.Config()
	config.Timeout = 0 // the connection stays open for as long as it is used
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("opening a tunnel to pod %q: %w", pod, err)
	}
	url := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	// It lasts until it is closed. What breaks in it is told by whoever uses it: without a logger of
	// its own client-go would print it too.
	lasting, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.New(nil)))
	t := &Tunnel{stop: stop, ended: make(chan struct{})}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddressesWithContext(lasting, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", target)}, ready, io.Discard, io.Discard)
	if err != nil {
		stop()
		return nil, fmt.Errorf("opening a tunnel to pod %q: %w", pod, err)
	}
	go func() {
		defer close(t.ended)
		t.err = forwarder.ForwardPorts()
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, tunnelTimeout, fmt.Errorf("it was not open within %s", tunnelTimeout))
	defer cancel()
	select {
	case <-ready:
	case <-t.ended:
		stop()
		return nil, fmt.Errorf("opening a tunnel to pod %q: %w", pod, t.err)
	case <-ctx.Done():
		_ = t.Close() // it is not used
		return nil, fmt.Errorf("opening a tunnel to pod %q: %w", pod, context.Cause(ctx))
	}
	ports, err := forwarder.GetPorts()
	if err != nil || len(ports) == 0 {
		_ = t.Close() // it is not used
		return nil, fmt.Errorf("opening a tunnel to pod %q: no local port: %w", pod, err)
	}
	t.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local)))
	return t, nil
}

// Dial opens a connection through the tunnel.
func (t *Tunnel) Dial(ctx context.Context) (net.Conn, error) {
	select {
	case <-t.ended:
		return nil, fmt.Errorf("the tunnel is broken: %w", t.err)
	default:
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", t.address)
}

// Close ends the tunnel with all its connections, and returns when they have ended.
func (t *Tunnel) Close() error {
	t.stop()
	<-t.ended
	return nil
}

// behind returns a ready pod behind a service and the port of it that the service's port leads to.
func (c *Cluster) behind(ctx context.Context, namespace, service string, port int) (pod string, target int, err error) {
	s, err := c.client.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", 0, err
	}
	var to *intstr.IntOrString
	for _, p := range s.Spec.Ports {
		if int(p.Port) == port {
			to = &p.TargetPort
		}
	}
	if to == nil {
		return "", 0, fmt.Errorf("it has no port %d", port)
	}
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: k8slabels.SelectorFromSet(s.Spec.Selector).String(),
	})
	if err != nil {
		return "", 0, fmt.Errorf("listing its pods: %w", err)
	}
	for _, p := range pods.Items {
		if !isReady(p) {
			continue
		}
		if target := containerPort(p, *to, port); target > 0 {
			return p.Name, target, nil
		}
	}
	return "", 0, fmt.Errorf("none of its %d pods is ready", len(pods.Items))
}

func isReady(p corev1.Pod) bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

// containerPort resolves the target of a service's port in a pod; 0 means that the pod lacks it.
func containerPort(p corev1.Pod, to intstr.IntOrString, port int) int {
	if to.Type == intstr.Int {
		if to.IntValue() == 0 {
			return port
		}
		return to.IntValue()
	}
	for _, c := range p.Spec.Containers {
		for _, cp := range c.Ports {
			if cp.Name == to.StrVal {
				return int(cp.ContainerPort)
			}
		}
	}
	return 0
}

// ReadTLS returns the certificates in a Secret of the kind that Zarf keeps for its registry.
func (c *Cluster) ReadTLS(ctx context.Context, namespace, name string) (ca, cert, key []byte, err error) {
	secret, err := c.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("reading the certificates in Secret %q of namespace %q: %w", name, namespace, err)
	}
	return secret.Data["ca.crt"], secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], nil
}

// AgentLabels returns the value of the label zarf.dev/agent on each namespace that has one: of all
// namespaces, or of those that are named where the user may not list them. One that may not be read
// either counts as having no label.
func (c *Cluster) AgentLabels(ctx context.Context, named []string) (map[string]string, error) {
	const label = "zarf.dev/agent"
	list, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: label})
	if IsForbidden(err) {
		list = &corev1.NamespaceList{}
		for _, name := range named {
			ns, err := c.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || IsForbidden(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("reading what namespace %q tells the agent: %w", name, err)
			}
			if _, has := ns.Labels[label]; has {
				list.Items = append(list.Items, *ns)
			}
		}
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the namespaces that tell the agent what to do: %w", err)
	}
	out := map[string]string{}
	for _, ns := range list.Items {
		out[ns.Name] = ns.Labels[label]
	}
	return out, nil
}
