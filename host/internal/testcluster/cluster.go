package testcluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
)

// Variables by which the environment hands over a running control plane. Either
// is enough.
const (
	KubeconfigVariable = "ZARF_HOST_TEST_KUBECONFIG"
	DataDirVariable    = "ZARF_HOST_TEST_DATA_DIR"
)

// Cluster is a running control plane.
type Cluster struct {
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
	// binary and dataDir are set when the control plane is this process's own.
	binary, dataDir string
}

// open reads a kubeconfig; the control plane behind it is ready.
func open(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the test control plane: %w", err)
	}
	config.QPS = -1 // tests are not slowed down for the sake of a server of their own
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the test control plane: %w", err)
	}
	return &Cluster{kubeconfig: kubeconfig, config: config, client: client}, nil
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// REST is the administrator's client configuration; the caller may change it.
func (c *Cluster) REST() *rest.Config { return rest.CopyConfig(c.config) }

// Client is the administrator's client.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Namespace makes a namespace that nobody else uses and returns its name. It is
// deleted at the end of the test, without waiting: that takes ten seconds.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ns, err := c.client.CoreV1().Namespaces().Create(t.Context(),
		&core.Namespace{ObjectMeta: meta.ObjectMeta{GenerateName: "test-"}}, meta.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	tidy(t, func(ctx context.Context) error {
		return c.client.CoreV1().Namespaces().Delete(ctx, ns.Name, meta.DeleteOptions{})
	})
	// Until its default service account is there, the namespace takes no pods.
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := c.client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", meta.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting for the default service account of namespace %q: %v", ns.Name, err)
	}
	return ns.Name
}

// RestartAPIServer ends the API server, keeps it down for as long as given and
// returns when it is ready again. Only a control plane of Private can be
// restarted: other packages are using the shared one.
func (c *Cluster) RestartAPIServer(t testing.TB, down time.Duration) {
	t.Helper()
	if c.binary == "" {
		t.Fatal("restarting the API server: other packages use this control plane; take one from testcluster.Private")
	}
	cmd := exec.CommandContext(t.Context(), c.binary, "restart", "kube-apiserver",
		"--data-dir", c.dataDir, "--down-for", down.String())
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("restarting the API server: %v\n%s", err, output)
	}
}

// KubeconfigFor writes a kubeconfig without credentials for the server at url,
// such as a fault proxy, and returns its path.
func (c *Cluster) KubeconfigFor(t testing.TB, url string) string {
	t.Helper()
	return write(t, &clientcmdapi.Cluster{Server: url}, &clientcmdapi.AuthInfo{})
}

// Proxy starts a fault proxy in front of the API server for the time of the
// test, and writes a kubeconfig that leads through it.
func (c *Cluster) Proxy(t testing.TB) (proxy *faultproxy.Proxy, kubeconfig string) {
	t.Helper()
	proxy, err := faultproxy.ForCluster(c.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, c.KubeconfigFor(t, proxy.URL())
}

// User writes a kubeconfig that acts as the named user in the given groups, and
// returns its path. The user may do nothing until Allow says so. It holds the
// administrator's credentials and impersonates.
func (c *Cluster) User(t testing.TB, name string, groups ...string) string {
	t.Helper()
	raw, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatalf("reading the kubeconfig of the test control plane: %v", err)
	}
	current := raw.Contexts[raw.CurrentContext]
	auth := raw.AuthInfos[current.AuthInfo].DeepCopy()
	auth.Impersonate, auth.ImpersonateGroups = name, groups
	return write(t, raw.Clusters[current.Cluster], auth)
}

// Allow lets a user do what the rules say, in one namespace or, if it is empty,
// everywhere, until the end of the test.
func (c *Cluster) Allow(t testing.TB, user, namespace string, rules ...rbac.PolicyRule) {
	t.Helper()
	api, ctx := c.client.RbacV1(), t.Context()
	named := meta.ObjectMeta{GenerateName: "test-", Namespace: namespace}
	subjects := []rbac.Subject{{APIGroup: rbac.GroupName, Kind: rbac.UserKind, Name: user}}
	if namespace != "" { // all of it goes with the namespace
		role, err := api.Roles(namespace).Create(ctx, &rbac.Role{ObjectMeta: named, Rules: rules}, meta.CreateOptions{})
		if err != nil {
			t.Fatalf("creating a role for user %q: %v", user, err)
		}
		ref := rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: role.Name}
		binding := &rbac.RoleBinding{ObjectMeta: named, Subjects: subjects, RoleRef: ref}
		if _, err := api.RoleBindings(namespace).Create(ctx, binding, meta.CreateOptions{}); err != nil {
			t.Fatalf("binding role %q to user %q: %v", role.Name, user, err)
		}
		return
	}
	role, err := api.ClusterRoles().Create(ctx, &rbac.ClusterRole{ObjectMeta: named, Rules: rules}, meta.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a cluster role for user %q: %v", user, err)
	}
	tidy(t, func(ctx context.Context) error {
		return api.ClusterRoles().Delete(ctx, role.Name, meta.DeleteOptions{})
	})
	ref := rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: role.Name}
	binding, err := api.ClusterRoleBindings().Create(ctx,
		&rbac.ClusterRoleBinding{ObjectMeta: named, Subjects: subjects, RoleRef: ref}, meta.CreateOptions{})
	if err != nil {
		t.Fatalf("binding cluster role %q to user %q: %v", role.Name, user, err)
	}
	tidy(t, func(ctx context.Context) error {
		return api.ClusterRoleBindings().Delete(ctx, binding.Name, meta.DeleteOptions{})
	})
}

// tidyLimit is how long a test's traces may take to be deleted.
const tidyLimit = 30 * time.Second

// tidy deletes something when the test is over. It may fail: another test may have taken the server down, or
// this one what is to be deleted.
func tidy(t testing.TB, remove func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), tidyLimit)
		defer cancel()
		_ = remove(ctx)
	})
}

func write(t testing.TB, cluster *clientcmdapi.Cluster, auth *clientcmdapi.AuthInfo) string {
	t.Helper()
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name], config.AuthInfos[name] = cluster, auth
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	return path
}

// handedOver opens the control plane that the environment names, if it does.
func handedOver() (*Cluster, bool, error) {
	path := os.Getenv(KubeconfigVariable)
	if dir := os.Getenv(DataDirVariable); path == "" && dir != "" {
		path = filepath.Join(dir, "kubeconfig")
	}
	if path == "" {
		return nil, false, nil
	}
	c, err := open(path)
	return c, true, err
}
