package airgap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/plan"
	"github.com/zarf-host/zarf-host/host/state"
)

// images is a package whose components have images and a ConfigMap each: "web x:1 y:1".
func images(t testing.TB, name, version string, components ...string) string {
	t.Helper()
	var definition strings.Builder
	fmt.Fprintf(&definition, "kind: ZarfPackageConfig\nmetadata: {name: %s, version: %s}\ncomponents:\n", name, version)
	files := map[string]string{}
	var has []packagetest.Image
	for _, text := range components {
		fields := strings.Fields(text)
		component := fields[0]
		fmt.Fprintf(&definition, "  - name: %s\n    required: false\n    default: true\n", component)
		fmt.Fprintf(&definition, "    manifests: [{name: m, namespace: %s, files: [%s.yaml]}]\n    images:\n", name, component)
		files[component+".yaml"] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", component)
		for _, image := range fields[1:] {
			reference := "a.test/" + image
			if strings.HasPrefix(image, "127.") {
				reference = image
			}
			fmt.Fprintf(&definition, "      - %q\n", reference)
			if !slices.ContainsFunc(has, func(i packagetest.Image) bool { return i.Reference == reference }) {
				has = append(has, packagetest.Image{Reference: reference, Layers: noise(reference)})
			}
		}
		if len(fields) == 1 {
			definition.WriteString("      []\n")
		}
	}
	return pack(t, definition.String(), files, has...)
}

// noise is a layer that the name of an image tells.
func noise(reference string) []packagetest.Layer {
	var sum byte
	for _, b := range []byte(reference) {
		sum = sum*31 + b
	}
	return []packagetest.Layer{{Seed: sum, Size: 1000 + int64(sum)}}
}

// prune asks for scopes.
func prune(scopes ...plan.Scope) func(*host.DeployOptions) {
	return func(o *host.DeployOptions) { o.Prune = scopes }
}

func pruneImages(o *host.DeployOptions) { o.Prune = plan.Scopes{plan.ScopeImages} }

// override deploys into another namespace.
func override(namespace string) []config.Layer {
	return []config.Layer{{Origin: config.OriginFlag, Config: state.DeployConfig{NamespaceOverride: namespace}}}
}

// removeWith removes a package or some of its components, with its images.
func (s *site) removeWith(target string, change ...func(*host.RemoveOptions)) (host.Result, error) {
	s.t.Helper()
	o := host.RemoveOptions{Common: s.options(), Target: target, Prune: plan.Scopes{plan.ScopeImages}}
	for _, c := range change {
		c(&o)
	}
	return host.Remove(s.t.Context(), o)
}

// named are the plain tags of a registry, without the ones that pods use: "x:1".
func named(t testing.TB, r *testregistry.Registry) string {
	t.Helper()
	var out, sums []string
	for tag := range r.Tags(t) {
		if name, _, pods := strings.Cut(tag, "-zarf-"); pods {
			sums = append(sums, name)
		} else {
			out = append(out, tag)
		}
	}
	slices.Sort(out)
	slices.Sort(sums)
	if !slices.Equal(out, sums) {
		t.Errorf("the registry has %v, and for pods %v", out, sums)
	}
	return strings.Join(out, " ")
}

