package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/signature"
)

// signatureSuffix is that of the file beside a module with its signature, a Sigstore bundle as
// `cosign sign-blob --bundle` writes it.
const signatureSuffix = ".sigstore.json"

// PluginSignatureError says that no key that is trusted has signed a plugin.
type PluginSignatureError struct {
	Found int // signatures that are there
	Where string
	Err   error // why the last of them does not count, if there is one
}

func (e *PluginSignatureError) Error() string {
	if e.Found == 0 {
		return "it is not signed, and only what the given keys have signed is taken: there is no signature at " + e.Where
	}
	return fmt.Sprintf("none of the %d signatures at %s is one of the given keys over this plugin: %v", e.Found, e.Where, e.Err)
}

// Unwrap returns why the last signature does not count.
func (e *PluginSignatureError) Unwrap() error { return e.Err }

// Hint says how a plugin is signed.
func (e *PluginSignatureError) Hint() string {
	return "whoever has the key signs it: `zarf-host plugin push --signing-key`, `cosign sign --key`, or for a file `cosign sign-blob --key … --bundle FILE" + signatureSuffix + "`"
}

// checkFile wants a module that came as a file signed, if there are keys.
func (s PluginSource) checkFile(module []byte, read func() ([]byte, error)) error {
	if len(s.Keys) == 0 {
		return nil
	}
	where := "FILE" + signatureSuffix
	data, err := read()
	if errors.Is(err, fs.ErrNotExist) {
		return &PluginSignatureError{Where: where}
	}
	if err != nil {
		return fmt.Errorf("reading its signature: %w", err)
	}
	b, err := signature.ParseBundle(data)
	if err != nil {
		return err
	}
	if err := s.anyKey(func(k signature.PublicKey) error { return b.VerifyFile(k, module) }); err != nil {
		return &PluginSignatureError{Found: 1, Where: where, Err: err}
	}
	return nil
}

// anyKey returns nil if one of the keys has signed, else what the last of them says.
func (s PluginSource) anyKey(verify func(signature.PublicKey) error) (err error) {
	for _, k := range s.Keys {
		if err = verify(k); err == nil {
			return nil
		}
	}
	return err
}

// checkStored wants a manifest with one of the digests signed in the registry, if there are keys: in the
// form of cosign 2, or in that of cosign 3.
func (s PluginSource) checkStored(ctx context.Context, client *registry.Client, ref plugin.Reference, digests []string) error {
	if len(s.Keys) == 0 {
		return nil
	}
	refused := &PluginSignatureError{Where: ref.Where() + ":" + signature.Tag(digests[0])}
	for _, digest := range digests {
		for _, look := range []func(context.Context, *registry.Client, plugin.Reference, string) ([]func(signature.PublicKey) error, error){
			payloadsOf, bundlesOf,
		} {
			signatures, err := look(ctx, client, ref, digest)
			if err != nil {
				return fmt.Errorf("looking for its signatures: %w", err)
			}
			for _, verify := range signatures {
				refused.Found++
				if refused.Err = s.anyKey(verify); refused.Err == nil {
					return nil
				}
			}
		}
	}
	return refused
}

// payloadsOf are the signatures of a manifest in the form of cosign 2.
func payloadsOf(ctx context.Context, client *registry.Client, ref plugin.Reference, digest string) ([]func(signature.PublicKey) error, error) {
	manifest, err := client.FetchManifest(ctx, ref.Where()+":"+signature.Tag(digest))
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	layers, err := signature.Layers(manifest.Data)
	if err != nil {
		return nil, err
	}
	var out []func(signature.PublicKey) error
	for _, l := range layers[:min(len(layers), maxSignatures)] {
		data, err := client.FetchBlob(ctx, ref.Where(), l)
		if err != nil {
			return nil, err
		}
		signed := signature.Signed{Payload: data, Signature: l.Annotations[signature.Annotation]}
		out = append(out, func(k signature.PublicKey) error { return k.VerifyArtifact(signed, digest) })
	}
	return out, nil
}

// maxSignatures is how many signatures of a plugin are looked at.
const maxSignatures = 100

// bundlesOf are the signatures of a manifest in the form of cosign 3.
func bundlesOf(ctx context.Context, client *registry.Client, ref plugin.Reference, digest string) ([]func(signature.PublicKey) error, error) {
	referrers, err := client.Referrers(ctx, ref.Where()+"@"+digest, signature.BundleMediaType)
	if err != nil {
		return nil, err
	}
	var out []func(signature.PublicKey) error
	for _, r := range referrers {
		manifest, err := client.FetchManifest(ctx, ref.Where()+"@"+r.Digest.String())
		if err != nil {
			return nil, err
		}
		layers, err := signature.Bundles(manifest.Data)
		if err != nil {
			return nil, err
		}
		for _, l := range layers[:min(len(layers), maxSignatures)] {
			data, err := client.FetchBlob(ctx, ref.Where(), l)
			if err != nil {
				return nil, err
			}
			out = append(out, func(k signature.PublicKey) error {
				b, err := signature.ParseBundle(data)
				if err != nil {
					return err
				}
				return b.VerifyArtifact(k, digest)
			})
		}
	}
	return out, nil
}

func readSignature(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, signature.MaxPayload+1)) // what is larger, ParseBundle refuses
}

// carriedPlugins are the names of the plugins that a package carries.
func carriedPlugins(b *bundle.Bundle) []string {
	var out []string
	for _, f := range b.Files() {
		if name, ok := bundle.PluginOf(f.Path); ok {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
