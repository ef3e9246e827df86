package definition

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/spec"
)

// What is written is read again, and none of it is in the JSON that Zarf computes the digest from.
func TestExtensionRoundTrip(t *testing.T) {
	want := &spec.Extension{
		Imports: map[string]spec.ImportOrigin{"db": {Name: "postgres", URL: "oci://a.test/db:1", Digest: "sha256:aa"}},
		Digests: map[string]string{"docker.io/library/nginx:1": "sha256:bb"},
		Base:    &spec.ExtensionBase{Digest: "sha256:cc", Source: "shop.tar.zst"},
		Components: []spec.FullComponent{
			{Name: "db", Required: true, Images: []string{"pg:1"}, Archived: []string{"x:1"}, Repos: []string{"https://a.test/r@v1"}},
			{Name: "yes"},
		},
		Blobs: []spec.OmittedBlob{{Digest: "sha256:dd", Size: 1 << 40, In: []string{"docker.io/library/nginx:1"}}},
	}
	plain, err := Parse([]byte(head))
	if err != nil {
		t.Fatal(err)
	}
	if plain.Extension != nil {
		t.Errorf("a definition without one has %+v", plain.Extension)
	}
	text, err := AppendExtension([]byte(strings.TrimSuffix(head, "\n")), want)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !reflect.DeepEqual(pkg.Extension, want) {
		t.Errorf("read %+v\nwant %+v\nof\n%s", pkg.Extension, want, text)
	}
	before, _ := json.Marshal(plain)
	after, _ := json.Marshal(pkg)
	if string(before) != string(after) {
		t.Errorf("the extension changes the JSON: %s", after)
	}
}

func TestExtensionRefused(t *testing.T) {
	_, err := Parse([]byte(head + "x-zarf-host:\n  components: nothing\n"))
	if err == nil || !strings.Contains(err.Error(), "x-zarf-host") || !strings.Contains(err.Error(), "line 5") {
		t.Errorf("got %v", err)
	}
	if _, err := AppendExtension([]byte(head), &spec.Extension{Digests: map[string]string{"a": strings.Repeat("b", MaxBytes)}}); err == nil {
		t.Error("a definition that nobody could read was written")
	}
}
