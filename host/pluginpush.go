package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// pluginBackoff is the pause before a registry is first asked again for a plugin: a guard that cannot be
// had is told of soon.
const pluginBackoff = 250 * time.Millisecond

// PushPluginOptions say how a plugin is pushed.
type PushPluginOptions struct {
	PluginSource
	// Key, if not nil, signs what is pushed.
	Key *signature.PrivateKey
}

// PushPlugin pushes a module under a reference with a tag, in the layout of the CNCF, and signs it if
// there is a key. What would not be loaded is not pushed. The result's reference has the digest of the
// manifest: the same module has the same one, whoever pushes it when.
func PushPlugin(ctx context.Context, module []byte, ref plugin.Reference, o PushPluginOptions) (FetchedPlugin, error) {
	pushed, err := pushPlugin(ctx, module, ref, o)
	if err != nil {
		return FetchedPlugin{}, fmt.Errorf("pushing plugin %s: %w", ref, err)
	}
	return pushed, nil
}

func pushPlugin(ctx context.Context, module []byte, ref plugin.Reference, o PushPluginOptions) (FetchedPlugin, error) {
	if ref.Kind != plugin.Registry || ref.Tag == "" || ref.Digest != "" {
		return FetchedPlugin{}, errors.New("it is pushed under a tag: oci://HOST/PATH:TAG")
	}
	if int64(len(module)) > o.most() {
		return FetchedPlugin{}, fmt.Errorf("it has more than the %d bytes that a module may have", o.most())
	}
	info, err := wasm.Inspect(module, o.Limits)
	if err != nil {
		return FetchedPlugin{}, err
	}
	if info.Refused != "" {
		return FetchedPlugin{}, fmt.Errorf("the module would be refused: %s", info.Refused)
	}
	artifact, err := plugin.Pack(info.Metadata, module)
	if err != nil {
		return FetchedPlugin{}, err
	}
	client, err := o.client(ref)
	if err != nil {
		return FetchedPlugin{}, err
	}
	defer func() { _ = client.Close() }() // everything was confirmed
	if o.Key != nil {
		// The signature first: nobody finds the plugin under its tag without one.
		if err := o.sign(ctx, client, ref, artifact.Manifest.Digest.String()); err != nil {
			return FetchedPlugin{}, err
		}
	}
	err = client.PushArtifact(ctx, ref.By(), registry.Blob{Descriptor: artifact.Manifest, Data: artifact.ManifestData},
		registry.Blob{Descriptor: artifact.Config, Data: artifact.ConfigData},
		registry.Blob{Descriptor: artifact.Module, Data: module})
	if err != nil {
		return FetchedPlugin{}, err
	}
	ref.Digest = artifact.Manifest.Digest.String()
	return newFetched(ref, module)
}

// sign adds a signature of the manifest with a digest to those that the registry has, in the form that
// every cosign verifies.
func (o PushPluginOptions) sign(ctx context.Context, client *registry.Client, ref plugin.Reference, digest string) error {
	signed, err := o.Key.SignArtifact(ref.Where(), digest)
	if err != nil {
		return err
	}
	at := ref.Where() + ":" + signature.Tag(digest)
	existing, err := client.FetchManifest(ctx, at)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("looking for signatures: %w", err)
	}
	stored, err := signature.Store(existing.Data, signed)
	if err != nil {
		return err
	}
	return client.PushArtifact(ctx, at, registry.Blob{Descriptor: stored.Manifest, Data: stored.ManifestData},
		registry.Blob{Descriptor: stored.Config, Data: stored.ConfigData},
		registry.Blob{Descriptor: stored.Payload, Data: stored.PayloadData})
}
