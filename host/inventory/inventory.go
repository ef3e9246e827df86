package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/zarf-host/zarf-host/host/spec"
)

// What an inventory says that it is.
const (
	APIVersion = "zarf-host.dev/v1alpha1"
	Kind       = "Inventory"
)

// MaxBytes bounds the file that is read: some 100,000 images.
const MaxBytes = 256 << 20

// Inventory is what a registry and the packages of its cluster hold.
type Inventory struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Registry is the address by which packages push, host and perhaps a path.
	Registry string `json:"registry"`
	// Packages are the deployed ones, sorted by name and namespace.
	Packages []Package `json:"packages"`
	// Repositories are those of the registry that deployed packages use, sorted by path.
	Repositories []Repository `json:"repositories"`
}

// Package is a deployed package.
type Package struct {
	Name         string `json:"name"`
	Namespace    string `json:"namespace,omitempty"` // the one it was deployed into instead of its own
	Version      string `json:"version,omitempty"`
	Architecture string `json:"architecture,omitempty"`
	Flavor       string `json:"flavor,omitempty"`
	APIVersion   string `json:"apiVersion,omitempty"` // of its definition
	Digest       string `json:"digest,omitempty"`
	// Components are the deployed ones, in the order of the definition.
	Components []spec.FullComponent `json:"components"`
}

// Repository is a repository of the registry.
type Repository struct {
	Path   string            `json:"path"` // in the registry, without its host
	Tags   map[string]string `json:"tags"` // tag → digest of an image or an index
	Images []Image           `json:"images"`
}

// Image is an image, or an index with the blobs of its images.
type Image struct {
	Digest string `json:"digest"`
	Blobs  []Blob `json:"blobs"`
}

// Blob is a layer or a configuration. Size is in bytes.
type Blob struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// Encode writes an inventory.
func (i Inventory) Encode() ([]byte, error) {
	i.APIVersion, i.Kind = APIVersion, Kind
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(i); err != nil {
		return nil, fmt.Errorf("writing the inventory: %w", err)
	}
	return b.Bytes(), nil
}

// Is reports whether bytes, of which the beginning is enough, look like an inventory: a package is a
// compressed archive, a tar or a folder, and no JSON.
func Is(data []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) }

// Parse reads an inventory strictly: what it does not know it refuses, as a newer program may mean
// more by it than this one can tell.
func Parse(data []byte) (Inventory, error) {
	if len(data) > MaxBytes {
		return Inventory{}, fmt.Errorf("reading the inventory: it has %d bytes, allowed are %d", len(data), int64(MaxBytes))
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Inventory{}, fmt.Errorf("reading the inventory: %w", err)
	}
	if head.APIVersion != APIVersion || head.Kind != Kind {
		return Inventory{}, fmt.Errorf("reading the inventory: it is a %q of %q, not an %q of %q", head.Kind, head.APIVersion, Kind, APIVersion)
	}
	var out Inventory
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return Inventory{}, fmt.Errorf("reading the inventory: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Inventory{}, errors.New("reading the inventory: something follows it")
	}
	if err := out.check(); err != nil {
		return Inventory{}, fmt.Errorf("reading the inventory: %w", err)
	}
	return out, nil
}

// check refuses what would name something else than an image or blob.
func (i Inventory) check() error {
	for _, r := range i.Repositories {
		for tag, d := range r.Tags {
			if err := digest.Digest(d).Validate(); err != nil {
				return fmt.Errorf("repository %q: tag %q: digest %q: %w", r.Path, tag, d, err)
			}
		}
		for _, img := range r.Images {
			if err := digest.Digest(img.Digest).Validate(); err != nil {
				return fmt.Errorf("repository %q: image %q: %w", r.Path, img.Digest, err)
			}
			for _, b := range img.Blobs {
				if err := digest.Digest(b.Digest).Validate(); err != nil {
					return fmt.Errorf("repository %q: blob %q: %w", r.Path, b.Digest, err)
				}
				if b.Size < 0 {
					return fmt.Errorf("repository %q: blob %s has %d bytes", r.Path, b.Digest, b.Size)
				}
			}
		}
	}
	return nil
}
