package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/registry"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/source"
	"github.com/zarf-host/zarf-host/host/spec"
)

// PublishOptions say what is published where.
type PublishOptions struct {
	Common
	// Source is a package. The folder of a definition publishes a skeleton: what others need to import
	// its components, without images.
	Source string
	// Target is the path in a registry below which the package gets its name: oci://HOST/PATH.
	Target string
	// Tag is that of the package. Default: its version, with its flavor.
	Tag string
	// Flavor chooses among the components of a skeleton.
	Flavor string
	// Machine records the names of machine and user in a skeleton.
	Machine bool
	// Key, if not nil, signs what is published. A package that is signed already is refused then.
	Key *signature.PrivateKey
}

// Published is a package that a registry has.
type Published struct {
	// Reference is where: HOST/PATH:TAG, without a scheme.
	Reference string
	// Digest is the package's, "sha256:…".
	Digest string
	// Skeleton says that it is one.
	Skeleton bool
	// UploadedBlobs and UploadedBytes are what the registry did not have.
	UploadedBlobs int
	UploadedBytes int64
}

// Publish makes a registry have a package under a tag, in Zarf's layout. Files that it has are not sent
// again, and packages under the tag for other architectures stay.
func Publish(ctx context.Context, o PublishOptions) (Published, error) {
	o.Common = o.defaulted()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	if err := o.checkTempDir(); err != nil {
		return Published{}, err
	}
	if err := checkTarget(o.Target); err != nil {
		return Published{}, err
	}
	work, err := os.MkdirTemp(o.TempDir, "zarf-host-publish-")
	if err != nil {
		return Published{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(work); err != nil {
			o.say(event.Warn, "publish", fmt.Sprintf("deleting temporary files: %v", err))
		}
	}()
	opened, skeleton, err := o.open(ctx, work)
	if err != nil {
		return Published{}, err
	}
	defer func() { _ = opened.Close() }() // only read from
	if !opened.Verified() {
		return Published{}, &PreflightError{Problems: []string{"the package cannot be verified: " + opened.Integrity().Reason}}
	}
	if o.Key != nil {
		signed, err := reopenSigned(ctx, opened, *o.Key, work)
		if err != nil {
			return Published{}, err
		}
		defer func() { _ = signed.Close() }() // only read from
		opened = signed
	}
	out, err := o.publish(ctx, opened)
	out.Skeleton = skeleton
	return out, err
}

// open opens what is published. Of the folder of a definition it makes a skeleton first.
func (o PublishOptions) open(ctx context.Context, work string) (b *bundle.Bundle, skeleton bool, err error) {
	if !isAuthored(o.Source) {
		options := o.openOptions()
		b, err = source.Open(ctx, o.Source, source.Options{
			Bundle:       bundle.Options{Limits: options.Limits, SHA256: options.SHA256, Concurrency: options.Concurrency},
			Architecture: options.Architecture, PlainHTTP: o.PlainHTTP, InsecureSkipTLSVerify: o.InsecureSkipTLSVerify, Sink: o.Sink,
		})
		if err != nil {
			return nil, false, err
		}
		if signer, err := options.Verification.check(ctx, b); err != nil {
			return nil, false, errors.Join(err, b.Close())
		} else if b.Signed() && signer == "" {
			o.say(event.Warn, "open", "the package is signed, and its signature was not verified")
		}
		return b, false, nil
	}
	file, err := o.skeleton(ctx, work)
	if err != nil {
		return nil, true, err
	}
	b, err = bundle.Open(ctx, file, bundle.Options{})
	return b, true, err
}

// isAuthored reports whether a folder is that of a definition, and not an unpacked package, which has
// checksums.
func isAuthored(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, bundle.ChecksumsPath))
	return err != nil
}

