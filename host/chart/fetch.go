package chart

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/repo"
)

// maxChart bounds a chart archive, and the index of a repository. The largest public index has some
// 30 MiB.
const maxChart = 256 << 20

// Download writes the archive of a chart that a repository has to out, as it is there. The repository
// is an http://, https:// or oci:// address; an oci:// one names the chart itself.
func (p Packer) Download(ctx context.Context, repository, name, version string, out io.Writer) error {
	data, err := p.archive(ctx, repository, name, version)
	if err != nil {
		return fmt.Errorf("fetching chart %q %s: %w", name, version, err)
	}
	_, err = out.Write(data)
	return err
}

// fetch loads a dependency of a chart. An oci:// repository is the folder of the chart, as Helm has it.
func (p Packer) fetch(ctx context.Context, repository, name, version string) (*helmchart.Chart, error) {
	if strings.HasPrefix(repository, "oci://") {
		repository = strings.TrimSuffix(repository, "/") + "/" + name
	}
	data, err := p.archive(ctx, repository, name, version)
	if err != nil {
		return nil, err
	}
	return loader.LoadArchive(bytes.NewReader(data))
}

func (p Packer) archive(ctx context.Context, repository, name, version string) ([]byte, error) {
	scheme, _, _ := strings.Cut(repository, "://")
	switch {
	case p.Repositories == nil:
		return nil, errors.New("there is no way to a repository")
	case scheme == "oci":
		data := limited{most: maxChart}
		if err := p.Repositories.Pull(ctx, repository, version, &data); err != nil {
			return nil, err
		}
		return data.Bytes(), checkChart(data.Bytes(), path.Base(repository), version)
	case scheme == "http" || scheme == "https":
		return p.fromRepository(ctx, repository, name, version)
	}
	return nil, fmt.Errorf("%q is no repository: want an https:// or oci:// address", repository)
}

// fromRepository looks a chart up in the index of a repository.
func (p Packer) fromRepository(ctx context.Context, repository, name, version string) ([]byte, error) {
	index, err := p.index(ctx, strings.TrimSuffix(repository, "/")+"/index.yaml")
	if err != nil {
		return nil, err
	}
	found, err := index.Get(name, version)
	if err != nil || len(found.URLs) == 0 {
		return nil, fmt.Errorf("the repository %s has no version %q of a chart %q", repository, version, name)
	}
	where, err := repo.ResolveReferenceURL(repository, found.URLs[0])
	if err != nil {
		return nil, fmt.Errorf("the repository %s says that the chart is at %q: %w", repository, found.URLs[0], err)
	}
	data := limited{most: maxChart}
	if strings.HasPrefix(where, "oci://") {
		if err := p.Repositories.Pull(ctx, where, found.Version, &data); err != nil {
			return nil, err
		}
		return data.Bytes(), checkChart(data.Bytes(), name, version)
	}
	if err := p.Repositories.Fetch(ctx, where, &data); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data.Bytes())
	if want := strings.TrimPrefix(found.Digest, "sha256:"); want != "" && !strings.EqualFold(want, hex.EncodeToString(sum[:])) {
		return nil, fmt.Errorf("the repository %s declares the checksum %s of the chart, what it has there has %x", repository, want, sum)
	}
	return data.Bytes(), checkChart(data.Bytes(), name, version)
}

// index reads the index of a repository, which Helm reads from a file.
func (p Packer) index(ctx context.Context, address string) (*repo.IndexFile, error) {
	f, err := os.CreateTemp(p.TempDir, "zarf-host-index-*.yaml")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	data := limited{most: maxChart}
	err = p.Repositories.Fetch(ctx, address, &data)
	if err == nil {
		_, err = f.Write(data.Bytes())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	index, err := repo.LoadIndexFile(f.Name())
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", address, err)
	}
	return index, nil
}

// checkChart refuses what is not the chart that was asked for.
func checkChart(data []byte, name, version string) error {
	ch, err := loader.LoadArchive(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("what is there is no chart: %w", err)
	}
	if ch.Name() != name || !meets(ch.Metadata.Version, version) {
		return fmt.Errorf("what is there is chart %q in version %s", ch.Name(), ch.Metadata.Version)
	}
	return nil
}

// limited takes so many bytes and no more.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.most {
		return 0, fmt.Errorf("it has more than %d bytes", l.most)
	}
	return l.Buffer.Write(p)
}

var _ io.Writer = (*limited)(nil)
