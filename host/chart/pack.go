package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/ignore"
	"sigs.k8s.io/yaml"
)

// Packer packs charts as helm package does, with the dependencies that they declare.
type Packer struct {
	// Repositories gets charts from elsewhere. Nil refuses charts that need any.
	Repositories Repositories
	// TempDir is where temporary files go; empty is where the system has them.
	TempDir string
}

// Repositories fetches what charts come from.
type Repositories interface {
	// Fetch writes what is at an http:// or https:// address to out.
	Fetch(ctx context.Context, url string, out io.Writer) error
	// Pull writes the chart that a registry has under an oci:// reference, without a tag, in a version
	// to out. A version may be a range.
	Pull(ctx context.Context, ref, version string, out io.Writer) error
}

// Pack writes the chart in a folder to out as an archive. Neither times nor the order of a folder get
// into it, so the same chart gives the same bytes. Dependencies that are not in its charts folder are
// fetched in the versions of its lock file, where it has one; the folder is not changed.
func (p Packer) Pack(ctx context.Context, folder string, out io.Writer) error {
	ch, err := p.load(ctx, folder, nil)
	if err != nil {
		return err
	}
	return writeChart(out, ch)
}

// load loads the chart in a folder with its dependencies. above are the folders of the charts that
// depend on it.
func (p Packer) load(ctx context.Context, folder string, above []string) (*helmchart.Chart, error) {
	if slices.Contains(above, folder) {
		return nil, fmt.Errorf("charts depend on each other in a circle: %s", strings.Join(append(above, folder), " → "))
	}
	files, err := chartFiles(folder)
	if err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	ch, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	if err := ch.Validate(); err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	locked := map[string]string{}
	if ch.Lock != nil {
		for _, d := range ch.Lock.Dependencies {
			locked[d.Name+" "+d.Repository] = d.Version
		}
	}
	for _, d := range ch.Metadata.Dependencies {
		if d == nil || has(ch, d) {
			continue
		}
		wanted := *d
		if version, ok := locked[d.Name+" "+d.Repository]; ok {
			if !meets(version, d.Version) {
				return nil, fmt.Errorf("Chart.lock has version %s of dependency %q, which the chart wants in %q: run `helm dependency update`", version, d.Name, d.Version)
			}
			wanted.Version = version
		}
		dependency, err := p.dependency(ctx, folder, &wanted, append(above[:len(above):len(above)], folder))
		if err != nil {
			return nil, fmt.Errorf("getting dependency %q of chart %q: %w", d.Name, ch.Name(), err)
		}
		ch.AddDependency(dependency)
	}
	return ch, nil
}

// chartFiles reads the files of a chart, but for those that its .helmignore names. Helm's own loader
// does the same, and prints of each link that it follows.
func chartFiles(folder string) ([]*loader.BufferedFile, error) {
	rules := ignore.Empty()
	if found, err := ignore.ParseFile(filepath.Join(folder, ignore.HelmIgnore)); err == nil {
		rules = found
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rules.AddDefaults()
	var out []*loader.BufferedFile
	var total int64
	var visit func(dir, inside string) error
	visit = func(dir, inside string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			file, name := filepath.Join(dir, e.Name()), path.Join(inside, e.Name())
			info, err := os.Stat(file) // links are followed
			if err != nil {
				return err
			}
			switch {
			case rules.Ignore(name, info):
			case info.IsDir():
				if err := visit(file, name); err != nil {
					return err
				}
			case !info.Mode().IsRegular():
				return fmt.Errorf("%q is neither a file nor a folder", file)
			default:
				if total += info.Size(); total > maxChart {
					return fmt.Errorf("the chart has more than %d bytes", maxChart)
				}
				data, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				out = append(out, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
			}
		}
		return nil
	}
	err := visit(folder, "")
	return out, err
}

// has reports whether a chart brings a dependency along, in a version that it wants.
func has(ch *helmchart.Chart, d *helmchart.Dependency) bool {
	return slices.ContainsFunc(ch.Dependencies(), func(c *helmchart.Chart) bool {
		return c.Name() == d.Name && meets(c.Metadata.Version, d.Version)
	})
}

func meets(version, wanted string) bool {
	if wanted == "" || version == wanted {
		return true
	}
	constraint, err := semver.NewConstraint(wanted)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && constraint.Check(v)
}

func (p Packer) dependency(ctx context.Context, folder string, d *helmchart.Dependency, above []string) (*helmchart.Chart, error) {
	if inside, ok := strings.CutPrefix(d.Repository, "file://"); ok {
		at := filepath.FromSlash(inside)
		if !filepath.IsAbs(at) {
			at = filepath.Join(folder, at)
		}
		ch, err := p.load(ctx, at, above)
		if err == nil && !meets(ch.Metadata.Version, d.Version) {
			err = fmt.Errorf("%q has version %s, wanted is %q", inside, ch.Metadata.Version, d.Version)
		}
		return ch, err
	}
	if d.Repository == "" {
		return nil, errors.New("it is not in the charts folder and names no repository")
	}
	return p.fetch(ctx, d.Repository, d.Name, d.Version)
}

// writeChart writes a chart as chartutil.Save does, but for the times.
func writeChart(out io.Writer, ch *helmchart.Chart) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	if err := writeChartFiles(t, ch, ""); err != nil {
		return fmt.Errorf("packing chart %q: %w", ch.Name(), err)
	}
	return errors.Join(t.Close(), z.Close())
}

func writeChartFiles(t *tar.Writer, ch *helmchart.Chart, prefix string) error {
	if err := ch.Validate(); err != nil {
		return err
	}
	if path.Base(ch.Name()) != ch.Name() {
		return fmt.Errorf("%q is no name of a chart", ch.Name())
	}
	base := path.Join(prefix, ch.Name())
	write := func(name string, data []byte) error {
		if err := t.WriteHeader(&tar.Header{Name: path.Join(base, name), Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	metadata := *ch.Metadata
	if metadata.APIVersion == helmchart.APIVersionV1 {
		metadata.Dependencies = nil // they are in a file of their own
	}
	data, err := yaml.Marshal(metadata)
	if err != nil {
		return err
	}
	if err := write(chartutil.ChartfileName, data); err != nil {
		return err
	}
	if ch.Lock != nil && metadata.APIVersion == helmchart.APIVersionV2 {
		if data, err = yaml.Marshal(ch.Lock); err != nil {
			return err
		}
		if err := write("Chart.lock", data); err != nil {
			return err
		}
	}
	for _, f := range ch.Raw {
		if f.Name == chartutil.ValuesfileName {
			if err := write(f.Name, f.Data); err != nil {
				return err
			}
		}
	}
	if ch.Schema != nil {
		if !json.Valid(ch.Schema) {
			return fmt.Errorf("%s is no JSON", chartutil.SchemafileName)
		}
		if err := write(chartutil.SchemafileName, ch.Schema); err != nil {
			return err
		}
	}
	for _, f := range sortedFiles(ch.Templates, ch.Files) {
		if err := write(f.Name, f.Data); err != nil {
			return err
		}
	}
	dependencies := slices.Clone(ch.Dependencies())
	slices.SortStableFunc(dependencies, func(a, b *helmchart.Chart) int { return strings.Compare(a.Name(), b.Name()) })
	for _, d := range dependencies {
		if err := writeChartFiles(t, d, path.Join(base, chartutil.ChartsDir)); err != nil {
			return err
		}
	}
	return nil
}

func sortedFiles(lists ...[]*helmchart.File) []*helmchart.File {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b *helmchart.File) int { return strings.Compare(a.Name, b.Name) })
	return all
}
