package signature

import (
	"archive/tar"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

const about = "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// keys are one of each kind, by name.
func keys(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	out := map[string]crypto.Signer{}
	var err error
	for name, curve := range map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()} {
		if out[name], err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	if out["RSA"], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if _, out["Ed25519"], err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	return out
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// files are the key files of a key: encrypted as cosign does it, if there is a password.
func files(t *testing.T, key crypto.Signer, password string) (private, public []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := &pem.Block{Type: plainBlock, Bytes: der}
	if password != "" {
		box, err := encrypted.Encrypt(der, []byte(password))
		if err != nil {
			t.Fatal(err)
		}
		block = &pem.Block{Type: encryptedBlock, Bytes: box}
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: pub})
}

func parse(t *testing.T, private, public []byte, password string) (PrivateKey, PublicKey) {
	t.Helper()
	key, err := ParsePrivateKey(private, []byte(password))
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ParsePublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key, pub
}

func TestWhatAKeySignsItVerifies(t *testing.T) {
	for name, signer := range keys(t) {
		t.Run(name, func(t *testing.T) {
			private, public := files(t, signer, "")
			key, pub := parse(t, private, public, "")
			otherPrivate, otherPublic := files(t, newKey(t), "")
			_, other := parse(t, otherPrivate, otherPublic, "")

			signed, err := key.SignArtifact("registry.test/guard", about)
			if err != nil {
				t.Fatal(err)
			}
			if err := pub.VerifyArtifact(signed, about); err != nil {
				t.Errorf("its own signature: %v", err)
			}
			if err := pub.VerifyArtifact(signed, strings.Replace(about, "0", "f", 1)); !errors.Is(err, ErrMismatch) {
				t.Errorf("another digest: %v", err)
			}
			if err := other.VerifyArtifact(signed, about); !errors.Is(err, ErrMismatch) {
				t.Errorf("another key: %v", err)
			}
			changed := Signed{Payload: bytes.Replace(signed.Payload, []byte("registry"), []byte("registrz"), 1), Signature: signed.Signature}
			if err := pub.VerifyArtifact(changed, about); !errors.Is(err, ErrMismatch) {
				t.Errorf("a changed payload: %v", err)
			}

			data, err := key.SignFile([]byte("content"))
			if err != nil {
				t.Fatal(err)
			}
			b, err := ParseBundle(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.VerifyFile(pub, []byte("content")); err != nil {
				t.Errorf("its own file: %v", err)
			}
			if err := b.VerifyFile(pub, []byte("Content")); !errors.Is(err, ErrMismatch) {
				t.Errorf("a changed file: %v", err)
			}
			if err := b.VerifyFile(other, []byte("content")); !errors.Is(err, ErrMismatch) {
				t.Errorf("another key for a file: %v", err)
			}
			if err := b.VerifyArtifact(pub, about); err == nil {
				t.Error("the signature of a file counts as one of an artifact")
			}
		})
	}
}

func must(t *testing.T) func(crypto.Signer, error) crypto.Signer {
	return func(s crypto.Signer, err error) crypto.Signer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// The payload is what cosign itself would sign, to the byte.
func TestThePayloadIsCosigns(t *testing.T) {
	private, _ := files(t, newKey(t), "")
	key, err := ParsePrivateKey(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.SignArtifact("registry.test/guard", about)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"critical":{"identity":{"docker-reference":"registry.test/guard"},"image":{"docker-manifest-digest":"` +
		about + `"},"type":"cosign container image signature"},"optional":null}`
	if string(signed.Payload) != want {
		t.Errorf("payload\n%s, want\n%s", signed.Payload, want)
	}
}

func TestEncryptedKeys(t *testing.T) {
	private, public := files(t, newKey(t), "sesame")
	if !Locked(private) || Locked(public) {
		t.Errorf("Locked: %v and %v", Locked(private), Locked(public))
	}
	parse(t, private, public, "sesame")
	for _, wrong := range []string{"", "Sesame"} {
		if _, err := ParsePrivateKey(private, []byte(wrong)); !errors.Is(err, ErrPassword) {
			t.Errorf("password %q: %v", wrong, err)
		}
	}
	old := bytes.ReplaceAll(private, []byte(encryptedBlock), []byte(oldBlock))
	parse(t, old, public, "sesame")
}

func TestRefusedKeys(t *testing.T) {
	t.Setenv("GODEBUG", "rsa1024min=0") // else no short key can be made to try
	private, public := files(t, newKey(t), "")
	short, shortPublic := files(t, must(t)(rsa.GenerateKey(rand.Reader, 1024)), "")
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"no PEM":         {[]byte("text"), "no PEM"},
		"two keys":       {append(bytes.Clone(public), public...), "more than one key"},
		"a private one":  {private, `holds a "PRIVATE KEY"`},
		"short RSA":      {shortPublic, "1024 bits"},
		"too large":      {bytes.Repeat([]byte("a"), MaxKey+1), "at most"},
		"broken content": {pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: []byte("x")}), "asn1"},
	} {
		if _, err := ParsePublicKey(test.data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"a public one": {public, `holds a "PUBLIC KEY"`},
		"short RSA":    {short, "1024 bits"},
		"broken":       {pem.EncodeToMemory(&pem.Block{Type: encryptedBlock, Bytes: []byte("{}")}), "kdf"},
		// A hundred times the memory that cosign's parameters take.
		"costly": {pem.EncodeToMemory(&pem.Block{Type: encryptedBlock, Bytes: []byte(
			`{"kdf":{"name":"scrypt","params":{"N":1073741824,"r":8,"p":1},"salt":"AAAA"},"cipher":{"name":"nacl/secretbox","nonce":"AAAA"},"ciphertext":"AAAA"}`)}), "parameters"},
	} {
		if _, err := ParsePrivateKey(test.data, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// A package that Zarf signed, with the public key beside it.
func TestAPackageSignedByZarf(t *testing.T) {
	shared := filepath.Join("..", "..", "..", "shared", "packages")
	public, err := os.ReadFile(filepath.Join(shared, "signed-yolo-demo.pub"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParsePublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	entries := unpack(t, filepath.Join(shared, "signed-yolo-demo.tar.zst"))
	b, err := ParseBundle(entries["zarf.bundle.sig"])
	if err != nil {
		t.Fatal(err)
	}
	definition := entries["zarf.yaml"]
	if err := b.VerifyFile(key, definition); err != nil {
		t.Errorf("as Zarf signed it: %v", err)
	}
	for i := 0; i < len(definition); i += len(definition)/7 + 1 {
		changed := bytes.Clone(definition)
		changed[i] ^= 1
		if err := b.VerifyFile(key, changed); !errors.Is(err, ErrMismatch) {
			t.Errorf("with byte %d changed: %v", i, err)
		}
	}
}

func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string][]byte{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStatements(t *testing.T) {
	private, public := files(t, newKey(t), "")
	key, pub := parse(t, private, public, "")
	hex := strings.TrimPrefix(about, "sha256:")
	good := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"` + hex + `"}}],"predicateType":"` + signPredicate + `","predicate":{}}`
	for name, test := range map[string]struct {
		contentType, content string
		want                 string // part of the error, "" for none
	}{
		"a signature":                      {statementType, good, ""},
		"another statement of the key":     {statementType, strings.ReplaceAll(good, signPredicate, "https://slsa.dev/provenance/v1"), "not a signature"},
		"about something else":             {statementType, strings.ReplaceAll(good, "0123", "ffff"), "not about"},
		"about nothing":                    {statementType, strings.ReplaceAll(good, "sha256", "sha512"), "not about"},
		"another type of content":          {"text/plain", good, "not a statement"},
		"signed, but no statement at all":  {statementType, "text", "reading a signed statement"},
		"no digest must not be any digest": {statementType, strings.ReplaceAll(good, hex, ""), "not about"},
	} {
		signature, err := key.Sign(preAuthentication(test.contentType, []byte(test.content)))
		if err != nil {
			t.Fatal(err)
		}
		b := bundleOf(t, test.contentType, test.content, signature)
		err = b.VerifyArtifact(pub, about)
		if got := text(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	forged, err := key.Sign([]byte(good)) // over the content without its type
	if err != nil {
		t.Fatal(err)
	}
	if err := bundleOf(t, statementType, good, forged).VerifyArtifact(pub, about); !errors.Is(err, ErrMismatch) {
		t.Errorf("a signature over something else: %v", err)
	}
	if err := bundleOf(t, statementType, good).VerifyArtifact(pub, about); !errors.Is(err, ErrMismatch) {
		t.Errorf("no signature: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func bundleOf(t *testing.T, contentType, content string, signatures ...[]byte) Bundle {
	t.Helper()
	f := bundleFile{MediaType: BundleMediaType, Envelope: &envelope{Payload: []byte(content), PayloadType: contentType}}
	for _, s := range signatures {
		f.Envelope.Signatures = append(f.Envelope.Signatures, envelopeSignature{s})
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseBundle(data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRefusedBundles(t *testing.T) {
	sig := base64.StdEncoding.EncodeToString([]byte("x"))
	for name, test := range map[string]struct{ data, want string }{
		"no JSON":        {"text", "invalid character"},
		"another type":   {`{"mediaType":"application/json"}`, `"application/json"`},
		"nothing signed": {`{"mediaType":"` + BundleMediaType + `"}`, "no signature"},
		"two":            {`{"mediaType":"` + BundleMediaType + `","messageSignature":{"signature":"` + sig + `"},"dsseEnvelope":{}}`, "two signatures"},
		"too large":      {strings.Repeat(" ", MaxPayload+1), "at most"},
	} {
		if _, err := ParseBundle([]byte(test.data)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// Whatever a bundle, a payload or a key file holds, it is no signature of a key that did not sign it.
func FuzzBundle(f *testing.F) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	pub := PublicKey{signer.Public()}
	f.Add([]byte(`{"mediaType":"` + BundleMediaType + `","messageSignature":{"messageDigest":{"algorithm":"SHA2_256","digest":"AAAA"},"signature":"MEQ="}}`))
	f.Add([]byte(`{"mediaType":"` + BundleMediaType + `","dsseEnvelope":{"payload":"e30=","payloadType":"t","signatures":[{"sig":"MEQ="}]}}`))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, err := ParseBundle(data); err == nil {
			if b.VerifyFile(pub, data) == nil || b.VerifyArtifact(pub, about) == nil {
				t.Error("a bundle is a signature of a key that never signed")
			}
		}
		if pub.VerifyArtifact(Signed{Payload: data, Signature: string(data)}, about) == nil {
			t.Error("a payload is signed by a key that never signed")
		}
		if k, err := ParsePublicKey(data); err == nil {
			_ = k.Verify(data, data)
		}
	})
}
