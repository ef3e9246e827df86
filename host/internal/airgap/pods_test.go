package airgap_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/state"
)

const workloads = `
kind: ZarfPackageConfig
metadata: {name: workloads, version: 1.0.0}
components:
  - name: all
    required: true
    manifests:
      - {name: plain, namespace: @NS@, files: [plain.yaml]}
      - {name: ignored, namespace: @NS@-ignored, files: [ignored.yaml]}
    charts:
      - {name: hooked, version: 1.0.0, namespace: @NS@, localPath: hooked}
    images:
      - example.test/app/web:1.0.0
      - docker.io/library/tools:2.0.0
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: @NAME@}
spec:
  selector: {matchLabels: {app: @NAME@}}
  template:
    metadata: {labels: {app: @NAME@@LABELS@}}
    spec:
      imagePullSecrets: [{name: theirs}]
      initContainers: [{name: setup, image: "tools:2.0.0"}]
      containers: [{name: main, image: "example.test/app/web:1.0.0"}]
      volumes: [{name: data, image: {reference: "example.test/app/web:1.0.0"}}]
`

const cronJob = `
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "tools:2.0.0"}]
`

const hookJob = `
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "tools:2.0.0"}]
`

func workload(name, labels string) string {
	return strings.NewReplacer("@NAME@", name, "@LABELS@", labels).Replace(deployment)
}

// workloadPackage packs pods of many kinds, some of them in a namespace that wants to be left alone.
func workloadPackage(t *testing.T, s *site) (file, ns string) {
	t.Helper()
	ns = s.Namespace(t)
	_, err := s.Client().CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: meta.ObjectMeta{
		Name: ns + "-ignored", Labels: map[string]string{"zarf.dev/agent": "ignore"},
	}}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Client().CoreV1().Namespaces().Delete(context.Background(), ns+"-ignored", meta.DeleteOptions{}) // it goes with the control plane at the latest
	})
	return pack(t, strings.ReplaceAll(workloads, "@NS@", ns), map[string]string{
		"plain.yaml":                 workload("plain", "") + "---" + workload("asks", ", zarf.dev/agent: mutate") + "---" + workload("skips", ", zarf.dev/agent: skip") + cronJob,
		"ignored.yaml":               workload("ignored", ""),
		"hooked/Chart.yaml":          "apiVersion: v2\nname: hooked\nversion: 1.0.0\n",
		"hooked/templates/job.yaml":  hookJob,
		"hooked/templates/data.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: data}\n",
	}, packagetest.Image{Reference: "example.test/app/web:1.0.0", Layers: []packagetest.Layer{{Seed: 1, Size: 5000}}},
		packagetest.Image{Reference: "docker.io/library/tools:2.0.0", Layers: []packagetest.Layer{{Seed: 2, Size: 5000}}}), ns
}

// pod is what of a pod template the agent would change.
type pod struct {
	Pulls       []string
	Secrets     []string
	Patched     bool
	Annotations map[string]string
}

func podOf(template core.PodTemplateSpec) pod {
	p := pod{Patched: template.Labels["zarf-agent"] == "patched", Annotations: map[string]string{}}
	for name, value := range template.Annotations {
		if strings.HasPrefix(name, "zarf.dev/") {
			p.Annotations[name] = value
		}
	}
	for _, c := range append(template.Spec.InitContainers, template.Spec.Containers...) {
		p.Pulls = append(p.Pulls, c.Image)
	}
	for _, v := range template.Spec.Volumes {
		if v.Image != nil {
			p.Pulls = append(p.Pulls, v.Image.Reference)
		}
	}
	for _, s := range template.Spec.ImagePullSecrets {
		p.Secrets = append(p.Secrets, s.Name)
	}
	return p
}

