package airgap_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/config"
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
