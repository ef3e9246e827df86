package source

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
)

// chartLayer is the media type of a chart archive in a registry.
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// PullChart writes the chart that a registry has under an oci:// reference in a version to out. A
// reference that has a tag or digest says itself which version it is. A version may be a range, of
// which the highest there is counts.
func PullChart(ctx context.Context, ref, version string, o Options, out io.Writer) error {
	o = o.withDefaults()
	clean := Clean(ref)
	given, err := givenLogin(ref, clean)
	if err != nil {
		return &FetchError{URL: clean, Err: err}
	}
	parsed, err := registry.ParseReference(strings.TrimPrefix(clean, "oci://"))
	if err != nil {
		return &FetchError{URL: clean, Err: err}
	}
	r, err := dialRepository(ctx, parsed, given, o)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // nothing is under way
	tag := parsed.Reference
	if tag == "" {
		if tag, err = r.chartTag(ctx, version); err != nil {
			return fetchError(clean, err)
		}
	}
	_, data, err := r.fetchManifest(ctx, tag)
	if err != nil {
		return err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return &FetchError{URL: clean, Err: fmt.Errorf("reading its manifest: %w", err)}
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType == chartLayer {
			return r.chartArchive(ctx, layer, out)
		}
	}
	return &FetchError{URL: clean, Err: fmt.Errorf("%q is no chart", tag)}
}

func (r *repository) chartArchive(ctx context.Context, layer ocispec.Descriptor, out io.Writer) error {
	in := r.download(ctx, "blobs", layer.Digest.String())
	in.file, in.size = "the chart", layer.Size
	defer func() { _ = in.Close() }() // only read from
	verifier := layer.Digest.Verifier()
	if _, err := io.Copy(io.MultiWriter(out, verifier), in); err != nil {
		return err
	}
	if !verifier.Verified() {
		return &FetchError{URL: in.name, Err: fmt.Errorf("what the registry has there is something else than %s", layer.Digest)}
	}
	return nil
}

// chartTag is the tag of a version. Tags have an underscore where versions have a plus.
func (r *repository) chartTag(ctx context.Context, version string) (string, error) {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil {
		return strings.ReplaceAll(version, "+", "_"), nil
	}
	constraint, err := semver.NewConstraint(version)
	if err != nil {
		return strings.ReplaceAll(version, "+", "_"), nil // it is a tag by itself
	}
	var best *semver.Version
	tag := ""
	list := &remote.Repository{Client: r.client, Reference: r.ref, PlainHTTP: r.plain}
	err = list.Tags(ctx, "", func(tags []string) error {
		for _, t := range tags {
			v, err := semver.NewVersion(strings.ReplaceAll(t, "_", "+"))
			if err == nil && constraint.Check(v) && (best == nil || v.GreaterThan(best)) {
				best, tag = v, t
			}
		}
		return nil
	})
	if err == nil && best == nil {
		err = fmt.Errorf("there is no version %q of the chart", version)
	}
	return tag, err
}
