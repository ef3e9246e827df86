package persona_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/object"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Main(m)) }

// home is the namespace of the service accounts that tests make, deployers that of the example's.
const (
	home      = "default"
	deployers = "deployers"
)

// account is a service account and the way to the cluster as it.
type account struct {
	c          *testcluster.Cluster
	name       string
	kubeconfig string
}

// newAccount makes a service account that may do what everybody may.
func newAccount(t *testing.T, c *testcluster.Cluster, name string) *account {
	t.Helper()
	accounts := c.Client().CoreV1().ServiceAccounts(home)
	made := &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}}
	if _, err := accounts.Create(t.Context(), made, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return login(t, c, home, name)
}

// existing returns an account of the example.
func existing(t *testing.T, c *testcluster.Cluster, name string) *account {
	t.Helper()
	return login(t, c, deployers, name)
}

func login(t *testing.T, c *testcluster.Cluster, namespace, name string) *account {
	t.Helper()
	hour := int64(3600)
	token, err := c.Client().CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name,
		&authentication.TokenRequest{Spec: authentication.TokenRequestSpec{ExpirationSeconds: &hour}}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = admin.Clusters[admin.Contexts[admin.CurrentContext].Cluster]
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return &account{c: c, name: name, kubeconfig: path}
}

func (a *account) common() host.Common {
	return host.Common{Cluster: cluster.Options{Kubeconfig: a.kubeconfig}, Timeout: time.Minute, User: a.name}
}

func (a *account) subjects() []rbac.Subject {
	return []rbac.Subject{{Kind: rbac.ServiceAccountKind, Namespace: home, Name: a.name}}
}

// grant lets the account do exactly what the permissions say, which it returns to once the server
// knows. Permissions in a namespace that does not exist yet are granted everywhere: nobody can make
// a role there.
func (a *account) grant(t *testing.T, all []object.Permission) {
	t.Helper()
	rules := map[string][]rbac.PolicyRule{"": nil}
	for _, p := range all {
		resource := p.Resource
		if p.Subresource != "" {
			resource += "/" + p.Subresource
		}
		namespace := p.Namespace
		if namespace != "" && !a.exists(t, namespace) {
			namespace = ""
		}
		rules[namespace] = append(rules[namespace], rbac.PolicyRule{
			Verbs: []string{p.Verb}, APIGroups: []string{p.Group}, Resources: []string{resource}, ResourceNames: p.Names,
		})
	}
	for namespace, list := range rules {
		if namespace == "" {
			a.grantEverywhere(t, list)
		} else {
			a.grantIn(t, namespace, list)
		}
	}
}

func (a *account) exists(t *testing.T, namespace string) bool {
	t.Helper()
	_, err := a.c.Client().CoreV1().Namespaces().Get(t.Context(), namespace, meta.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func (a *account) grantIn(t *testing.T, namespace string, rules []rbac.PolicyRule) {
	t.Helper()
	api, named := a.c.Client().RbacV1(), meta.ObjectMeta{Name: a.name, Namespace: namespace}
	// An update of a role that does not exist creates it.
	if _, err := api.Roles(namespace).Update(t.Context(), &rbac.Role{ObjectMeta: named, Rules: rules}, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := api.RoleBindings(namespace).Create(t.Context(), &rbac.RoleBinding{
		ObjectMeta: named, Subjects: a.subjects(), RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: a.name},
	}, meta.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func (a *account) grantEverywhere(t *testing.T, rules []rbac.PolicyRule) {
	t.Helper()
	api, named := a.c.Client().RbacV1(), meta.ObjectMeta{Name: a.name}
	if _, err := api.ClusterRoles().Update(t.Context(), &rbac.ClusterRole{ObjectMeta: named, Rules: rules}, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := api.ClusterRoleBindings().Create(t.Context(), &rbac.ClusterRoleBinding{
		ObjectMeta: named, Subjects: a.subjects(), RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: a.name},
	}, meta.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// await waits until the server, which learns of roles a moment after they are written, allows all of
// some permissions and none of others.
func (a *account) await(t *testing.T, allowed, denied []object.Permission) {
	t.Helper()
	ctx, deadline := t.Context(), time.Now().Add(10*time.Second)
	o := a.common().Cluster
	o.QPS, o.Burst = 1000, 1000
	conn, err := cluster.Connect(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		lacking, err := conn.Denied(ctx, slices.Concat(allowed, denied))
		if err != nil {
			t.Fatalf("asking for the rights of %s: %v", a.name, err)
		}
		if slices.EqualFunc(lacking, denied, func(x, y object.Permission) bool { return x.Compare(y) == 0 }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s lacks the rights to %v, want %v", a.name, lacking, denied)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
