package imagetar

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/image"
)

// fromDocker reads an image of Docker's older form, whose layers are not compressed: the manifest is
// made here.
func (a archive) fromDocker(ref image.Reference, store Store) (ocispec.Descriptor, error) {
	if ref.Digest != "" {
		return ocispec.Descriptor{}, fmt.Errorf("image %q cannot be told by its digest in an archive of this form: name it by a tag", ref)
	}
	tag, err := name.NewTag(ref.String())
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	img, err := tarball.Image(a.open, &tag)
	if err != nil {
		if strings.Contains(err.Error(), "not found in tarball") {
			return ocispec.Descriptor{}, &MissingError{Image: ref.String()}
		}
		return ocispec.Descriptor{}, err
	}
	layers, err := img.Layers()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	for _, layer := range layers {
		sum, err := layer.Digest()
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		size, err := layer.Size()
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		content, err := layer.Compressed()
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		err = store.Put(a.ctx, digest.Digest(sum.String()), size, content)
		if closed := content.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return ocispec.Descriptor{}, err
		}
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	mediaType, err := img.MediaType()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	for _, data := range [][]byte{config, manifest} {
		var r io.Reader = bytes.NewReader(data)
		if err := store.Put(a.ctx, digest.FromBytes(data), int64(len(data)), r); err != nil {
			return ocispec.Descriptor{}, err
		}
	}
	return ocispec.Descriptor{MediaType: string(mediaType), Digest: digest.FromBytes(manifest), Size: int64(len(manifest))}, nil
}