// skeleton writes the archive of a skeleton package.
func (o PublishOptions) skeleton(ctx context.Context, work string) (string, error) {
	c := CreateOptions{Common: o.Common, Dir: o.Source, Flavor: o.Flavor, Machine: o.Machine}
	world, closeWorld, err := c.world(work)
	if err != nil {
		return "", err
	}
	defer closeWorld()
	options := c.resolveOptions(work)
	options.Skeleton = true
	resolved, err := create.Resolve(ctx, options, world)
	if err != nil {
		return "", err
	}
	files, err := resolved.Skeleton(ctx)
	if err != nil {
		return "", err
	}
	_, files, err = resolved.Finish(files, c.stamp(), nil)
	if err != nil {
		return "", err
	}
	f, err := os.Create(filepath.Join(work, "skeleton.tar.zst"))
	if err != nil {
		return "", err
	}
	err = bundle.WriteArchive(ctx, f, files, false, nil)
	return f.Name(), errors.Join(err, f.Close())
}

func (o PublishOptions) publish(ctx context.Context, b *bundle.Bundle) (Published, error) {
	pkg := b.Definition()
	reference, err := publishedAs(pkg, o.Target, o.Tag)
	if err != nil {
		return Published{}, err
	}
	manifest, config, err := b.Manifest()
	if err != nil {
		return Published{}, err
	}
	host, _, _ := strings.Cut(reference, "/")
	client, err := o.publisher(host)
	if err != nil {
		return Published{}, err
	}
	defer func() { _ = client.Close() }() // everything was confirmed
	o.say(event.Info, "publish", "publishing "+reference)
	done, err := client.Publish(ctx, registry.PublishOptions{
		Reference: reference, Architecture: pkg.Build.Architecture, Manifest: manifest, Config: config, Source: b, Concurrency: o.Concurrency,
	})
	return Published{
		Reference: reference, Digest: done.Digest, UploadedBlobs: done.UploadedBlobs, UploadedBytes: done.UploadedBytes,
	}, err
}

// publisher speaks to a registry as whoever is logged in there.
func (o PublishOptions) publisher(address string) (*registry.Client, error) {
	options := registry.Options{
		Address: address, Docker: true, PlainHTTP: o.PlainHTTP, Sink: o.Sink, Retries: o.Retries,
		Backoff: o.Patience.Backoff, StallLimit: o.Patience.Stall, CommitLimit: o.Patience.Commit,
	}
	if o.InsecureSkipTLSVerify {
		options.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // asked for by flag
	}
	return registry.Open(options)
}

// publishedAs is the reference of a package below a path in a registry.
func publishedAs(pkg spec.Package, target, tag string) (string, error) {
	if tag == "" {
		if pkg.Metadata.Version == "" {
			return "", &VersionlessError{Package: pkg.Metadata.Name}
		}
		tag = bundle.FullVersion(&pkg)
		if pkg.Build.Flavor != "" {
			tag += "-" + pkg.Build.Flavor
		}
	}
	// A version may have a plus, which tags may not.
	tag = strings.ReplaceAll(tag, "+", "_")
	reference := strings.TrimSuffix(strings.TrimPrefix(target, "oci://"), "/") + "/" + pkg.Metadata.Name + ":" + tag
	if _, err := image.Parse(reference); err != nil {
		return "", fmt.Errorf("publishing package %q: %w", pkg.Metadata.Name, err)
	}
	return reference, nil
}

// VersionlessError says that a package without a version has no tag to be published under.
type VersionlessError struct{ Package string }

func (e *VersionlessError) Error() string {
	return fmt.Sprintf("package %q has no version to be published under", e.Package)
}

// Hint says what to do about it.
func (e *VersionlessError) Hint() string { return "set metadata.version, or name a tag with --tag" }

func checkTarget(target string) error {
	rest, ok := strings.CutPrefix(target, "oci://")
	if !ok {
		return fmt.Errorf("%q is no oci:// path in a registry", cmp.Or(source.Clean(target), target))
	}
	if strings.Contains(rest, "@") {
		return errors.New("the path in a registry cannot have credentials or a digest: log in with `docker login`")
	}
	return nil
}
