package spec

// ExtensionKey is the key of zarf.yaml under which a package has what Zarf's types have no place for.
// Zarf ignores it, and its schema allows it.
const ExtensionKey = "x-zarf-host"

// Extension is what a package says of itself beyond Zarf's types. It is no part of what Zarf computes
// the package's digest from, other than as bytes of zarf.yaml. A package that Zarf made has none.
type Extension struct {
	// Imports say where components came from that were imported from a registry, by their names.
	Imports map[string]ImportOrigin `json:"imports,omitempty"`
	// Digests are what the references of the full definition meant when the package was created:
	// images in full, such as docker.io/library/nginx:1, with the digest of their manifest; git
	// repositories with the commit.
	Digests map[string]string `json:"digests,omitempty"`
	// Base is the package that this one is the difference to, nil for a full one.
	Base *ExtensionBase `json:"base,omitempty"`
	// Components are those of the full definition in its order, also those that were left out whole.
	// Only a difference has them.
	Components []FullComponent `json:"components,omitempty"`
	// Blobs are the layers and configurations that were left out, because the base has them. Only a
	// difference at the level of blobs has them.
	Blobs []OmittedBlob `json:"blobs,omitempty"`
}

// ImportOrigin is a component in a registry: an oci:// reference, the manifest that it meant, and the
// name of the component there where it is another one.
type ImportOrigin struct {
	Name   string `json:"name,omitempty"`
	URL    string `json:"url"`
	Digest string `json:"digest"` // sha256:…
}

// ExtensionBase identifies the base of a differential package. Its version is in the package's build.
type ExtensionBase struct {
	Digest string `json:"digest,omitempty"` // that Zarf gives the package; unknown for an inventory
	Source string `json:"source,omitempty"` // what it was, without credentials
}

// FullComponent is what the full definition of a package says of a component that a differential
// package has in part, or not at all.
type FullComponent struct {
	Name     string   `json:"name"`
	Required bool     `json:"required,omitempty"`
	Images   []string `json:"images,omitempty"`
	Archived []string `json:"archived,omitempty"` // the images of its image archives
	Repos    []string `json:"repos,omitempty"`
}

// OmittedBlob is a layer or configuration that an image of the full definition consists of, and that
// the package does not have.
type OmittedBlob struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// In are images, in full, that have it where the base was deployed: those that were left out with
	// it, or one of the base.
	In []string `json:"in,omitempty"`
}

// BlobLevelVersion is the version of Zarf that a package requires which leaves out blobs: none has it,
// so that Zarf refuses what it cannot deploy.
const BlobLevelVersion = "v999.0.0"

// IsBlobLevel reports whether blobs were left out of the package.
func (e *Extension) IsBlobLevel() bool { return e != nil && len(e.Blobs) > 0 }

// IsWhole reports whether the extension says what the full definition of a differential package has.
func (e *Extension) IsWhole() bool { return e != nil && e.Base != nil && len(e.Components) > 0 }

// Component returns what the full definition has of a component.
func (e *Extension) Component(name string) (FullComponent, bool) {
	if e != nil {
		for _, c := range e.Components {
			if c.Name == name {
				return c, true
			}
		}
	}
	return FullComponent{}, false
}