// pods are the pods that the workloads of the package make, by the name of the workload.
func (s *site) pods(ns string) map[string]pod {
	s.t.Helper()
	out, ctx := map[string]pod{}, s.t.Context()
	for _, in := range []string{ns, ns + "-ignored"} {
		deployments, err := s.Client().AppsV1().Deployments(in).List(ctx, meta.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, d := range deployments.Items {
			out[d.Name] = podOf(d.Spec.Template)
		}
	}
	nightly, err := s.Client().BatchV1().CronJobs(ns).Get(ctx, "nightly", meta.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	out["nightly"] = podOf(nightly.Spec.JobTemplate.Spec.Template)
	migrate, err := s.Client().BatchV1().Jobs(ns).Get(ctx, "migrate", meta.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	out["migrate"] = podOf(migrate.Spec.Template)
	return out
}

const (
	web   = "example.test/app/web:1.0.0"
	tools = "tools:2.0.0"
)

// The checksums are those of example.test/app/web and docker.io/library/tools.
func mutated(address string) (whole, job pod) {
	toolsThere, webThere := address+"/library/tools:2.0.0-zarf-2895189159", address+"/app/web:1.0.0-zarf-3523075251"
	whole = pod{
		Pulls: []string{toolsThere, webThere, webThere}, Secrets: []string{"private-registry"}, Patched: true,
		Annotations: map[string]string{
			"zarf.dev/original-image-setup": tools, "zarf.dev/original-image-main": web, "zarf.dev/original-volume-data": web,
		},
	}
	job = pod{
		Pulls: []string{toolsThere}, Secrets: []string{"private-registry"}, Patched: true,
		Annotations: map[string]string{"zarf.dev/original-image-main": tools},
	}
	return whole, job
}

var (
	untouched    = pod{Pulls: []string{tools, web, web}, Secrets: []string{"theirs"}, Annotations: map[string]string{}}
	untouchedJob = pod{Pulls: []string{tools}, Annotations: map[string]string{}}
)

// TestPods: where no agent of Zarf's runs, pods are told where their images are as it would tell them.
func TestPods(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	file, ns := workloadPackage(t, s)
	s.mustDeploy(file)
	whole, job := mutated(r.Address())
	want := map[string]pod{"plain": whole, "asks": whole, "skips": untouched, "ignored": untouched, "nightly": job, "migrate": job}
	if diff := cmp.Diff(want, s.pods(ns)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	s.pullSecret(ns, r.Address(), "u", "p")
	for reference := range map[string]bool{"library/tools:2.0.0-zarf-2895189159": true, "app/web:1.0.0-zarf-3523075251": true} {
		if r.Tags(t)[reference] == "" {
			t.Errorf("pods pull %s, which the registry does not have", reference)
		}
	}
	s.running(ns, "plain", whole.Pulls[1])

	// Nothing of it changes when the same is deployed again: no pod is restarted.
	before, err := s.Client().AppsV1().Deployments(ns).Get(t.Context(), "plain", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.mustDeploy(file)
	after, err := s.Client().AppsV1().Deployments(ns).Get(t.Context(), "plain", meta.GetOptions{})
	if err != nil || after.Generation != before.Generation {
		t.Errorf("generation %d after %d, %v", after.Generation, before.Generation, err)
	}
}

// running waits for a pod of a workload that runs with an image.
func (s *site) running(ns, app, image string) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pods, err := s.Client().CoreV1().Pods(ns).List(ctx, meta.ListOptions{LabelSelector: "app=" + app})
		return err == nil && len(pods.Items) > 0 && pods.Items[0].Status.Phase == core.PodRunning &&
			pods.Items[0].Spec.Containers[0].Image == image, nil
	})
	if err != nil {
		s.t.Errorf("waiting for a pod with image %s: %v", image, err)
	}
}

// TestPodsLabelled: under the agent's policy "labeled" only what asks for it is changed.
func TestPodsLabelled(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.write(external(r.Address(), func(c *state.Cluster) { c.AgentMutationPolicy = "labeled" }))
	file, ns := workloadPackage(t, s)
	s.mustDeploy(file)
	whole, _ := mutated(r.Address())
	want := map[string]pod{
		"plain": untouched, "asks": whole, "skips": untouched, "ignored": untouched, "nightly": untouchedJob, "migrate": untouchedJob,
	}
	if diff := cmp.Diff(want, s.pods(ns)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// TestPodsWithAgent: where an agent was deployed, pods are left to it.
func TestPodsWithAgent(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.write(external(r.Address(), func(c *state.Cluster) {
		c.AgentTLS = state.KeyPair{CA: []byte("ca"), Cert: []byte("cert"), Key: []byte("key")}
	}))
	file, ns := workloadPackage(t, s)
	s.mustDeploy(file)
	s.allUntouched(ns)
	if len(r.Tags(t)) != 4 {
		t.Errorf("the registry has %v", r.Tags(t))
	}
}

func (s *site) allUntouched(ns string) {
	s.t.Helper()
	want := map[string]pod{
		"plain": untouched, "asks": untouched, "skips": untouched, "ignored": untouched, "nightly": untouchedJob, "migrate": untouchedJob,
	}
	if diff := cmp.Diff(want, s.pods(ns)); diff != "" {
		s.t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// external is the state of a cluster with an external registry, as Zarf writes it.
func external(address string, change func(*state.Cluster)) state.Cluster {
	c := state.Cluster{
		Distro: "unknown", IPFamily: "ipv4", AgentMutationPolicy: "all",
		RegistryInfo: state.Registry{
			PushUsername: "u", PushPassword: "p", PullUsername: "u", PullPassword: "p", Address: address,
			Secret: "s", Mode: state.RegistryExternal, MTLSStrategy: "none",
		},
	}
	change(&c)
	return c
}

// TestConnected asks the registry for nothing, and leaves pods as their author wrote them.
func TestConnected(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSite(t)
	s.init(strings.TrimPrefix(proxy.URL(), "http://"), "u", "p")
	proxy.Reset() // the credentials were tried
	file, ns := workloadPackage(t, s)
	s.mustDeploy(file, func(o *host.DeployOptions) { o.Connected = true })
	if n := proxy.Count(); n != 0 {
		t.Errorf("%d requests to the registry", n)
	}
	s.allUntouched(ns)
	if got := s.record("workloads")["packageConnectivity"]; got != "connected" {
		t.Errorf("recorded as %v", got)
	}
	if _, err := s.Client().CoreV1().Secrets(ns).Get(t.Context(), "private-registry", meta.GetOptions{}); err == nil {
		t.Error("a connected package got a Secret to pull with")
	}
}

// TestD9EachOnce: images that several components bring, and blobs that several images share, are
// sent once, and the second tag of an image is a manifest alone.
func TestD9EachOnce(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSite(t)
	s.init(strings.TrimPrefix(proxy.URL(), "http://"), "u", "p")
	s.mustDeploy(shared(t, "packages/zarf-package-demo-amd64-0.1.0.tar.zst"), components(allButRepo))
	sent := map[string]int{}
	for _, q := range proxy.Requests() {
		if q.Method != http.MethodPut || q.Status != http.StatusCreated {
			continue
		}
		if _, digest, ok := strings.Cut(q.Query, "digest="); ok {
			sent[digest]++
		} else {
			sent[q.Path]++
		}
	}
	// Eight blobs; twelve tags, and one digest.
	if len(sent) != 8+12+1 {
		t.Errorf("sent %d blobs and manifests, want 21: %v", len(sent), sent)
	}
	for what, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", what, n)
		}
	}
}

// TestD10Redeploy: what is there is asked for and not sent, in one session.
func TestD10Redeploy(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	proxy := r.Proxy(t)
	s := newSite(t)
	address := strings.TrimPrefix(proxy.URL(), "http://")
	s.init(address, "u", "p")
	file := shared(t, "packages/zarf-package-demo-amd64-0.1.0.tar.zst")
	s.mustDeploy(file, components(allButRepo))
	before := r.Tags(t)
	proxy.Reset()
	result := s.mustDeploy(file, components(allButRepo))
	methods := map[string]int{}
	asked := map[string]int{}
	for _, q := range proxy.Requests() {
		methods[q.Method]++
		if q.Status == http.StatusOK && strings.Contains(q.Path, "/manifests/") {
			asked[q.Path]++
		}
	}
	t.Logf("requests of a redeployment: %v", methods)
	if len(methods) != 1 || methods[http.MethodHead] == 0 {
		t.Errorf("%v, want HEAD requests alone", methods)
	}
	// Twelve tags and a digest: once for the plan, once more before the push.
	if len(asked) != 13 {
		t.Errorf("%d references were asked for, want 13: %v", len(asked), asked)
	}
	for path, n := range asked {
		if n > 2 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	for _, img := range result.Plan.Images {
		if img.Action != "present" {
			t.Errorf("the plan wants to %s %s", img.Action, img.Reference)
		}
	}
	if diff := cmp.Diff(before, r.Tags(t)); diff != "" {
		t.Errorf("the registry changed:\n%s", diff)
	}
	if _, err := json.Marshal(result.Plan); err != nil {
		t.Error(err)
	}
}