// own is what our key of a record remembers.
func (s *site) own(name string) state.Own {
	s.t.Helper()
	secret, err := s.Client().CoreV1().Secrets(state.Namespace).Get(s.t.Context(), state.SecretName(name, ""), meta.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	record, err := state.Decode(secret.Data[state.DataKey], secret.Data[state.OwnKey])
	if err != nil {
		s.t.Fatal(err)
	}
	return record.Own
}

// pushed are the plain references on record, with the version that used each last.
func (s *site) pushed(name, address string) string {
	var out []string
	for _, i := range s.own(name).Pushed {
		if !strings.Contains(i.Reference, "-zarf-") {
			out = append(out, strings.TrimPrefix(i.Reference, address+"/")+"="+i.Version)
		}
	}
	return strings.Join(out, " ")
}

func (s *site) recorded(name string) bool {
	s.t.Helper()
	_, err := s.Client().CoreV1().Secrets(state.Namespace).Get(s.t.Context(), state.SecretName(name, ""), meta.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	return err == nil
}

// kept are the reasons for which a plan keeps references.
func kept(p plan.Plan) map[string]string {
	out := map[string]string{}
	for _, k := range p.Prune.Kept {
		if k.Image != "" {
			out[k.Image] = k.By + ": " + k.Reason
		}
	}
	return out
}

// TestD1PlanShowsWhatAPruneWouldTake deploys three versions without prune: nothing goes, and the plan of
// the fourth with it lists what each version alone had, with bytes and the version that used it last.
func TestD1PlanShowsWhatAPruneWouldTake(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	for i, version := range []string{"1.0.0", "2.0.0", "3.0.0"} {
		s.mustDeploy(images(t, "shop", version, fmt.Sprintf("web x:%d base:1", i+1)))
	}
	if got := named(t, r); got != "base:1 x:1 x:2 x:3" {
		t.Fatalf("nothing was asked to go, and the registry has %s", got)
	}
	if got := s.pushed("shop", r.Address()); got != "base:1=3.0.0 x:1=1.0.0 x:2=2.0.0 x:3=3.0.0" {
		t.Fatalf("on record: %s", got)
	}
	v4 := images(t, "shop", "4.0.0", "web x:4 base:1")

	result, err := s.deploy(v4, func(o *host.DeployOptions) { o.DryRun = true })
	if err != nil || len(result.Plan.Prune.Images) > 0 {
		t.Fatalf("unasked: %+v, %v", result.Plan.Prune, err)
	}
	if !slices.ContainsFunc(result.Plan.Warnings, func(w string) bool {
		return strings.Contains(w, "6 references") && strings.Contains(w, "--prune=images")
	}) {
		t.Errorf("the plan does not say what is orphaned: %v", result.Plan.Warnings)
	}
	result, err = s.deploy(v4, pruneImages, func(o *host.DeployOptions) { o.DryRun = true })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range result.Plan.Prune.Images {
		if !strings.Contains(i.Reference, "-zarf-") {
			want := r.Digest(t, "x", i.Reference[strings.LastIndexByte(i.Reference, ':')+1:])
			if i.Digest != want || i.Bytes < 1000 {
				t.Errorf("%s is %s with %d bytes, want %s", i.Reference, i.Digest, i.Bytes, want)
			}
			got = append(got, strings.TrimPrefix(i.Reference, r.Address()+"/")+" "+string(i.Reason)+" "+i.Version)
		}
	}
	if diff := cmp.Diff([]string{"x:1 left 1.0.0", "x:2 left 2.0.0", "x:3 dropped 3.0.0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	s.mustDeploy(v4, pruneImages, func(o *host.DeployOptions) { o.PlanDigest = result.Plan.Digest })
	if got := named(t, r); got != "base:1 x:4" {
		t.Errorf("after the prune the registry has %s", got)
	}
	if got := s.pushed("shop", r.Address()); got != "base:1=4.0.0 x:4=4.0.0" {
		t.Errorf("on record: %s", got)
	}
	again := s.mustDeploy(v4, pruneImages)
	if len(again.Plan.Prune.Images) > 0 || len(again.Applied.Images) > 0 {
		t.Errorf("a repeat prunes %+v", again.Plan.Prune.Images)
	}

	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r); got != "" || s.recorded("shop") {
		t.Errorf("after the removal the registry has %q, recorded: %v", got, s.recorded("shop"))
	}
}

// TestPruneShared: what another package has stays, also where it is deployed under an override, until
// the last one goes.
func TestPruneShared(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.ensureNamespace("else")
	mall := images(t, "mall", "1.0.0", "m both:1 mall:1")
	s.t.Cleanup(func() {
		_, _ = s.removeWith("mall", func(o *host.RemoveOptions) { o.NamespaceOverride = "else" }) // it is gone, if all went well
	})
	if _, err := host.Deploy(t.Context(), host.DeployOptions{Common: s.options(), Source: mall, Layers: override("else")}); err != nil {
		t.Fatal(err)
	}
	s.mustDeploy(images(t, "shop", "1.0.0", "web both:1 shop:1"))
	result := s.mustDeploy(images(t, "shop", "2.0.0", "web shop:2"), pruneImages)
	if got := named(t, r); got != "both:1 mall:1 shop:2" {
		t.Errorf("the registry has %s", got)
	}
	if why := kept(result.Plan)[r.Address()+"/both:1"]; why != `package: package "mall" 1.0.0 in namespace "else" has it` {
		t.Errorf("both:1 is kept by %q: %v", why, kept(result.Plan))
	}
	if _, err := s.removeWith("mall", func(o *host.RemoveOptions) { o.NamespaceOverride = "else" }); err != nil {
		t.Fatal(err)
	}
	// Its tags for pods and people went with mall, whose own they were too.
	if got := named(t, r); got != "shop:2" {
		t.Errorf("after mall went the registry has %s", got)
	}
	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r); got != "" {
		t.Errorf("at the end the registry has %s", got)
	}
}

// TestPruneSomeComponents removes one component: what the others have stays.
func TestPruneSomeComponents(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web both:1 web:1", "db both:1 db:1"))
	if _, err := s.removeWith("shop", func(o *host.RemoveOptions) { o.Components = "db" }); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r); got != "both:1 web:1" || !s.recorded("shop") {
		t.Errorf("the registry has %s", got)
	}
	if got := s.pushed("shop", r.Address()); got != "both:1=1.0.0 web:1=1.0.0" {
		t.Errorf("on record: %s", got)
	}
}

// TestPruneComponents prunes a component with its images; without the scope of cluster resources it
// stays, and so do they.
func TestPruneComponents(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web web:1", "db db:1"))
	v2 := images(t, "shop", "2.0.0", "web web:2")
	s.mustDeploy(v2, pruneImages)
	if got := named(t, r); got != "db:1 web:2" {
		t.Errorf("with images alone the registry has %s", got)
	}
	s.mustDeploy(v2, prune(plan.ScopeClusterResources, plan.ScopeImages))
	if got := named(t, r); got != "web:2" {
		t.Errorf("with everything the registry has %s", got)
	}
}

// TestPruneForeign: tags of others on the same manifest survive, and so does what is put under our tag
// since.
func TestPruneForeign(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1"))
	copyTag(t, r, "x", "1", "x", "mine")
	copyTag(t, r, "y", "1", "y", "other") // keeps y's manifest
	replaceTag(t, r, "y", "1")
	result := s.mustDeploy(images(t, "shop", "2.0.0", "web z:1"), pruneImages)
	tags := slices.Sorted(maps.Keys(r.Tags(t)))
	tags = slices.DeleteFunc(tags, func(tag string) bool { return strings.Contains(tag, "-zarf-") })
	if got := strings.Join(tags, " "); got != "x:mine y:1 y:other z:1" {
		t.Errorf("the registry has %s", got)
	}
	if why := kept(result.Plan)[r.Address()+"/y:1"]; !strings.HasPrefix(why, "registry: somebody else put another image there: sha256:") {
		t.Errorf("y:1 is kept by %q", why)
	}
	if r.Digest(t, "x", "mine") == "" {
		t.Error("the manifest went with the tags of ours")
	}
}

// TestPruneByDigest: images that are pinned by digest, of an image and of an index, go by digest unless
// something in their repository has them.
func TestPruneByDigest(t *testing.T) {
	pin := func(name string, index bool) (packagetest.Image, string, string) {
		i := packagetest.Image{Reference: "a.test/" + name, Layers: noise(name), Index: index}
		root, below, err := i.Digests()
		if err != nil {
			t.Fatal(err)
		}
		i.Reference += "@" + root
		return i, root, below
	}
	single, singleDigest, _ := pin("single", false)
	index, indexDigest, below := pin("index", true)
	child := packagetest.Image{Reference: "a.test/index", Layers: noise("index")}
	child.Reference += "@" + below
	held, heldDigest, _ := pin("held", false)
	var list strings.Builder
	for _, i := range []packagetest.Image{single, index, child, held} {
		fmt.Fprintf(&list, "\n      - %q", i.Reference)
	}
	v1 := pack(t, "kind: ZarfPackageConfig\nmetadata: {name: shop, version: 1.0.0}\ncomponents:\n  - name: web\n    required: true\n    images:"+list.String()+"\n",
		nil, single, index, child, held)
	v2 := images(t, "shop", "2.0.0", "web z:1")

	t.Run("they go", func(t *testing.T) {
		r := testregistry.Start(t, testregistry.Options{})
		s := newSite(t)
		s.init(r.Address(), "u", "p")
		s.mustDeploy(v1)
		copyTag(t, r, "held", heldDigest, "held", "mine")
		result := s.mustDeploy(v2, pruneImages)
		if r.Digest(t, "single", singleDigest) != "" || r.Digest(t, "index", indexDigest) != "" || r.Digest(t, "index", below) != "" {
			t.Errorf("something by digest is still there: %+v", result.Applied.Images)
		}
		if r.Digest(t, "held", "mine") != heldDigest {
			t.Error("an image that a foreign tag has went")
		}
		if why := kept(result.Plan)[r.Address()+"/held@"+heldDigest]; why != "registry: tag mine in its repository has it too" {
			t.Errorf("held is kept by %q", why)
		}
	})
	t.Run("a tagged index has one", func(t *testing.T) {
		r := testregistry.Start(t, testregistry.Options{})
		s := newSite(t)
		s.init(r.Address(), "u", "p")
		s.mustDeploy(v1)
		copyTag(t, r, "index", indexDigest, "index", "mine")
		result := s.mustDeploy(v2, pruneImages)
		if r.Digest(t, "index", "mine") != indexDigest || r.Digest(t, "index", below) != below {
			t.Error("a foreign tag lost its index, or the index its image")
		}
		if why := kept(result.Plan)[r.Address()+"/index@"+below]; why != "registry: index "+indexDigest+" in its repository has it too" {
			t.Errorf("the image in the index is kept by %q", why)
		}
	})
	t.Run("another package names the index", func(t *testing.T) {
		r := testregistry.Start(t, testregistry.Options{})
		s := newSite(t)
		s.init(r.Address(), "u", "p")
		s.mustDeploy(v1)
		s.mustDeploy(pack(t, fmt.Sprintf("kind: ZarfPackageConfig\nmetadata: {name: mall, version: 1.0.0}\ncomponents:\n  - name: m\n    required: true\n    images: [%q]\n", index.Reference), nil, index))
		s.mustDeploy(v2, pruneImages)
		if r.Digest(t, "index", indexDigest) != indexDigest || r.Digest(t, "index", below) != below {
			t.Error("the other package lost its index, or the index its image")
		}
		if r.Digest(t, "single", singleDigest) != "" {
			t.Error("what nobody has is still there")
		}
	})
}

// TestPruneIdentity: an image whose host is the registry may have been put there by anybody.
func TestPruneIdentity(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web "+r.Address()+"/own:1 x:1"))
	s.mustDeploy(images(t, "shop", "2.0.0", "web x:1"), pruneImages)
	if r.Digest(t, "own", "1") == "" {
		t.Error("it went with the version that had it")
	}
	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "own", "1") == "" || r.Digest(t, "x", "1") != "" {
		t.Error("it went with the package, or what is ours did not")
	}
}

