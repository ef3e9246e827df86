package bundle_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Every chart, values file, manifest and file of the packages that Zarf built lies where the path
// functions say, and nothing lies elsewhere but repositories.
func TestPathsAreZarfs(t *testing.T) {
	for _, name := range []string{
		"zarf-package-demo-amd64-0.1.0.tar.zst",
		"zarf-package-yolo-demo-amd64-0.1.0.tar.zst",
		"zarf-package-drop-demo-amd64-0.1.0.tar.zst",
		"zarf-package-beta-demo-amd64-0.1.0.tar.zst",
		"zarf-package-fail-demo-amd64-0.1.0.tar.zst",
	} {
		b := open(t, shared(t, "packages", name), bundle.Options{})
		for _, c := range b.Definition().Components {
			got := map[string]bool{}
			err := b.Component(context.Background(), c.Name, func(e bundle.Entry, _ io.Reader) error {
				if e.Mode.IsRegular() && !strings.HasPrefix(e.Path, "repos/") {
					got[e.Path] = true
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(expected(c), got); diff != "" {
				t.Errorf("%s: component %q differs (-told +found):\n%s", name, c.Name, diff)
			}
		}
	}
}

func expected(c spec.Component) map[string]bool {
	want := map[string]bool{}
	for _, chart := range c.Charts {
		want[bundle.ChartPath(chart)] = true
		for i := range len(chart.ValuesFiles) + len(chart.TemplatedValuesFiles) {
			want[bundle.ValuesPath(chart, i)] = true
		}
	}
	for _, m := range c.Manifests {
		for i := range m.Files {
			want[bundle.ManifestPath(m, i)] = true
		}
		for i := range m.Kustomizations {
			want[bundle.KustomizationPath(m, i)] = true
		}
	}
	for i, f := range c.Files {
		want[bundle.FilePath(f, i)] = true
	}
	return want
}

func TestPaths(t *testing.T) {
	chart := spec.Chart{Name: "web", Version: "0.1.0"}
	for got, want := range map[string]string{
		bundle.ComponentPath("web"):                                                                "components/web.tar",
		bundle.ChartPath(chart):                                                                    "charts/web-0.1.0.tgz",
		bundle.ChartPath(spec.Chart{Name: "web"}):                                                  "charts/web.tgz",
		bundle.ValuesPath(chart, 2):                                                                "values/web-0.1.0-2",
		bundle.ValuesPath(spec.Chart{Name: "web"}, 0):                                              "values/web-0",
		bundle.ManifestPath(spec.Manifest{Name: "m"}, 1):                                           "manifests/m-1.yaml",
		bundle.KustomizationPath(spec.Manifest{Name: "m"}, 1):                                      "manifests/kustomization-m-1.yaml",
		bundle.FilePath(spec.File{Target: "demo-out/script.sh"}, 1):                                "files/1/script.sh",
		bundle.FilePath(spec.File{Target: "/opt/dir/"}, 0):                                         "files/0/dir",
		bundle.DataPath(spec.DataInjection{Target: spec.ContainerTarget{Path: "/data/models"}}, 3): "data/3/models",
	} {
		if got != want {
			t.Errorf("path is %q, want %q", got, want)
		}
	}
}

// FAULTS F3: charts of one name and several versions lie side by side.
func TestF3ChartsAreKeptApart(t *testing.T) {
	a, b := spec.Chart{Name: "podinfo", Version: "6.3.5"}, spec.Chart{Name: "podinfo", Version: "6.3.6"}
	if bundle.ChartPath(a) == bundle.ChartPath(b) || bundle.ValuesPath(a, 0) == bundle.ValuesPath(b, 0) {
		t.Error("two charts have one place")
	}
}

func TestExtractComponent(t *testing.T) {
	o := inComponent(
		packagetest.Entry{Name: "web/repos/", Mode: 0o755},
		packagetest.Entry{Name: "web/repos/run", Mode: 0o4755, Body: []byte("run")},
		packagetest.Entry{Name: "web/repos/Run", Mode: 0o644, Body: []byte("a twin, which a git work tree may have")},
		packagetest.Entry{Name: "web/repos/empty/", Mode: 0o755},
		packagetest.Entry{Name: "web/repos/sub/implied", Mode: 0o400, Body: []byte("x")},
		symlink("web/repos/sub/link", "../run"),
	)
	b := open(t, packagetest.BuildWith(t, t.TempDir(), plainDefinition, plainFiles, o), bundle.Options{})
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := b.ExtractComponent(context.Background(), "web", root); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		what := info.Mode().String()
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what = "-> " + target
		}
		got[filepath.ToSlash(rel)] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"manifests": "drwx------", "manifests/maps-0.yaml": "-rw-r--r--",
		"repos": "drwx------", "repos/run": "-rwxr-xr-x", "repos/Run": "-rw-r--r--", "repos/empty": "drwx------",
		"repos/sub": "drwx------", "repos/sub/implied": "-rw-------", "repos/sub/link": "-> ../run",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unpacked tree differs (-want +got):\n%s", diff)
	}
	if err := b.ExtractComponent(context.Background(), "web", root); !errors.Is(err, fs.ErrExist) {
		t.Errorf("unpacking over what is there gives %v", err)
	}
}

// A link that was there before the package cannot lead the unpacking outside.
func TestI1ExtractStaysInItsFolder(t *testing.T) {
	b := open(t, packagetest.Build(t, t.TempDir(), plainDefinition, plainFiles), bundle.Options{})
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "manifests")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := b.ExtractComponent(context.Background(), "web", root); err == nil {
		t.Error("unpacking through a link succeeded")
	}
	if diff := cmp.Diff(map[string]string{}, snapshot(t, outside)); diff != "" {
		t.Errorf("something was written outside:\n%s", diff)
	}
}

func TestReadComponent(t *testing.T) {
	def := plainDefinition + "    - two.yaml\n"
	files := map[string]string{"one.yaml": "kind: One\n", "two.yaml": strings.Repeat("kind: Two\n", 100)}
	path := packagetest.Build(t, t.TempDir(), def, files)
	got, err := open(t, path, bundle.Options{}).ReadComponent(context.Background(), "web", all)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"manifests/maps-0.yaml": []byte(files["one.yaml"]), "manifests/maps-1.yaml": []byte(files["two.yaml"])}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content differs (-want +got):\n%s", diff)
	}
	small := open(t, path, bundle.Options{Limits: bundle.Limits{ReadBytes: 500}})
	first := func(p string) bool { return p == "manifests/maps-0.yaml" }
	if got, err := small.ReadComponent(context.Background(), "web", first); err != nil || len(got) != 1 {
		t.Errorf("reading the small file gives %v (%v)", got, err)
	}
	if _, err := small.ReadComponent(context.Background(), "web", all); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("reading more than allowed gives %v", err)
	}
}

func TestComponentWithoutContentAndUnknown(t *testing.T) {
	def := plainDefinition + "- name: nothing\n"
	b := open(t, packagetest.Build(t, t.TempDir(), def, plainFiles), bundle.Options{})
	fn := func(e bundle.Entry, _ io.Reader) error { t.Errorf("entry %q", e.Path); return nil }
	if err := b.Component(context.Background(), "nothing", fn); err != nil {
		t.Errorf("a component without content: %v", err)
	}
	if err := b.Component(context.Background(), "unknown", fn); err == nil || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("an unknown component: %v", err)
	}
}
