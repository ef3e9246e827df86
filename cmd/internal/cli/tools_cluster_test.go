package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/zarf-host/zarf-host/host/state"
)

// initialised serves the little of a cluster that says how it was initialised, and makes it the one
// that the environment names.
func initialised(t *testing.T, s *state.Cluster) {
	t.Helper()
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/version":
			answer(w, http.StatusOK, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
		case s != nil && r.URL.Path == "/api/v1/namespaces/zarf/secrets/zarf-state":
			data, err := s.Encode()
			if err != nil {
				t.Error(err)
			}
			answer(w, http.StatusOK, map[string]any{
				"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": "zarf-state", "namespace": "zarf"},
				"data": map[string]string{"state": base64.StdEncoding.EncodeToString(data)},
			})
		default:
			answer(w, http.StatusNotFound, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404})
		}
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"users: [{name: u}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n", server.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "test")
	return code, out.String(), errs.String()
}

func external(address string) *state.Cluster {
	return &state.Cluster{
		RegistryInfo: state.Registry{
			Address: address, Mode: state.RegistryExternal,
			PushUsername: "push-user", PushPassword: "push-password", PullUsername: "pull-user", PullPassword: "pull-password",
		},
		GitServer: state.GitServer{
			Address:      state.InternalGitServer,
			PushUsername: "git-user", PushPassword: "git-password", PullUsername: "git-reader", PullPassword: "git-read",
		},
		ArtifactServer: state.ArtifactServer{Address: "http://x", PushUsername: "artifact-user", PushPassword: "artifact-token"},
	}
}

func TestGetCreds(t *testing.T) {
	initialised(t, external("registry.example:5000"))
	for key, want := range map[string]string{
		"registry": "push-password\n", "registry-readonly": "pull-password\n", "git": "git-password\n",
		"git-readonly": "git-read\n", "artifact": "artifact-token\n",
	} {
		if code, out, errs := run(t, "tools", "get-creds", key); code != 0 || out != want {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", key, code, out, errs)
		}
	}
	if code, out, errs := run(t, "t", "gc", "loki"); code != 1 || out != "" || !strings.Contains(errs, "registry, registry-readonly, git, git-readonly, artifact") {
		t.Errorf("another key: exit code %d, stdout %q, stderr %q", code, out, errs)
	}
	_, out, _ := run(t, "tools", "get-creds")
	if !strings.Contains(out, "Git (read-only)       git-reader     git-read        zarf connect git  git-readonly\n") {
		t.Errorf("as a table:\n%s", out)
	}
	_, out, _ = run(t, "tools", "get-creds", "-o", "json")
	var rows []map[string]string
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"application": "Registry", "username": "push-user", "password": "push-password", "connect": "", "getCredsKey": "registry",
	}
	if len(rows) != 5 || cmp.Diff(want, rows[0]) != "" {
		t.Errorf("as JSON: %s", out)
	}
}

func TestGetCredsOfAClusterWithout(t *testing.T) {
	initialised(t, nil)
	if code, _, errs := run(t, "tools", "get-creds"); code != 1 || !strings.Contains(errs, "not initialised") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	initialised(t, &state.Cluster{})
	if code, _, errs := run(t, "tools", "get-creds", "git"); code != 1 || !strings.Contains(errs, "neither registry nor git server") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	if code, _, errs := run(t, "tools", "registry", "catalog"); code != 1 || !strings.Contains(errs, "which registry?") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// registryWith serves an empty registry, and remembers who asked it.
func registryWith(t *testing.T, username, password string) (address string, logins *[]string) {
	t.Helper()
	logins = &[]string{}
	inner := registry.New(registry.Logger(log.New(&bytes.Buffer{}, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, given, ok := r.BasicAuth()
		if ok {
			*logins = append(*logins, user)
		}
		if username != "" && (user != username || given != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), logins
}

// The cluster's registry is reached with the credentials of its state, which no other registry sees.
func TestRegistryOfTheCluster(t *testing.T) {
	ours, _ := registryWith(t, "push-user", "push-password")
	other, seen := registryWith(t, "", "")
	initialised(t, external(ours+"/below"))
	if code, out, errs := run(t, "tools", "registry", "catalog"); code != 0 || out != "" {
		t.Fatalf("catalog: exit code %d, stdout %q, stderr %q", code, out, errs)
	}
	// An image from nothing: an OCI layout with an empty index.
	layout := t.TempDir()
	for name, content := range map[string]string{
		"oci-layout": `{"imageLayoutVersion":"1.0.0"}`,
		"index.json": `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`,
	} {
		if err := os.WriteFile(filepath.Join(layout, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := run(t, "tools", "registry", "push", "--index", layout, ours+"/below/x:1"); code != 0 {
		t.Fatalf("push: exit code %d, stderr %q", code, errs)
	}
	if code, out, errs := run(t, "tools", "registry", "ls", ours+"/below/x"); code != 0 || out != "1\n" {
		t.Errorf("ls: exit code %d, stdout %q, stderr %q", code, out, errs)
	}
	if code, _, errs := run(t, "tools", "registry", "copy", ours+"/below/x:1", other+"/mirror/y:1"); code != 0 {
		t.Errorf("copy: exit code %d, stderr %q", code, errs)
	}
	if len(*seen) > 0 {
		t.Errorf("the other registry was told of %v", *seen)
	}
	// The connection flags of ours may stand before and behind.
	t.Setenv("KUBECONFIG", "")
	if code, _, _ := run(t, "tools", "registry", "--kubeconfig", filepath.Join(t.TempDir(), "missing"), "ls", ours+"/below/x"); code != 1 {
		t.Errorf("without the cluster: exit code %d", code)
	}
}
