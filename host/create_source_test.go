package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/registry"
)

// gitServer serves a repository over HTTP, as git itself does, with a user and password if there are
// any. It has a chart, a tag v1.0.0, and a branch that went on from it.
func gitServer(t *testing.T, user, password string) (url, commit string) {
	t.Helper()
	root := t.TempDir()
	work := filepath.Join(root, "work")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	put(t, filepath.Join(work, "charts", "web", "Chart.yaml"), "apiVersion: v2\nname: web\nversion: 1.0.0\n")
	put(t, filepath.Join(work, "file"), "one\n")
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	git("tag", "v1.0.0")
	commit = git("rev-parse", "HEAD")
	put(t, filepath.Join(work, "file"), "two\n")
	git("commit", "-q", "-a", "-m", "two")
	git("clone", "-q", "--bare", ".", filepath.Join(root, "srv", "shop.git"))
	backend := filepath.Join(git("--exec-path"), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Fatal(err)
	}
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(root, "srv"), "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); user != "" && (u != user || p != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/shop.git", commit
}

func TestCreateClonesRepos(t *testing.T) {
	url, commit := gitServer(t, "", "")
	dir := authored(t, head+fmt.Sprintf("components:\n- name: a\n  repos: ['%[1]s@v1.0.0', '%[1]s', '%[1]s@%[2]s', '%[1]s@refs/heads/main']\n", url, commit), nil)
	b, _ := made(t, CreateOptions{Dir: dir})
	got := contents(t, b, "a")
	content, head := map[string]string{}, map[string]string{}
	for name, data := range got {
		rest, ok := strings.CutPrefix(name, "repos/shop-")
		if !ok {
			continue
		}
		clone, file, _ := strings.Cut(rest, "/")
		switch file {
		case "file":
			content[clone] = data
		case ".git/HEAD":
			head[clone] = strings.TrimSpace(data)
		}
	}
	if len(content) != 4 {
		t.Fatalf("%d clones, want 4: %v", len(content), content)
	}
	heads := map[string]string{}
	for clone, at := range head {
		heads[at] = content[clone]
	}
	for at, want := range map[string]string{
		"ref: refs/heads/zarf-ref-v1.0.0": "one\n", "ref: refs/heads/zarf-ref-" + commit: "one\n", "ref: refs/heads/main": "two\n",
	} {
		if heads[at] != want {
			t.Errorf("%s has %q, want %q (of %v)", at, heads[at], want, heads)
		}
	}
}

