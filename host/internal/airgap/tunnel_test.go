package airgap_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/state"
)

// internalAddress is where pods find the registry that Zarf deploys. Nobody else can dial it.
const internalAddress = "127.0.0.1:31999"

// internalSite is a cluster whose registry is inside of it, reached by a port-forward that leads to
// an address on this machine.
func internalSite(t *testing.T, leadsTo string, change func(*state.Cluster)) *site {
	t.Helper()
	s := newSite(t)
	s.write(external(internalAddress, func(c *state.Cluster) {
		c.RegistryInfo.Mode, c.RegistryInfo.NodePort = state.RegistryNodePort, 31999
		change(c)
	}))
	forward.lead(leadsTo)
	labels, ctx := map[string]string{"app": "docker-registry"}, t.Context()
	_, err := s.Client().CoreV1().Services(state.Namespace).Create(ctx, &core.Service{
		ObjectMeta: meta.ObjectMeta{Name: "zarf-docker-registry"},
		Spec: core.ServiceSpec{Selector: labels, Ports: []core.ServicePort{
			{Name: "http-5000", Port: 5000, TargetPort: intstr.FromInt32(5000)},
		}},
	}, meta.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	_, err = s.Client().CoreV1().Pods(state.Namespace).Create(ctx, &core.Pod{
		ObjectMeta: meta.ObjectMeta{Name: registryPod, Labels: labels},
		Spec: core.PodSpec{Containers: []core.Container{{
			Name: "registry", Image: "registry:3", Ports: []core.ContainerPort{{ContainerPort: 5000}},
		}}},
	}, meta.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	eventually(t, "the pod of the registry to be ready", func() bool {
		pod, err := s.Client().CoreV1().Pods(state.Namespace).Get(ctx, registryPod, meta.GetOptions{})
		if err != nil {
			return false
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == core.PodReady && c.Status == core.ConditionTrue {
				return true
			}
		}
		return false
	})
	return s
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for range 600 {
		if check() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waiting for %s", what)
}

// countTunnels counts the port-forwards that go through a proxy, until it is reset.
func countTunnels(proxy *faultproxy.Proxy, n *atomic.Int32) {
	proxy.Inject(faultproxy.Rule{
		Match: func(r faultproxy.Request) bool { return strings.HasSuffix(r.Path, "/portforward") },
		Reads: true, Times: -1, Before: func(faultproxy.Request) { n.Add(1) },
	})
}

// TestD10InternalRegistry deploys through a port-forward: one for all images of all components, and one
// again when nothing has to be pushed.
func TestD10InternalRegistry(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	s := internalSite(t, r.Address(), func(*state.Cluster) {})
	proxy, kubeconfig := s.Proxy(t)
	s.kubeconfig = kubeconfig
	var tunnels atomic.Int32
	countTunnels(proxy, &tunnels)
	file := shared(t, "packages/zarf-package-demo-amd64-0.1.0.tar.zst")
	s.mustDeploy(file, components(allButRepo))
	if n := tunnels.Load(); n != 1 {
		t.Errorf("%d port-forwards for a deployment, want 1", n)
	}
	want := tags(t, "samples/cluster/D1.tags")
	for tag, sum := range r.Tags(t) {
		if want[tag] != sum {
			t.Errorf("%s is %s, want %s", tag, sum, want[tag])
		}
		delete(want, tag)
	}
	if len(want) > 0 {
		t.Errorf("the registry lacks %v", want)
	}
	tunnels.Store(0)
	s.mustDeploy(file, components(allButRepo))
	if n := tunnels.Load(); n != 1 {
		t.Errorf("%d port-forwards for a redeployment, want 1", n)
	}
	secret, err := s.Client().CoreV1().Secrets("demo").Get(t.Context(), "private-registry", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{internalAddress, "zarf-docker-registry.zarf.svc.cluster.local:5000"} {
		if !strings.Contains(string(secret.Data[".dockerconfigjson"]), `"`+host+`"`) {
			t.Errorf("the Secret to pull with does not know %s", host)
		}
	}
	file, ns := workloadPackage(t, s)
	s.mustDeploy(file)
	if got := s.pods(ns)["migrate"].Pulls[0]; !strings.HasPrefix(got, internalAddress+"/library/tools:2.0.0-zarf-") {
		t.Errorf("pods pull %s", got)
	}
}

// TestD4BrokenTunnel breaks the port-forward in the middle of a blob, at its end in this program and at
// its end in the cluster: another one is opened, and the push is finished.
func TestD4BrokenTunnel(t *testing.T) {
	file := bulkyPackage(t)
	for name, cut := range map[string]func(proxy *faultproxy.Proxy, w *testregistry.Wire, tunnels *atomic.Int32){
		"the stream to the API server": func(proxy *faultproxy.Proxy, _ *testregistry.Wire, tunnels *atomic.Int32) {
			proxy.Cut()
			proxy.Reset()
			countTunnels(proxy, tunnels)
		},
		"the connection in the pod": func(_ *faultproxy.Proxy, w *testregistry.Wire, _ *atomic.Int32) { w.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
			w := r.Wire(t)
			s := internalSite(t, w.Address(), func(*state.Cluster) {})
			proxy, kubeconfig := s.Proxy(t)
			s.kubeconfig = kubeconfig
			var tunnels atomic.Int32
			countTunnels(proxy, &tunnels)
			w.After(10<<20, func() { cut(proxy, w, &tunnels) })
			s.mustDeploy(file)
			has(t, r)
			if n := tunnels.Load(); n != 2 {
				t.Errorf("%d port-forwards, want one and another one", n)
			}
			if !s.saw("trying again") {
				t.Errorf("nobody said so:\n%s", strings.Join(s.said, "\n"))
			}
		})
	}
}

// TestNoTunnel: a registry without a pod is an error that says so, before anything is changed.
func TestNoTunnel(t *testing.T) {
	s := internalSite(t, "127.0.0.1:1", func(*state.Cluster) {})
	s.common.Retries = -1
	if err := s.Client().CoreV1().Services(state.Namespace).Delete(t.Context(), "zarf-docker-registry", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := s.deploy(bulkyPackage(t))
	if err == nil || !strings.Contains(err.Error(), `service "zarf-docker-registry"`) || !strings.Contains(err.Error(), `namespace "zarf"`) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Client().CoreV1().Secrets(state.Namespace).Get(t.Context(), "zarf-package-bulky", meta.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("something was recorded: %v", err)
	}
}

// TestMutualTLS deploys through a port-forward to a registry that wants a certificate.
func TestMutualTLS(t *testing.T) {
	r, other := testregistry.Start(t, testregistry.Options{ClientCA: true}), testregistry.Start(t, testregistry.Options{ClientCA: true})
	s := internalSite(t, r.Address(), func(c *state.Cluster) { c.RegistryInfo.MTLSStrategy = state.MTLSManaged })
	s.common.Retries = -1
	certs := map[string][]byte{
		"ca.crt": read(t, r.File("ca.crt")), "tls.crt": read(t, r.File("client.crt")), "tls.key": read(t, r.File("client.key")),
	}
	s.forget("zarf-registry-client-tls")
	file, ns := workloadPackage(t, s)
	_, err := s.deploy(file)
	if err == nil || !strings.Contains(err.Error(), `Secret "zarf-registry-client-tls"`) {
		t.Errorf("without certificates: %v", err)
	}
	s.secret(state.Namespace, "zarf-registry-client-tls", "kubernetes.io/tls", certs)
	s.mustDeploy(file)
	if len(r.Tags(t)) != 4 {
		t.Errorf("the registry has %v", r.Tags(t))
	}
	// What in a namespace pulls by itself needs the certificate too.
	got, err := s.Client().CoreV1().Secrets(ns).Get(t.Context(), "zarf-registry-client-tls", meta.GetOptions{})
	if err != nil || got.Type != core.SecretTypeTLS || string(got.Data["tls.crt"]) != string(certs["tls.crt"]) {
		t.Errorf("the certificate in namespace %q: %v, %v", ns, got.Type, err)
	}

	// One whose authority signed neither the server nor us is refused, whatever is in the Secret.
	forward.lead(other.Address())
	_, err = host.Deploy(t.Context(), host.DeployOptions{Common: s.options(), Source: file})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with a registry of somebody else: %v", err)
	}
	if len(other.Tags(t)) > 0 {
		t.Error("it got images")
	}
}
