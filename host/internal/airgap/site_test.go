package airgap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/state"
)

// site is a cluster behind the gap: initialised or not, nothing deployed.
type site struct {
	*testcluster.Cluster
	t testing.TB
	// kubeconfig leads to the cluster, perhaps through a proxy.
	kubeconfig string
	// common is what every operation gets, beside the cluster.
	common host.Common

	mu   sync.Mutex
	said []string
}

// newSite forgets what an earlier test left, and works in a folder of the test's own: packages place
// files beside them.
func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{Cluster: testcluster.Private(t), t: t, common: host.Common{
		Timeout: time.Minute, Retries: 2,
		Patience: host.Patience{Backoff: 50 * time.Millisecond, Stall: 20 * time.Second},
	}}
	s.kubeconfig = s.Kubeconfig()
	s.forget(state.ClusterSecret)
	t.Chdir(t.TempDir())
	return s
}

func (s *site) forget(name string) {
	s.t.Helper()
	err := s.Client().CoreV1().Secrets(state.Namespace).Delete(s.t.Context(), name, meta.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
}

// Emit collects what is said.
func (s *site) Emit(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, e.Message)
}

// saw tells whether something was said.
func (s *site) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.said, "\n"), text)
}

func (s *site) options() host.Common {
	c := s.common
	c.Cluster, c.Sink = cluster.Options{Kubeconfig: s.kubeconfig}, event.Func(s.Emit)
	return c
}

// init initialises the cluster for an external registry.
func (s *site) init(address, user, password string) {
	s.t.Helper()
	done, err := host.Init(s.t.Context(), host.InitOptions{
		Cluster:  cluster.Options{Kubeconfig: s.kubeconfig},
		Registry: state.Registry{Address: address, PushUsername: user, PushPassword: password},
	})
	if err != nil || !done.Changed {
		s.t.Fatalf("initialising: %+v, %v", done, err)
	}
}

// write initialises the cluster as Zarf would have.
func (s *site) write(c state.Cluster) {
	s.t.Helper()
	data, err := c.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.ensureNamespace(state.Namespace)
	s.secret(state.Namespace, state.ClusterSecret, "Opaque", map[string][]byte{state.ClusterKey: data})
}

func (s *site) ensureNamespace(name string) {
	s.t.Helper()
	_, err := s.Client().CoreV1().Namespaces().Create(s.t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}}, meta.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.t.Fatal(err)
	}
}

// secret makes a Secret what it is to be.
func (s *site) secret(namespace, name, kind string, data map[string][]byte) {
	s.t.Helper()
	api := s.Client().CoreV1().Secrets(namespace)
	want := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: name}, Type: core.SecretType(kind), Data: data}
	_, err := api.Create(s.t.Context(), want, meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = api.Update(s.t.Context(), want, meta.UpdateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// deploy deploys a package, and removes it at the end of the test.
func (s *site) deploy(source string, change ...func(*host.DeployOptions)) (host.Result, error) {
	s.t.Helper()
	o := host.DeployOptions{Common: s.options(), Source: source}
	for _, c := range change {
		c(&o)
	}
	s.t.Cleanup(func() { s.remove(source) })
	return host.Deploy(s.t.Context(), o)
}

// remove takes down what a test deployed. Where nothing is left there is nothing to do.
func (s *site) remove(source string) {
	s.t.Helper()
	o := s.options()
	o.Cluster.Kubeconfig = s.Kubeconfig() // a proxy may have gone
	_, err := host.Remove(context.WithoutCancel(s.t.Context()), host.RemoveOptions{Common: o, Target: source})
	var gone *host.NotDeployedError
	if err != nil && !errors.As(err, &gone) {
		s.t.Errorf("removing %s: %v", source, err)
	}
}

func (s *site) mustDeploy(source string, change ...func(*host.DeployOptions)) host.Result {
	s.t.Helper()
	result, err := s.deploy(source, change...)
	if err != nil {
		s.t.Fatalf("deploying %s: %v", source, err)
	}
	return result
}

func components(names string) func(*host.DeployOptions) {
	return func(o *host.DeployOptions) { o.Components = names }
}

// record is what the cluster remembers of a package.
func (s *site) record(name string) map[string]any {
	s.t.Helper()
	secret, err := s.Client().CoreV1().Secrets(state.Namespace).Get(s.t.Context(), "zarf-package-"+name, meta.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return object(s.t, secret.Data["data"])
}

func object(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var o map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

// root is the repository; tests work in folders of their own later on.
var root = func() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return ""
}()

// shared is a file of the folder beside the repository that holds what Zarf made.
func shared(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(filepath.Dir(root), "shared", name)
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pack writes a package with synthetic images.
func pack(t testing.TB, definition string, files map[string]string, images ...packagetest.Image) string {
	t.Helper()
	entries, err := packagetest.ImageEntries(images...)
	if err != nil {
		t.Fatal(err)
	}
	return packagetest.BuildWith(t, t.TempDir(), definition, files, packagetest.Options{
		OmitImages: true,
		Content:    func(has []packagetest.Entry) []packagetest.Entry { return append(has, entries...) },
	})
}