// TestPruneConnected: a connected deployment pushed nothing, so nothing of its record goes; what an
// earlier one pushed does.
func TestPruneConnected(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "mall", "1.0.0", "m x:1 y:1"))
	s.mustDeploy(images(t, "shop", "1.0.0", "web z:1"))
	connected := func(o *host.DeployOptions) { o.Connected = true }
	s.mustDeploy(images(t, "shop", "2.0.0", "web x:1 old:1"), connected)
	copyTag(t, r, "z", "1", "old", "1")
	if _, err := s.removeWith("mall"); err != nil {
		t.Fatal(err)
	}
	if got := r.Digest(t, "x", "1"); got == "" {
		t.Error("x:1, which the connected package has, went")
	}
	if _, err := s.removeWith("shop"); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "old", "1") == "" || r.Digest(t, "x", "1") == "" || r.Digest(t, "z", "1") != "" || r.Digest(t, "y", "1") != "" {
		t.Errorf("after all the registry has %v", r.Tags(t))
	}
}

// TestPruneUnreadable: nobody knows what a package needs whose record cannot be read. The rest of a
// prune goes on without images.
func TestPruneUnreadable(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1", "db db:1"))
	secrets := s.Client().CoreV1().Secrets(state.Namespace)
	_, err := secrets.Create(t.Context(), &core.Secret{
		ObjectMeta: meta.ObjectMeta{Name: "zarf-package-broken", Labels: map[string]string{state.PackageLabel: "broken"}},
		Data:       map[string][]byte{state.DataKey: []byte("{no json")},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := secrets.Delete(context.WithoutCancel(t.Context()), "zarf-package-broken", meta.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	before := s.own("shop")
	v2 := images(t, "shop", "2.0.0", "web x:2")
	for name, try := range map[string]func() (host.Result, error){
		"deploy": func() (host.Result, error) { return s.deploy(v2, prune(plan.ScopeClusterResources, plan.ScopeImages)) },
		"remove": func() (host.Result, error) { return s.removeWith("shop") },
	} {
		_, err := try()
		var refused *host.PreflightError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), `"zarf-package-broken"`) {
			t.Errorf("%s: %v", name, err)
		}
		hinted(t, err, "leave images out of --prune")
	}
	if diff := cmp.Diff(before, s.own("shop")); diff != "" || named(t, r) != "db:1 x:1" {
		t.Errorf("something was changed: %s", diff)
	}
	s.mustDeploy(v2, prune(plan.ScopeClusterResources))
	if got := named(t, r); got != "db:1 x:1 x:2" || len(s.record("shop")["deployedComponents"].([]any)) != 1 {
		t.Errorf("without images: the registry has %s, the record %v", got, s.record("shop")["deployedComponents"])
	}
}

// hinted holds that an error says what to do about it.
func hinted(t testing.TB, err error, want string) {
	t.Helper()
	var hint interface{ Hint() string }
	var refused *host.ImagePruneError
	if !errors.As(err, &refused) {
		t.Errorf("%v is not about images", err)
		return
	}
	if hint = refused; !strings.Contains(hint.Hint(), want) {
		t.Errorf("the hint is %q, want %q", hint.Hint(), want)
	}
}

// TestPruneRights: who may not read the other packages' records prunes no images, and everything else.
func TestPruneRights(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1"))
	const user = "narrow"
	s.kubeconfig = s.User(t, user)
	everything := []string{"*"}
	s.Allow(t, user, "shop", rbac.PolicyRule{Verbs: everything, APIGroups: everything, Resources: everything})
	s.Allow(t, user, state.Namespace,
		rbac.PolicyRule{Verbs: []string{"get", "create", "update", "patch", "delete"}, APIGroups: everything, Resources: []string{"secrets", "leases"}})
	s.Allow(t, user, "", rbac.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"namespaces"}})
	v2 := images(t, "shop", "2.0.0", "web x:2")
	for name, try := range map[string]func() (host.Result, error){
		"deploy": func() (host.Result, error) { return s.deploy(v2, pruneImages) },
		"remove": func() (host.Result, error) { return s.removeWith("shop") },
	} {
		_, err := try()
		var refused *host.PreflightError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "cannot list") || !strings.Contains(err.Error(), "secrets") ||
			!strings.Contains(err.Error(), `in the namespace "zarf"`) {
			t.Errorf("%s: %v", name, err)
		}
		hinted(t, err, "leave images out of --prune")
	}
	if got := named(t, r); got != "x:1" {
		t.Errorf("something was changed: the registry has %s", got)
	}
	s.mustDeploy(v2)
	if got := named(t, r); got != "x:1 x:2" {
		t.Errorf("without images: the registry has %s", got)
	}
}

