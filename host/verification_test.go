package host

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/spec"
)

const sharedPackages = "../../shared/packages"

func publicKeyFile(t *testing.T, name string) *signature.PublicKey {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.ParsePublicKey(data)
	if err != nil {
		t.Fatal(err)
	}
	return &key
}

func cosignKey(t *testing.T) signature.PrivateKey {
	t.Helper()
	data, err := os.ReadFile("signature/testdata/cosign.key")
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.ParsePrivateKey(data, []byte("sesame"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// What Zarf signed and what it did not, with its key, another one and none, in each mode.
func TestVerificationModes(t *testing.T) {
	signed := filepath.Join(sharedPackages, "signed-yolo-demo.tar.zst")
	unsigned := filepath.Join(sharedPackages, "zarf-package-yolo-demo-amd64-0.1.0.tar.zst")
	right := publicKeyFile(t, filepath.Join(sharedPackages, "signed-yolo-demo.pub"))
	wrong := publicKeyFile(t, "signature/testdata/cosign.pub")
	for name, tc := range map[string]struct {
		path     string
		v        Verification
		verified bool
		refusal  string
	}{
		"signed, nothing asked":         {signed, Verification{}, false, ""},
		"signed, its key":               {signed, Verification{Key: right}, true, ""},
		"signed, its key, always":       {signed, Verification{VerifyAlways, right}, true, ""},
		"signed, its key, never":        {signed, Verification{VerifyNever, right}, false, ""},
		"signed, another key":           {signed, Verification{VerifyIfPossible, wrong}, false, "refused: zarf.bundle.sig"},
		"signed, another key, always":   {signed, Verification{VerifyAlways, wrong}, false, "refused: zarf.bundle.sig"},
		"signed, another key, never":    {signed, Verification{VerifyNever, wrong}, false, ""},
		"signed, no key, always":        {signed, Verification{Mode: VerifyAlways}, false, "no key is given"},
		"unsigned, nothing asked":       {unsigned, Verification{}, false, ""},
		"unsigned, a key":               {unsigned, Verification{Key: right}, false, "it is not signed"},
		"unsigned, no key, always":      {unsigned, Verification{Mode: VerifyAlways}, false, "it is not signed"},
		"unsigned, no key, if possible": {unsigned, Verification{Mode: VerifyIfPossible}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Open(t.Context(), tc.path, OpenOptions{Verification: tc.v})
			if tc.refusal != "" {
				var refused *PackageSignatureError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.refusal) || refused.Hint() == "" {
					t.Fatalf("%v, want a refusal: %s, with a hint", err, tc.refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = p.Close() }()
			if got := p.Signer() != ""; got != tc.verified {
				t.Errorf("signer is %q, want one: %v", p.Signer(), tc.verified)
			}
		})
	}
}

// Every package that Zarf made is signed without anything else changing, and is verified afterwards.
func TestSignWhatZarfMade(t *testing.T) {
	key := cosignKey(t)
	pub := key.Public()
	paths, err := filepath.Glob(filepath.Join(sharedPackages, "*.tar.zst"))
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d packages in the shared folder: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			before := openFile(t, path, Verification{})
			done, err := Sign(t.Context(), SignOptions{Source: path, Output: t.TempDir(), Key: key, Overwrite: true})
			if err != nil {
				t.Fatal(err)
			}
			after := openFile(t, done.File, Verification{VerifyAlways, &pub})
			if after.Signer() != done.Signer || after.Digest() != done.Digest {
				t.Errorf("signer %s, digest %s, want %+v", after.Signer(), after.Digest(), done)
			}
			a, b := before.Definition(), after.Definition()
			a.Build, b.Build = spec.Build{}, spec.Build{}
			if !reflect.DeepEqual(a, b) {
				t.Error("the definition changed beyond what it says of its build")
			}
		})
	}
}

func openFile(t *testing.T, path string, v Verification) *Package {
	t.Helper()
	p, err := Open(t.Context(), path, OpenOptions{Verification: v})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Both forms of a signature, as cosign writes them, and what is none.
func TestCheckSignature(t *testing.T) {
	key := cosignKey(t)
	content := []byte("kind: ZarfPackageConfig\n")
	raw, err := key.Sign(content)
	if err != nil {
		t.Fatal(err)
	}
	file, err := key.SignFile(content)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(raw)
	for name, tc := range map[string]struct {
		path string
		data string
		ok   bool
	}{
		"a bundle":                   {bundle.SignaturePath, string(file), true},
		"legacy, base64":             {bundle.LegacySignaturePath, text, true},
		"legacy, base64, a line end": {bundle.LegacySignaturePath, text + "\n", true},
		"legacy, bytes":              {bundle.LegacySignaturePath, string(raw), true},
		"a bundle as legacy":         {bundle.LegacySignaturePath, string(file), false},
		"legacy as a bundle":         {bundle.SignaturePath, text, false},
		"an empty legacy file":       {bundle.LegacySignaturePath, "", false},
		"an empty bundle":            {bundle.SignaturePath, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkSignature(tc.path, []byte(tc.data), key.Public(), content); (err == nil) != tc.ok {
				t.Errorf("error %v, want none: %v", err, tc.ok)
			}
			if err := checkSignature(tc.path, []byte(tc.data), key.Public(), append([]byte(" "), content...)); err == nil {
				t.Error("a changed definition is verified")
			}
		})
	}
}
