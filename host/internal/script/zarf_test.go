package script_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// held are the names that tests hold: those of shared packages, which are the same in every test.
var held sync.Map

// scriptExclusive holds the name of a shared package until the script ends, and leaves nothing of it
// in the namespaces that it uses, before and after.
func scriptExclusive(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 0, "exclusive NAME [NAMESPACE…]")
	s := needCluster(ts)
	mutex, _ := held.LoadOrStore(args[0], &sync.Mutex{})
	lock := mutex.(*sync.Mutex)
	lock.Lock()
	s.t.Cleanup(lock.Unlock)
	s.t.Cleanup(func() { discard(s.t, s.cluster.Client(), args[0], args[1:]) })
	discard(s.t, s.cluster.Client(), args[0], args[1:])
}

// discard deletes a record and what its package has in namespaces. The namespaces stay: one takes
// ten seconds to go.
func discard(t testing.TB, client kubernetes.Interface, name string, namespaces []string) {
	ctx, all := context.Background(), meta.ListOptions{LabelSelector: "zarf.dev/package=" + name}
	del := meta.DeleteOptions{}
	api := client.CoreV1()
	_ = api.Secrets("zarf").Delete(ctx, "zarf-package-"+name, del) // it need not be there, nor need the rest
	_ = client.CoordinationV1().Leases("zarf").Delete(ctx, "zarf-package-"+name, del)
	for _, ns := range namespaces {
		_ = api.ConfigMaps(ns).DeleteCollection(ctx, del, all)
		_ = api.Secrets(ns).DeleteCollection(ctx, del, meta.ListOptions{LabelSelector: "owner=helm"})
		services, err := api.Services(ns).List(ctx, all)
		if err != nil {
			t.Logf("discarding what %s has in %s: %v", name, ns, err)
			continue
		}
		for _, svc := range services.Items {
			_ = api.Services(ns).Delete(ctx, svc.Name, del)
		}
	}
}

// scriptZarfLeft makes the cluster what Zarf left it: the records and releases of a sample, and the
// objects of each release that was deployed.
func scriptZarfLeft(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "zarf-left SAMPLE")
	var objects []map[string]any
	namespaces := map[string]bool{}
	for _, kind := range []string{"records", "releases"} {
		file := filepath.Join(ts.Getenv("SHARED"), "samples", "after-zarf", args[0]+"."+kind+".yaml")
		text, err := os.ReadFile(file)
		ts.Check(err)
		var list struct{ Items []core.Secret }
		ts.Check(yaml.Unmarshal(text, &list))
		for _, secret := range list.Items {
			namespaces[secret.Namespace] = true
			objects = append(objects, asObject(ts, secret))
			if secret.Labels["status"] == "deployed" {
				objects = append(objects, releaseObjects(ts, secret)...)
			}
		}
	}
	var out strings.Builder
	add := func(o any) {
		text, err := yaml.Marshal(o)
		ts.Check(err)
		out.WriteString("---\n")
		out.Write(text)
	}
	for ns := range namespaces {
		add(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
			"name": ns, "labels": map[string]any{"app.kubernetes.io/managed-by": "zarf", "zarf.dev/agent": "mutate"}}})
	}
	for _, o := range objects {
		add(o)
	}
	file := filepath.Join(ts.Getenv("TMPDIR"), "zarf-left.yaml")
	ts.Check(os.WriteFile(file, []byte(out.String()), 0o600))
	scriptKubectl(ts, false, []string{"apply", "--server-side", "--force-conflicts", "--field-manager=zarf", "-f", file})
}

func asObject(ts *testscript.TestScript, secret core.Secret) map[string]any {
	text, err := json.Marshal(core.Secret{
		TypeMeta:   meta.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta.ObjectMeta{Name: secret.Name, Namespace: secret.Namespace, Labels: secret.Labels},
		Type:       secret.Type, Data: secret.Data,
	})
	ts.Check(err)
	var o map[string]any
	ts.Check(json.Unmarshal(text, &o))
	return o
}

// releaseObjects are the objects of a release, marked as Helm marks what it installs.
func releaseObjects(ts *testscript.TestScript, secret core.Secret) []map[string]any {
	packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	ts.Check(err)
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	ts.Check(err)
	text, err := io.ReadAll(zr)
	ts.Check(err)
	var release struct{ Name, Namespace, Manifest string }
	ts.Check(json.Unmarshal(text, &release))
	var objects []map[string]any
	for _, doc := range strings.Split(release.Manifest, "\n---\n") {
		var o map[string]any
		ts.Check(yaml.Unmarshal([]byte(strings.TrimPrefix(doc, "---\n")), &o))
		if len(o) == 0 {
			continue
		}
		m := o["metadata"].(map[string]any)
		m["namespace"] = release.Namespace
		entries(m, "labels")["app.kubernetes.io/managed-by"] = "Helm"
		entries(m, "annotations")["meta.helm.sh/release-name"] = release.Name
		entries(m, "annotations")["meta.helm.sh/release-namespace"] = release.Namespace
		objects = append(objects, o)
	}
	return objects
}

// entries returns a map inside of metadata.
func entries(metadata map[string]any, key string) map[string]any {
	m, ok := metadata[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		metadata[key] = m
	}
	return m
}