// TestPrunePods: what a pod runs that no record knows of stays, and is said; once it is gone the next
// prune takes it.
func TestPrunePods(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1"))
	var tag string
	for name := range r.Tags(t) {
		if strings.Contains(name, "-zarf-") {
			tag = name
		}
	}
	ns := s.Namespace(t)
	pods := s.Client().CoreV1().Pods(ns)
	_, err := pods.Create(t.Context(), &core.Pod{
		ObjectMeta: meta.ObjectMeta{Name: "by-hand"},
		Spec:       core.PodSpec{Containers: []core.Container{{Name: "c", Image: r.Address() + "/" + tag}}},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v2 := images(t, "shop", "2.0.0", "web x:2")
	result := s.mustDeploy(v2, pruneImages)
	if r.Digest(t, "x", strings.TrimPrefix(tag, "x:")) == "" {
		t.Error("an image that a pod runs went")
	}
	if why := kept(result.Plan)[r.Address()+"/"+tag]; why != fmt.Sprintf("pod: a pod in namespace %q runs it", ns) {
		t.Errorf("it is kept by %q", why)
	}
	zero := int64(0)
	if err := pods.Delete(t.Context(), "by-hand", meta.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	s.mustDeploy(v2, pruneImages)
	if got := named(t, r); got != "x:2" {
		t.Errorf("after the pod went the registry has %s", got)
	}
}

// TestPruneHooks: pre-prune is asked about images, on deploy and remove, and keeps them.
func TestPruneHooks(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	s := newSite(t)
	s.init(r.Address(), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1"))
	guard := &keeper{image: r.Address() + "/x:1"}
	plugins := func(o *host.DeployOptions) { o.Plugins = []host.Plugin{guard} }
	result := s.mustDeploy(images(t, "shop", "2.0.0", "web z:1"), pruneImages, plugins)
	if r.Digest(t, "x", "1") == "" || r.Digest(t, "y", "1") != "" {
		t.Errorf("the registry has %v", r.Tags(t))
	}
	if why := kept(result.Plan)[guard.image]; why != `plugin "keeper": people still pull it` {
		t.Errorf("it is kept by %q", why)
	}
	if len(guard.asked) != 4 {
		t.Errorf("it was asked about %v", guard.asked)
	}
	guard.asked = nil
	if _, err := s.removeWith("shop", func(o *host.RemoveOptions) { o.Plugins = []host.Plugin{guard} }); err != nil {
		t.Fatal(err)
	}
	if r.Digest(t, "x", "1") == "" || r.Digest(t, "z", "1") != "" || len(guard.asked) == 0 || s.recorded("shop") {
		t.Errorf("after the removal, asked about %v, the registry has %v", guard.asked, r.Tags(t))
	}
}

// keeper keeps one image.
type keeper struct {
	image string
	asked []string // about which references
}

func (k *keeper) Name() string       { return "keeper" }
func (k *keeper) Info() plan.Plugin  { return plan.Plugin{Name: "keeper", Digest: "none"} }
func (k *keeper) Hooks() []hook.Name { return []hook.Name{hook.PrePrune} }

func (k *keeper) Ask(_ context.Context, r hook.Request) (hook.Response, error) {
	var p struct {
		Prune struct {
			Images []struct{ Reference string }
		}
	}
	if err := json.Unmarshal(r.Plan, &p); err != nil {
		return hook.Response{}, err
	}
	response := hook.Response{APIVersion: hook.APIVersion, Kind: hook.ResponseKind, ID: r.ID, Verdict: hook.Allow}
	for _, i := range p.Prune.Images {
		k.asked = append(k.asked, i.Reference)
		if i.Reference == k.image {
			response.Keep = []hook.Keep{{Image: i.Reference, Reason: "people still pull it"}}
		}
	}
	return response, nil
}

// outcomes are what became of references: "x:1 deleted".
func outcomes(done *apply.Result, address string) map[string]apply.ImageOutcome {
	out := map[string]apply.ImageOutcome{}
	for _, i := range done.Images {
		if !strings.Contains(i.Reference, "-zarf-") {
			out[strings.TrimPrefix(i.Reference, address+"/")] = i.Outcome
		}
	}
	return out
}

// copyTag puts a manifest under another tag of a repository of a registry, as somebody else would.
// From another repository only the tag is copied whose blobs are there: none is checked.
func copyTag(t testing.TB, r *testregistry.Registry, from, reference, to, tag string) {
	t.Helper()
	mediaType, body := manifest(t, r, from, reference)
	if from != to {
		var m struct {
			Config struct{ Digest string }
			Layers []struct{ Digest string }
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		for _, blob := range append([]string{m.Config.Digest}, m.Layers[0].Digest) {
			if status := request(t, http.MethodPost, fmt.Sprintf("%s/v2/%s/blobs/uploads/?mount=%s&from=%s", r.URL(), to, blob, from), "", nil); status != http.StatusCreated {
				t.Fatalf("mounting a blob: %d", status)
			}
		}
	}
	put(t, r, to, tag, mediaType, body)
}

// replaceTag puts another manifest under a tag.
func replaceTag(t testing.TB, r *testregistry.Registry, repository, tag string) {
	t.Helper()
	mediaType, body := manifest(t, r, repository, tag)
	put(t, r, repository, tag, mediaType, append(body, '\n'))
}

func put(t testing.TB, r *testregistry.Registry, repository, tag, mediaType string, body []byte) {
	t.Helper()
	if status := request(t, http.MethodPut, r.URL()+"/v2/"+repository+"/manifests/"+tag, mediaType, body); status != http.StatusCreated {
		t.Fatalf("putting a manifest: %d", status)
	}
}

func manifest(t testing.TB, r *testregistry.Registry, repository, reference string) (mediaType string, body []byte) {
	t.Helper()
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+"/v2/"+repository+"/manifests/"+reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	get.Header["Accept"] = []string{"application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json"}
	response, err := http.DefaultClient.Do(get)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("reading %s of %s: %s, %v", reference, repository, response.Status, err)
	}
	return response.Header.Get("Content-Type"), body
}

func request(t testing.TB, method, url, mediaType string, body []byte) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", mediaType)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
