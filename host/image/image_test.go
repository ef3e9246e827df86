package image_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

// shared is a file of the folder beside the repository that holds what Zarf made.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the tests")
		}
		dir = filepath.Dir(dir)
	}
	file := filepath.Join(filepath.Dir(dir), "shared", name)
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(shared(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func components(t testing.TB, name string) []spec.Component {
	t.Helper()
	pkg, err := definition.Parse(read(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return pkg.Components
}

// TestTagsOfZarf computes the tags that Zarf's own deployments left in a registry: demo 0.1.0 (D1),
// then its differential 0.2.0 on top (E1), of which Zarf's prune kept what only the latter names (F1).
func TestTagsOfZarf(t *testing.T) {
	full := tags(t, "samples/demo-0.1.0.zarf.yaml", "samples/demo-full1.images-index.json")
	differential := tags(t, "samples/demo-0.2.0-differential.zarf.yaml", "samples/demo-diff.images-index.json")
	both := map[string]string{}
	for _, m := range []map[string]string{full, differential} {
		for k, v := range m {
			both[k] = v
		}
	}
	for file, got := range map[string]map[string]string{"D1": full, "E1": both} {
		if diff := cmp.Diff(sample(t, "samples/cluster/"+file+".tags"), got); diff != "" {
			t.Errorf("%s (-zarf +ours):\n%s", file, diff)
		}
	}
	pruned := sample(t, "samples/cluster/F1.tags")
	for tag, digest := range differential {
		if pruned[tag] != digest {
			t.Errorf("F1: Zarf's prune left %s at %q, the differential package has %s", tag, pruned[tag], digest)
		}
	}
}

// tags are what a deployment of a package leaves in the registry of the samples: tag → digest.
func tags(t *testing.T, definition, indexFile string) map[string]string {
	t.Helper()
	const address = "127.0.0.1:5002"
	index, err := image.ParseIndex(read(t, indexFile))
	if err != nil {
		t.Fatal(err)
	}
	refs, err := image.OfComponents(components(t, definition)...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, ref := range refs {
		d, err := index.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range image.Transform(address, ref).All() {
			name, ok := strings.CutPrefix(target, address+"/")
			if !ok {
				t.Errorf("%s goes to %s", ref, target)
			}
			if !strings.Contains(name, "@") {
				got[name] = d.Digest.String()
			}
		}
	}
	return got
}

func sample(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(string(read(t, name)))); lines.Scan(); {
		tag, digest, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			t.Fatalf("%s: %q", name, lines.Text())
		}
		out[tag] = digest
	}
	return out
}

const (
	digestA = "sha256:24cfab4612f7410e724f75c88f2db2bb5e3a74897570ad5d98c21bccaa6d6a5c"
	digestB = "sha256:a08140453de1b6c1609f444c4fec18c194a2fd0c88a05ef9a6eaa77e2b1b8399"
)

func TestTransform(t *testing.T) {
	tests := []struct{ name, address, ref, pods, plain string }{
		{"docker hub in short", "r.test", "nginx", "r.test/library/nginx:latest-zarf-3793515731", "r.test/library/nginx:latest"},
		{"docker hub in full", "r.test", "docker.io/library/nginx:latest", "r.test/library/nginx:latest-zarf-3793515731", "r.test/library/nginx:latest"},
		{"with a scheme", "r.test", "oci://nginx:1", "r.test/library/nginx:1-zarf-3793515731", "r.test/library/nginx:1"},
		{"address with a path", "r.test/group", "127.0.0.1:5001/demo/hello:0.1.0", "r.test/group/demo/hello:0.1.0-zarf-3905268466", "r.test/group/demo/hello:0.1.0"},
		{"digest", "r.test", "a.test/x@" + digestA, "r.test/x@" + digestA, "r.test/x@" + digestA},
		{"tag and digest", "r.test", "a.test/x:1@" + digestA, "r.test/x@" + digestA, "r.test/x@" + digestA},
		{"same host", "r.test:5000", "r.test:5000/x:1", "", ""},
		{"host as prefix of the address", "r.test:5000/group", "r.test/x:1", "", ""},
		{"same host, digest", "r.test", "r.test/x:1@" + digestA, "", ""},
		{"address as prefix of the host", "r.test", "r.test:5000/x:1", "r.test/x:1-zarf-3722051906", "r.test/x:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref, err := image.Parse(tt.ref)
			if err != nil {
				t.Fatal(err)
			}
			want := image.Targets{Pods: tt.pods, Plain: tt.plain}
			if tt.pods == "" {
				want = image.Targets{Pods: ref.String(), Plain: ref.String(), Identity: true}
			}
			got := image.Transform(tt.address, ref)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if all := got.All(); all[len(all)-1] != got.Pods || !slices.Contains(all, got.Plain) || len(all) > 1 && got.Pods == got.Plain {
				t.Errorf("all are %q", all)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tests := []struct{ in, want, err string }{
		{in: "nginx", want: "docker.io/library/nginx:latest"},
		{in: "bitnami/nginx:1.2", want: "docker.io/bitnami/nginx:1.2"},
		{in: "index.docker.io/nginx", want: "docker.io/library/nginx:latest"},
		{in: "localhost/x", want: "localhost/x:latest"},
		{in: "localhost:5000/x/y:z", want: "localhost:5000/x/y:z"},
		{in: "a.test/x@" + digestA, want: "a.test/x@" + digestA},
		{in: "a.test/x:1@" + digestA, want: "a.test/x:1@" + digestA},
		{in: "", err: `parsing image reference ""`},
		{in: "a.test/X:1", err: `parsing image reference "a.test/X:1"`},
		{in: "a.test/x:1@sha256:abc", err: "invalid"},
		{in: digestA, err: "a digest alone names no image"},
		{in: strings.TrimPrefix(digestA, "sha256:"), err: "a digest alone names no image"},
		{in: "###ZARF_VAR_IMAGE###", err: "parsing image reference"},
	}
	for _, tt := range tests {
		got, err := image.Parse(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: got %v, %v; want an error with %q", tt.in, got, err, tt.err)
			}
			continue
		}
		if err != nil || got.String() != tt.want {
			t.Errorf("%q: got %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestOfComponents(t *testing.T) {
	got, err := image.OfComponents(
		spec.Component{Name: "a", Images: []string{"nginx:1", "docker.io/library/nginx:1"}},
		spec.Component{Name: "b", Images: []string{"a.test/x"}, ImageArchives: []spec.ImageArchive{{Images: []string{"b.test/y:2", "nginx:1"}}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ref := range got {
		names = append(names, ref.String())
	}
	want := []string{"docker.io/library/nginx:1", "a.test/x:latest", "b.test/y:2"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := image.OfComponents(spec.Component{Name: "c", Images: []string{"X"}}); err == nil || !strings.Contains(err.Error(), `component "c"`) {
		t.Errorf("got %v; want an error that names the component", err)
	}
}

func TestFind(t *testing.T) {
	descriptor := func(digest, annotations string) string {
		return `{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"` + digest + `","size":4,"annotations":{` + annotations + `}}`
	}
	index, err := image.ParseIndex([]byte(`{"manifests":[` + strings.Join([]string{
		descriptor(digestA, `"org.opencontainers.image.base.name":"docker.io/library/old:1"`),
		descriptor(digestB, `"org.opencontainers.image.ref.name":"docker.io/library/new:1"`),
		descriptor(digestA, `"org.opencontainers.image.base.name":"a.test/pinned:1@`+digestA+`"`),
		descriptor(digestB, `"org.opencontainers.image.base.name":"a.test/reduced@`+digestA+`"`),
		descriptor(digestA, `"org.opencontainers.image.base.name":"short"`),
		descriptor(digestA, ``),
	}, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ ref, want, err string }{
		{ref: "old:1", want: digestA},
		{ref: "new:1", want: digestB},
		{ref: "a.test/pinned:1@" + digestA, want: digestA},
		{ref: "short:latest", want: digestA},
		{ref: "a.test/pinned:1", err: `does not have image "a.test/pinned:1"`},
		// D12: the index was asked for, the package has the image of one platform.
		{ref: "a.test/reduced@" + digestA, err: "the package has " + digestB + " as image"},
	}
	for _, tt := range tests {
		ref, err := image.Parse(tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		d, err := index.Find(ref)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v; want an error with %q", tt.ref, err, tt.err)
			}
			continue
		}
		if err != nil || d.Digest.String() != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.ref, d.Digest, err, tt.want)
		}
	}
}

func TestParseIndexRefuses(t *testing.T) {
	entry := func(mediaType, digest, size string) string {
		return `{"manifests":[{"mediaType":"` + mediaType + `","digest":"` + digest + `","size":` + size + `}]}`
	}
	const oci = "application/vnd.oci.image.manifest.v1+json"
	for name, tt := range map[string]struct{ data, want string }{
		"no JSON":      {`{`, "reading the index of images"},
		"no digest":    {entry(oci, "", "1"), `digest ""`},
		"path as hash": {entry(oci, "sha256:../../../etc/passwd", "1"), "digest"},
		"negative":     {entry(oci, digestA, "-1"), "claims -1 bytes"},
		"too large":    {entry(oci, digestA, "4194305"), "claims 4194305 bytes"},
		"layer":        {entry("application/vnd.oci.image.layer.v1.tar", digestA, "1"), "neither an image nor an index"},
	} {
		if _, err := image.ParseIndex([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v; want %q", name, err, tt.want)
		}
	}
}

func TestParseManifest(t *testing.T) {
	const (
		oci   = "application/vnd.oci.image.manifest.v1+json"
		index = "application/vnd.oci.image.index.v1+json"
		layer = "application/vnd.oci.image.layer.v1.tar+gzip"
	)
	d := func(mediaType, digest string) string {
		return `{"mediaType":"` + mediaType + `","digest":"` + digest + `","size":3}`
	}
	m, err := image.ParseManifest(oci, []byte(`{"config":`+d("c", digestA)+`,"layers":[`+d(layer, digestB)+`,`+d(layer, digestB)+`]}`))
	if err != nil || len(m.Children) != 0 || len(m.Blobs) != 2 || m.Blobs[0].Digest != digestA || m.Blobs[1].Digest != digestB {
		t.Errorf("image: %+v, %v", m, err)
	}
	m, err = image.ParseManifest(index, []byte(`{"manifests":[`+d(oci, digestA)+`,`+d(index, digestB)+`]}`))
	if err != nil || len(m.Children) != 2 || len(m.Blobs) != 0 {
		t.Errorf("index: %+v, %v", m, err)
	}
	for name, tt := range map[string]struct{ mediaType, data, want string }{
		"no JSON":          {oci, "x", "reading a manifest"},
		"no configuration": {oci, `{"layers":[]}`, "it has no configuration"},
		"bad digest":       {oci, `{"config":` + d("c", "sha256:x") + `}`, "digest"},
		"other type":       {"text/plain", `{}`, `type "text/plain"`},
		"child of a layer": {index, `{"manifests":[` + d(layer, digestA) + `]}`, "neither an image nor an index"},
	} {
		if _, err := image.ParseManifest(tt.mediaType, []byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v; want %q", name, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"nginx", "a.test:5000/x/y:z@" + digestA, "oci://x", digestA} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := image.Parse(text)
		if err != nil {
			return
		}
		again, err := image.Parse(ref.String())
		if err != nil || again != ref {
			t.Fatalf("%q reads as %+v, and its full form %q as %+v, %v", text, ref, ref, again, err)
		}
		if targets := image.Transform("r.test", ref); !targets.Identity && !strings.HasPrefix(targets.Pods, targets.Plain) {
			t.Fatalf("%q: %+v", text, targets)
		}
	})
}

func FuzzParseIndex(f *testing.F) {
	f.Add(read(f, "samples/demo-full1.images-index.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, err := image.ParseIndex(data)
		if err != nil {
			return
		}
		for _, d := range index.Manifests {
			if p := image.BlobPath(d); filepath.Clean(p) != p || !strings.HasPrefix(p, "images/blobs/") {
				t.Fatalf("%s is at %q", d.Digest, p)
			}
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	f.Add("application/vnd.oci.image.manifest.v1+json", []byte(`{"config":{"digest":"`+digestA+`","size":1},"layers":[]}`))
	f.Add("application/vnd.oci.image.index.v1+json", []byte(`{"manifests":[]}`))
	f.Fuzz(func(t *testing.T, mediaType string, data []byte) {
		m, err := image.ParseManifest(mediaType, data)
		if err != nil {
			return
		}
		for _, d := range slices.Concat(m.Children, m.Blobs) {
			if p := image.BlobPath(d); filepath.Clean(p) != p || !strings.HasPrefix(p, "images/blobs/") {
				t.Fatalf("%s is at %q", d.Digest, p)
			}
		}
	})
}
