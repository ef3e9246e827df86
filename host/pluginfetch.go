package host

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plugin"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// PluginSource says how plugins are had from elsewhere. The zero value is right for most callers.
type PluginSource struct {
	// PlainHTTP allows registries that speak no HTTPS, where they are neither on loopback nor in a
	// private network; InsecureSkipTLSVerify accepts any certificate.
	PlainHTTP             bool
	InsecureSkipTLSVerify bool
	// Limits bound the module: a larger one is not fetched.
	Limits wasm.Limits
	// Keys, if there are any, want every plugin signed by one of them.
	Keys []signature.PublicKey
	// Sink is told of what is tried again.
	Sink event.Sink
}

// FetchedPlugin is a module that was had, of which nothing has run.
type FetchedPlugin struct {
	PluginModule
	// Reference is what it was named by; of one in a registry with the digest of its manifest.
	Reference plugin.Reference
	Metadata  hook.Metadata
	// Digest is that of the module, "sha256:…".
	Digest string
}

// Facts are what a lock file is asked about.
func (f FetchedPlugin) Facts() plugin.Facts {
	return plugin.Facts{
		Name: f.Metadata.Name, Version: f.Metadata.Version, Source: f.Source, Digest: f.Digest,
		Capabilities: f.Metadata.Capabilities,
	}
}

// PluginFetchError says that a plugin could not be had from where it was named to be.
type PluginFetchError struct {
	Reference plugin.Reference
	Err       error
}

func (e *PluginFetchError) Error() string {
	return fmt.Sprintf("getting plugin %s: %v", e.Reference, e.Err)
}

// Unwrap returns the cause.
func (e *PluginFetchError) Unwrap() error { return e.Err }

// FetchPlugin gets the module that a reference names: from a file, a registry, or the package, which may
// be nil where no plugin of it is named. Where keys are given, its signature is verified. Any error is a
// *PluginFetchError.
func FetchPlugin(ctx context.Context, ref plugin.Reference, pkg *Package, s PluginSource) (FetchedPlugin, error) {
	found, err := fetchPlugin(ctx, ref, pkg, s)
	if err != nil {
		return FetchedPlugin{}, &PluginFetchError{ref, err}
	}
	return found, nil
}

func fetchPlugin(ctx context.Context, ref plugin.Reference, pkg *Package, s PluginSource) (FetchedPlugin, error) {
	var module []byte
	var err error
	switch ref.Kind {
	case plugin.Registry:
		ref, module, err = s.pull(ctx, ref)
	case plugin.Package:
		module, err = s.carried(ctx, ref.Name, pkg)
	default:
		module, err = s.file(ref.Path)
	}
	if err != nil {
		return FetchedPlugin{}, err
	}
	return newFetched(ref, module)
}

func newFetched(ref plugin.Reference, module []byte) (FetchedPlugin, error) {
	meta, err := wasm.ReadMetadata(module)
	if err != nil {
		return FetchedPlugin{}, err
	}
	// A package could show the operator one name, and answer to another.
	if ref.Kind == plugin.Package && meta.Name != ref.Name {
		return FetchedPlugin{}, fmt.Errorf("the module in the package is named %q", meta.Name)
	}
	sum := sha256.Sum256(module)
	return FetchedPlugin{
		PluginModule: PluginModule{Source: ref.String(), Bytes: module}, Reference: ref, Metadata: meta,
		Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}, nil
}

// most is how many bytes a module may have.
func (s PluginSource) most() int64 { return int64(s.Limits.ModuleBytes()) }

// file reads a module from disk, with the signature beside it.
func (s PluginSource) file(path string) ([]byte, error) {
	module, err := wasm.ReadModule(path, s.Limits)
	if err != nil {
		return nil, err
	}
	if int64(len(module)) > s.most() {
		return nil, fmt.Errorf("it has more than the %d bytes that a module may have", s.most())
	}
	return module, s.checkFile(module, func() ([]byte, error) { return readSignature(path + signatureSuffix) })
}

// carried reads a module from the package, with the signature beside it.
func (s PluginSource) carried(ctx context.Context, name string, pkg *Package) ([]byte, error) {
	if pkg == nil {
		return nil, errors.New("there is no package at hand that could carry it: a deployed package is only a record")
	}
	b := pkg.bundle
	path := bundle.PluginPath(name)
	read := func(path string, most int64) ([]byte, error) {
		size, err := b.Size(path)
		if err != nil {
			return nil, err
		}
		if size > most {
			return nil, fmt.Errorf("%q has %d bytes in the package, at most %d are read", path, size, most)
		}
		return b.ReadFile(ctx, path)
	}
	module, err := read(path, s.most())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &notCarriedError{path: path, has: carriedPlugins(b)}
	}
	if err != nil {
		return nil, err
	}
	return module, s.checkFile(module, func() ([]byte, error) { return read(path+signatureSuffix, signature.MaxPayload) })
}

// pull fetches a module from a registry. The reference that it returns has the digest of what the
// registry has under it.
func (s PluginSource) pull(ctx context.Context, ref plugin.Reference) (_ plugin.Reference, module []byte, err error) {
	client, err := s.client(ref)
	if err != nil {
		return ref, nil, err
	}
	defer func() { _ = client.Close() }() // everything was read
	top, err := client.FetchManifest(ctx, ref.By())
	if err != nil {
		return ref, nil, err
	}
	digests := []string{top.Digest.String()}
	manifest := top
	if plugin.IsIndex(top.MediaType) {
		chosen, err := plugin.FindManifest(top.Data)
		if err != nil {
			return ref, nil, err
		}
		if manifest, err = client.FetchManifest(ctx, ref.Where()+"@"+chosen.Digest.String()); err != nil {
			return ref, nil, err
		}
		digests = append(digests, manifest.Digest.String())
	}
	layer, err := plugin.FindModule(manifest.Data, s.most())
	if err != nil {
		return ref, nil, err
	}
	// Before the module: what nobody vouches for is not even fetched.
	if err := s.checkStored(ctx, client, ref, digests); err != nil {
		return ref, nil, err
	}
	if module, err = client.FetchBlob(ctx, ref.Where(), layer); err != nil {
		return ref, nil, err
	}
	ref.Digest = top.Digest.String()
	return ref, module, nil
}

// client opens the way to the registry of a reference.
func (s PluginSource) client(ref plugin.Reference) (*registry.Client, error) {
	o := registry.Options{Address: ref.Host, Docker: true, PlainHTTP: s.PlainHTTP, Sink: s.Sink, Doing: "plugin", Backoff: pluginBackoff}
	if s.InsecureSkipTLSVerify {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // asked for by flag
	}
	return registry.Open(o)
}

// notCarriedError says that a package does not carry a plugin.
type notCarriedError struct {
	path string
	has  []string
}

func (e *notCarriedError) Error() string {
	return fmt.Sprintf("the package carries no file %q", e.path)
}

// Hint says what the package carries.
func (e *notCarriedError) Hint() string {
	if len(e.has) == 0 {
		return "the package carries no plugins"
	}
	return fmt.Sprintf("the package carries the plugins %q", e.has)
}
