package create

import (
	"context"
	"io"

	"github.com/zarf-host/zarf-host/host/spec"
)

// World is what creating a package needs of the outside. What a definition does not ask for may be nil.
type World struct {
	Web       Web
	Charts    Charts
	Kustomize Kustomizer
	Images    Images
	Repos     Repos
	Skeletons Skeletons
	Actions   Actions
}

// Web fetches files.
type Web interface {
	// Fetch writes what is at an address to out.
	Fetch(ctx context.Context, url string, out io.Writer) error
}

// Charts packs Helm charts.
type Charts interface {
	// Pack writes the chart in a folder to out as a chart archive, with its dependencies. The same
	// chart gives the same bytes.
	Pack(ctx context.Context, folder string, out io.Writer) error
	// Fetch writes the archive of a chart that a repository, a registry or git has to out.
	Fetch(ctx context.Context, c spec.Chart, out io.Writer) error
}

// Kustomizer renders kustomizations.
type Kustomizer interface {
	// Render returns what the kustomization in a folder, or at an address, comes to.
	Render(ctx context.Context, at string, anyDirectory, plugins bool) ([]byte, error)
}

// Repos clones git repositories.
type Repos interface {
	// Clone makes folder a clone of what a URL names, which may end in @REF.
	Clone(ctx context.Context, url, folder string) error
}

// Skeletons opens packages without images, which other packages import from.
type Skeletons interface {
	// Open opens the skeleton at an oci:// reference.
	Open(ctx context.Context, ref string) (Skeleton, error)
}

// Skeleton is an opened skeleton package. Close it.
type Skeleton interface {
	Definition() spec.Package
	DefinitionBytes() []byte
	// Digest is that of its manifest, "sha256:…".
	Digest() string
	// Extract unpacks what it has of a component into a folder.
	Extract(ctx context.Context, component, folder string) error
	Close() error
}

// Actions runs the commands of a component.
type Actions interface {
	Run(ctx context.Context, component string, defaults spec.ActionDefaults, actions []spec.Action) error
}
