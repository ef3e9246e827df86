package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/zarf-host/zarf-host/host/action"
	"github.com/zarf-host/zarf-host/host/archive"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/imagetar"
	"github.com/zarf-host/zarf-host/host/kustomize"
	"github.com/zarf-host/zarf-host/host/repo"
	"github.com/zarf-host/zarf-host/host/source"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/template"
)

// world is what reaches everything outside of the author's folders. The caller calls the function that
// it gets when all was gathered.
func (o CreateOptions) world(work string) (create.World, func(), error) {
	options := o.sourceOptions()
	images := source.NewImages(options)
	actions, err := o.createActions()
	if err != nil {
		return create.World{}, nil, err
	}
	w := web{options}
	return create.World{
		Web: w, Charts: charts{chart.Packer{Repositories: w, TempDir: work}, clones{work}}, Kustomize: kustomizer{}, Actions: actions,
		Images: puller{images: images, concurrency: o.Concurrency}, Repos: clones{work}, Skeletons: skeletons{options},
	}, func() { _ = images.Close() }, nil
}

// sourceOptions say how registries and web servers are reached.
func (o CreateOptions) sourceOptions() source.Options {
	return source.Options{PlainHTTP: o.PlainHTTP, InsecureSkipTLSVerify: o.InsecureSkipTLSVerify, Sink: o.Sink}
}

// frames keeps compressed frames for the next package.
func (o CreateOptions) frames() archive.FrameCache {
	if o.CacheDir == "" {
		return nil
	}
	return archive.FrameDir{Dir: filepath.Join(o.CacheDir, "frames")}
}

// web fetches files, and charts from repositories.
type web struct{ options source.Options }

func (w web) Fetch(ctx context.Context, url string, out io.Writer) error {
	return source.Fetch(ctx, url, w.options, out)
}

func (w web) Pull(ctx context.Context, ref, version string, out io.Writer) error {
	return source.PullChart(ctx, ref, version, w.options, out)
}

// charts packs charts, and fetches them from wherever a definition says.
type charts struct {
	packer chart.Packer
	clones clones
}

func (c charts) Pack(ctx context.Context, folder string, out io.Writer) error {
	return c.packer.Pack(ctx, folder, out)
}

func (c charts) Fetch(ctx context.Context, ch spec.Chart, out io.Writer) error {
	url, ref := repo.Split(ch.URL)
	if strings.HasPrefix(ch.URL, "oci://") || !strings.HasSuffix(url, ".git") {
		return c.packer.Download(ctx, ch.URL, cmp.Or(ch.RepoName, ch.Name), ch.Version, out)
	}
	if ref == "" {
		ref = ch.Version
	}
	folder, err := os.MkdirTemp(c.clones.work, "chart-")
	if err != nil {
		return err
	}
	if err := c.clones.Clone(ctx, url+"@"+ref, folder); err != nil {
		return err
	}
	inside := filepath.Join(folder, filepath.FromSlash(ch.GitPath))
	if rel, err := filepath.Rel(folder, inside); err != nil || strings.HasPrefix(rel, "..") {
		return fmt.Errorf("gitPath %q leads out of the repository", ch.GitPath)
	}
	return c.packer.Pack(ctx, inside, out)
}

// clones clones git repositories.
type clones struct{ work string }

func (c clones) Clone(ctx context.Context, url, folder string) error {
	return repo.Clone(ctx, url, folder)
}

type kustomizer struct{}

func (kustomizer) Render(ctx context.Context, at string, anyDirectory, plugins bool) ([]byte, error) {
	return kustomize.Render(ctx, at, kustomize.Options{AnyDirectory: anyDirectory, Plugins: plugins})
}

// puller pulls images, and reads them from archives.
type puller struct {
	images      *source.Images
	concurrency int
}

func (p puller) Resolve(ctx context.Context, from image.Reference, architecture string) (ocispec.Descriptor, error) {
	return p.images.Resolve(ctx, from, architecture)
}

func (p puller) Fetch(ctx context.Context, images []create.Wanted, store create.Store) error {
	var pulled []source.Pulled
	for _, img := range images {
		pulled = append(pulled, source.Pulled{From: img.From, Manifest: img.Manifest})
	}
	err := p.images.Pull(ctx, pulled, store, p.concurrency)
	var failed *source.PullError
	if errors.As(err, &failed) {
		return &create.ImageError{From: failed.Image, Err: failed.Err}
	}
	return err
}

func (p puller) ReadArchive(ctx context.Context, file string, ref image.Reference, architecture string, store create.Store) (ocispec.Descriptor, error) {
	return imagetar.Read(ctx, file, ref, architecture, store)
}

// skeletons opens packages that others import from.
type skeletons struct{ options source.Options }

func (s skeletons) Open(ctx context.Context, ref string) (create.Skeleton, error) {
	options := s.options
	options.Architecture = bundle.SkeletonArchitecture
	b, err := source.Open(ctx, ref, options)
	if err != nil {
		return nil, err
	}
	if !b.Verified() {
		return nil, errors.Join(fmt.Errorf("the skeleton cannot be verified: %s", b.Integrity().Reason), b.Close())
	}
	return skeleton{b}, nil
}

type skeleton struct{ *bundle.Bundle }

// Extract unpacks what the skeleton has of a component. Its content stands in a folder of its own.
func (s skeleton) Extract(ctx context.Context, component, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	return errors.Join(s.ExtractComponent(ctx, component, root), root.Close())
}

// onCreate runs the actions of components that are created. Nothing that a deployment knows is there:
// they have no variables.
type onCreate struct{ runner action.Runner }

func (o CreateOptions) createActions() (onCreate, error) {
	self := o.Executable
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return onCreate{}, fmt.Errorf("finding this program for `./zarf` in actions: %w", err)
		}
	}
	return onCreate{action.Runner{
		Variables: template.New(), Waiter: waiter{o.Common}, Sink: o.Sink, Self: self, Dir: cmp.Or(o.Dir, "."), Values: map[string]any{},
	}}, nil
}

func (c onCreate) Run(ctx context.Context, component string, defaults spec.ActionDefaults, actions []spec.Action) error {
	return c.runner.Run(ctx, component, defaults, actions)
}
