package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// maxManifest bounds a manifest, which has some 300 bytes for each file of a package. Registries
// accept 4 MiB.
const maxManifest = 16 << 20

// openOCI opens the package that a registry has under a reference for an architecture.
func openOCI(ctx context.Context, ref string, o Options) (*bundle.Bundle, error) {
	parsed, given, err := parseReference(ref, o.Bundle.SHA256)
	if err != nil {
		return nil, err
	}
	r, err := dialRepository(ctx, parsed, given, o)
	if err != nil {
		return nil, fmt.Errorf("opening package %q: %w", Clean(ref), err)
	}
	manifest, err := r.manifest(ctx, parsed.Reference)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening package %q: %w", Clean(ref), err), r.Close())
	}
	return bundle.OpenRemote(ctx, Clean(ref), manifest, r, o.Bundle)
}

// repository is a repository of a registry, and the connections to it.
type repository struct {
	opts      Options
	ref       registry.Reference // without tag or digest
	plain     bool
	accept    string // the manifests that are asked for
	transport *http.Transport
	client    *auth.Client
}

// dialRepository finds out how the registry is spoken to.
func dialRepository(ctx context.Context, ref registry.Reference, given *login, o Options) (*repository, error) {
	credential, err := credentialFor(ref, given)
	if err != nil {
		return nil, err
	}
	r := &repository{
		opts: o, ref: registry.Reference{Registry: ref.Registry, Repository: ref.Repository}, transport: newTransport(o),
		accept: bundle.IndexMediaType + ", " + bundle.ManifestMediaType,
	}
	if r.plain, err = speaksPlain(ctx, &http.Client{Transport: r.transport, CheckRedirect: follow}, ref.Host(), o.PlainHTTP); err != nil {
		r.transport.CloseIdleConnections()
		return nil, err
	}
	policy := &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate, Backoff: retry.ExponentialBackoff(o.Backoff, 2, 0.1),
		MinWait: o.Backoff, MaxWait: maxBackoff, MaxRetry: o.Retries,
	}
	r.client = &auth.Client{
		Client: &http.Client{
			Transport:     &retry.Transport{Base: r.transport, Policy: func() retry.Policy { return policy }},
			CheckRedirect: follow,
		},
		Cache:      auth.NewCache(),
		Credential: credential,
		Header:     http.Header{"User-Agent": {userAgent}},
	}
	return r, nil
}

// credentialFor returns what to log in with: what the reference carries, else what the Docker
// configuration has for the registry, in its files or through its helpers.
func credentialFor(ref registry.Reference, given *login) (auth.CredentialFunc, error) {
	if given != nil {
		return auth.StaticCredential(ref.Host(), auth.Credential{Username: given.user, Password: given.password}), nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Docker configuration for credentials: %w", err)
	}
	return credentials.Credential(store), nil
}

// Close ends the connections that are idle; those under way end with their context.
func (r *repository) Close() error {
	r.transport.CloseIdleConnections()
	return nil
}

// manifest fetches the manifest of a package, through the index that a tag stands for if there is
// one. What comes back has the digest that it was asked for by.
func (r *repository) manifest(ctx context.Context, reference string) ([]byte, error) {
	mediaType, data, err := r.fetchManifest(ctx, reference)
	if err != nil || mediaType != bundle.IndexMediaType {
		return data, err
	}
	found, size, err := bundle.FindManifest(data, r.opts.Architecture)
	if err != nil {
		return nil, err
	}
	_, data, err = r.fetchManifest(ctx, found)
	if err == nil && int64(len(data)) != size {
		return nil, &bundle.RefusedError{File: found, Reason: fmt.Sprintf("the registry has %d bytes of it, the index declares %d", len(data), size)}
	}
	return data, err
}

// fetchManifest fetches what a tag or digest stands for.
func (r *repository) fetchManifest(ctx context.Context, reference string) (mediaType string, data []byte, err error) {
	d := r.download(ctx, "manifests", reference)
	d.size = -1
	get := d.get
	d.get = func(ctx context.Context, offset int64) (*http.Response, error) {
		response, err := get(ctx, offset)
		if err == nil {
			mediaType, _, _ = strings.Cut(response.Header.Get("Content-Type"), ";")
		}
		return response, err
	}
	defer d.Close()
	data, err = io.ReadAll(io.LimitReader(d, maxManifest+1))
	if err != nil {
		return "", nil, err
	}
	if len(data) > maxManifest {
		return "", nil, &bundle.RefusedError{File: reference, Reason: fmt.Sprintf("a manifest of more than %d bytes", maxManifest)}
	}
	if pinned, err := digest.Parse(reference); err == nil && digest.FromBytes(data) != pinned {
		return "", nil, &bundle.RefusedError{File: reference, Reason: fmt.Sprintf("what the registry has there has the digest %s", digest.FromBytes(data))}
	}
	return strings.TrimSpace(mediaType), data, nil
}

// Open opens a file of the package.
func (r *repository) Open(ctx context.Context, f bundle.File) (io.ReadCloser, error) {
	d := r.download(ctx, "blobs", "sha256:"+f.SHA256)
	d.file, d.size = f.Path, f.Size
	if err := d.open(); err != nil {
		if statusOf(err) == http.StatusNotFound {
			return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
		}
		return nil, err
	}
	return d, nil
}

// download is what the repository has under a reference, not yet asked for.
func (r *repository) download(ctx context.Context, kind, reference string) *download {
	scheme := "https"
	if r.plain {
		scheme = "http"
	}
	at := scheme + "://" + strings.Join([]string{r.ref.Host(), "v2", r.ref.Repository, kind, reference}, "/")
	return &download{
		ctx: auth.AppendRepositoryScope(ctx, r.ref, auth.ActionPull), opts: r.opts, name: at,
		known: true, persistent: true,
		get: func(ctx context.Context, offset int64) (*http.Response, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
			if err != nil {
				return nil, err
			}
			if kind == "manifests" {
				request.Header.Set("Accept", r.accept)
			}
			if offset > 0 {
				request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
			}
			return r.client.Do(request)
		},
	}
}
