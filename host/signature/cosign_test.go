package signature

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The key pair that cosign made is one, and what cosign signed with it is verified in all three forms.
func TestWhatCosignMade(t *testing.T) {
	pub, err := ParsePublicKey(fixture(t, "cosign.pub"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParsePrivateKey(fixture(t, "cosign.key"), []byte("sesame"))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.Sign([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pub.Verify([]byte("content"), signature); err != nil {
		t.Errorf("the two keys of the pair: %v", err)
	}

	file, err := ParseBundle(fixture(t, "file.txt.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.VerifyFile(pub, fixture(t, "file.txt")); err != nil {
		t.Errorf("a file: %v", err)
	}

	// Cosign 3: a statement in a bundle.
	const manifest = "sha256:63fadb37062c7e147b05e1cf65ff48757741d6388ec40c4520310eac64fa6d21"
	artifact, err := ParseBundle(fixture(t, "artifact.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := artifact.VerifyArtifact(pub, manifest); err != nil {
		t.Errorf("an artifact: %v", err)
	}
	if err := artifact.VerifyArtifact(pub, about); !errors.Is(err, ErrMismatch) {
		t.Errorf("another artifact: %v", err)
	}
	if err := artifact.VerifyFile(pub, fixture(t, "file.txt")); err == nil {
		t.Error("the signature of an artifact counts as one of a file")
	}

	// Cosign 2: a payload with a signature beside it.
	const reported = "sha256:c7870753f9c872687178ebf1204470c254871226ad5caa71c20b9cc068bee5db"
	signed := Signed{
		Payload: []byte(`{"critical":{"identity":{"docker-reference":"localhost:23571/plugins/report"},"image":{"docker-manifest-digest":"` +
			reported + `"},"type":"cosign container image signature"},"optional":null}`),
		Signature: "MEYCIQDE5iQPlpE8mI7+ZR9b4UoO2hkR9AGzuOmkkZRlak5PbwIhAPK4v/NyQuUsuNlR5te7kHlsX7xoQZBrE3PN+d6331sb",
	}
	if err := pub.VerifyArtifact(signed, reported); err != nil {
		t.Errorf("an artifact as cosign 2 signs it: %v", err)
	}
}

// A registry keeps every signature of a manifest, whoever signed; the same one is kept once.
func TestStoredSignatures(t *testing.T) {
	private, public := files(t, newKey(t), "")
	key, pub := parse(t, private, public, "")
	var manifest []byte
	var all []Signed
	for _, repository := range []string{"a.test/guard", "b.test/guard"} {
		signed, err := key.SignArtifact(repository, about)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, signed)
		for range 2 {
			stored, err := Store(manifest, signed)
			if err != nil {
				t.Fatal(err)
			}
			manifest = stored.ManifestData
			if !strings.Contains(string(stored.ConfigData), stored.Payload.Digest.String()) {
				t.Error("the configuration does not name the payload, as that of an image does")
			}
		}
	}
	layers, err := Layers(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != len(all) {
		t.Fatalf("%d signatures, want %d", len(layers), len(all))
	}
	for i, l := range layers {
		if err := pub.VerifyArtifact(Signed{Payload: all[i].Payload, Signature: l.Annotations[Annotation]}, about); err != nil {
			t.Errorf("signature %d: %v", i, err)
		}
	}
	if got, want := Tag(about), "sha256-"+strings.TrimPrefix(about, "sha256:")+".sig"; got != want {
		t.Errorf("tag %q, want %q", got, want)
	}
	hostile := `{"layers":[{"mediaType":"` + PayloadMediaType + `","size":99999999,"digest":"` + about + `","annotations":{"` + Annotation + `":"x"}},` +
		`{"mediaType":"` + PayloadMediaType + `","size":-1,"digest":"` + about + `","annotations":{"` + Annotation + `":"x"}},` +
		`{"mediaType":"` + PayloadMediaType + `","size":1,"digest":"md5:x","annotations":{"` + Annotation + `":"x"}},` +
		`{"mediaType":"` + BundleMediaType + `","size":99999999,"digest":"` + about + `"}]}`
	if layers, err := Layers([]byte(hostile)); err != nil || len(layers) != 0 {
		t.Errorf("of what is too large or names nothing, %d are read: %v", len(layers), err)
	}
	if layers, err := Bundles([]byte(hostile)); err != nil || len(layers) != 0 {
		t.Errorf("of bundles that are too large, %d are read: %v", len(layers), err)
	}
	if _, err := Layers([]byte("text")); err == nil {
		t.Error("a manifest that is none")
	}
}