// Credentials in the address of a repository are used, and get neither into the clone nor into an error.
func TestCreateKeepsCredentialsOfRepos(t *testing.T) {
	url, _ := gitServer(t, "me", "sesame")
	address := strings.Replace(url, "http://", "http://me:sesame@", 1)
	dir := authored(t, head+"components:\n- name: a\n  repos: ['"+address+"']\n", nil)
	b, _ := made(t, CreateOptions{Dir: dir})
	for name, data := range contents(t, b, "a") {
		if strings.Contains(data, "sesame") {
			t.Errorf("the password is in %s", name)
		}
	}
	for name, address := range map[string]string{
		"wrong password": strings.Replace(url, "http://", "http://me:wrong-sesame@", 1), "no password": url,
		"no such tag": strings.Replace(url, "http://", "http://me:sesame@", 1) + "@v9",
	} {
		dir := authored(t, head+"components:\n- name: a\n  repos: ['"+address+"']\n", nil)
		_, err := Create(t.Context(), CreateOptions{Dir: dir, Output: t.TempDir()})
		if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "components[0].repos[0]") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// chartArchive is a chart as a repository has it.
func chartArchive(t *testing.T, name, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for file, content := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n", "templates/cm.yaml": configMap,
	} {
		if err := w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// chartRepository serves charts over HTTP as Helm's repositories do.
func chartRepository(t *testing.T, wrongSum bool, charts map[string][]byte) string {
	t.Helper()
	index := "apiVersion: v1\nentries:\n"
	for file, data := range charts {
		name, version, _ := strings.Cut(strings.TrimSuffix(file, ".tgz"), "-")
		sum := digest.FromBytes(data).Encoded()
		if wrongSum {
			sum = strings.Repeat("a", 64)
		}
		index += fmt.Sprintf("  %s:\n  - {apiVersion: v2, name: %s, version: %s, urls: [charts/%s], digest: %s}\n", name, name, version, file, sum)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/repo/index.yaml" {
			_, _ = io.WriteString(w, index)
			return
		}
		data, ok := charts[strings.TrimPrefix(r.URL.Path, "/repo/charts/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/repo"
}

// pushChart pushes a chart as Helm does.
func pushChart(t *testing.T, r *testregistry.Registry, repository, version string, data []byte) {
	t.Helper()
	client, err := registry.Open(registry.Options{Address: r.Address()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	blob := func(mediaType string, data []byte) registry.Blob {
		return registry.Blob{Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Data: data}
	}
	config := blob("application/vnd.cncf.helm.config.v1+json", []byte("{}"))
	layer := blob("application/vnd.cncf.helm.chart.content.v1.tar+gzip", data)
	manifest := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config.Descriptor, Layers: []ocispec.Descriptor{layer.Descriptor}}
	manifest.SchemaVersion = 2
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	err = client.PushArtifact(t.Context(), r.Address()+"/"+repository+":"+version, blob(ocispec.MediaTypeImageManifest, text), config, layer)
	if err != nil {
		t.Fatal(err)
	}
}

func TestCreateFetchesCharts(t *testing.T) {
	git, _ := gitServer(t, "", "")
	web, db := chartArchive(t, "web", "1.2.3"), chartArchive(t, "db", "2.0.1")
	repository := chartRepository(t, false, map[string][]byte{"web-1.2.3.tgz": web})
	r := testregistry.Start(t, testregistry.Options{})
	pushChart(t, r, "charts/db", "2.0.1", db)
	dir := authored(t, head+fmt.Sprintf(`
components:
- name: a
  charts:
  - {name: one, repoName: web, version: 1.2.3, url: "%[1]s", namespace: n}
  - {name: db, version: 2.0.1, url: "oci://%[2]s/charts/db", namespace: n}
  - {name: web, version: 1.0.0, url: "%[3]s@v1.0.0", gitPath: charts/web, namespace: n}
  - {name: parent, localPath: parent, namespace: n}
`, repository, r.Address(), git), map[string]string{
		"parent/Chart.yaml": fmt.Sprintf(`apiVersion: v2
name: parent
version: 1.0.0
dependencies:
- {name: web, version: ^1.0.0, repository: "%s"}
- {name: db, version: ~2.0.0, repository: "oci://%s/charts"}
- {name: near, version: 1.0.0, repository: "file://../near"}
`, repository, r.Address()),
		"near/Chart.yaml": "apiVersion: v2\nname: near\nversion: 1.0.0\n",
	})
	b, _ := made(t, CreateOptions{Dir: dir})
	got := contents(t, b, "a")
	if got["charts/one-1.2.3.tgz"] != string(web) {
		t.Error("the chart of a repository is not as it is there")
	}
	if got["charts/db-2.0.1.tgz"] != string(db) {
		t.Error("the chart of a registry is not as it is there")
	}
	if got["charts/web-1.0.0.tgz"] == "" {
		t.Error("the chart of a git repository is not there")
	}
	names := chartFileNames(t, got["charts/parent.tgz"])
	for _, want := range []string{"parent/Chart.yaml", "parent/charts/web/Chart.yaml", "parent/charts/db/templates/cm.yaml", "parent/charts/near/Chart.yaml"} {
		if !strings.Contains(names, want+"\n") {
			t.Errorf("the chart lacks %s:\n%s", want, names)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "parent", "charts")); err == nil {
		t.Error("the author's folder was changed")
	}
}

func chartFileNames(t *testing.T, data string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out += h.Name + "\n"
	}
}

func TestCreateRefusesCharts(t *testing.T) {
	git, _ := gitServer(t, "", "")
	web := chartArchive(t, "web", "1.2.3")
	good := chartRepository(t, false, map[string][]byte{"web-1.2.3.tgz": web, "none-1.0.0.tgz": []byte("no chart")})
	wrong := chartRepository(t, true, map[string][]byte{"web-1.2.3.tgz": web})
	other := chartRepository(t, false, map[string][]byte{"db-1.2.3.tgz": web})
	dependency := func(rest string) map[string]string {
		return map[string]string{"p/Chart.yaml": "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies:\n" + rest}
	}
	for name, test := range map[string]struct {
		chart string
		files map[string]string
		want  []string
	}{
		"no such version":    {chart: `{name: web, version: 9.9.9, url: "` + good + `", namespace: n}`, want: []string{"charts[0].url", `no version "9.9.9"`}},
		"no such chart":      {chart: `{name: nosuch, version: 1.0.0, url: "` + good + `", namespace: n}`, want: []string{"charts[0].url", `chart "nosuch"`}},
		"a wrong checksum":   {chart: `{name: web, version: 1.2.3, url: "` + wrong + `", namespace: n}`, want: []string{"charts[0].url", "declares the checksum aaaa"}},
		"another chart":      {chart: `{name: db, version: 1.2.3, url: "` + other + `", namespace: n}`, want: []string{"charts[0].url", `what is there is chart "web"`}},
		"no chart at all":    {chart: `{name: none, version: 1.0.0, url: "` + good + `", namespace: n}`, want: []string{"charts[0].url", "is no chart"}},
		"no repository":      {chart: `{name: web, version: 1.0.0, url: "` + good + `/x", namespace: n}`, want: []string{"charts[0].url", "404"}},
		"a git path outside": {chart: `{name: web, version: 1.0.0, url: "` + git + `@v1.0.0", gitPath: ../.., namespace: n}`, want: []string{"charts[0].url", "leads out of"}},
		"no such tag":        {chart: `{name: web, version: v9, url: "` + git + `", namespace: n}`, want: []string{"charts[0].url", "cloning"}},
		"a circle": {
			chart: `{name: p, localPath: p, namespace: n}`, files: dependency("- {name: p, version: 1.0.0, repository: 'file://../p'}\n"), want: []string{"charts[0].localPath", "in a circle"},
		},
		"a dependency from nowhere": {
			chart: `{name: p, localPath: p, namespace: n}`, files: dependency("- {name: x, version: 1.0.0}\n"), want: []string{"charts[0].localPath", `dependency "x"`, "names no repository"},
		},
		"a dependency by alias": {
			chart: `{name: p, localPath: p, namespace: n}`, files: dependency("- {name: x, version: 1.0.0, repository: '@mine'}\n"), want: []string{"charts[0].localPath", `"@mine" is no repository`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := authored(t, head+"components:\n- name: a\n  charts: ["+test.chart+"]\n", test.files)
			output := t.TempDir()
			_, err := Create(t.Context(), CreateOptions{Dir: dir, Output: output})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, "zarf.yaml:5:") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if left, err := os.ReadDir(output); err != nil || len(left) != 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}
