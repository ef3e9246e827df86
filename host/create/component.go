package create

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/zarf-host/zarf-host/host/archive"
	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/spec"
)

// packing gathers the files of one component.
type packing struct {
	*Resolved
	index     int
	component compose.Component
	folder    string // for what is fetched
	files     []bundle.ComponentFile
}

func (p *packing) all(ctx context.Context) error {
	for _, part := range []func(context.Context) error{p.charts, p.manifests, p.dataInjections, p.filesOf, p.repos} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *packing) fault(err error, steps ...any) error {
	return p.sources.at(p.At(p.index, steps...), err)
}

func (p *packing) charts(ctx context.Context) error {
	for i, c := range p.component.Charts {
		if err := p.chart(ctx, i, c); err != nil {
			return err
		}
		files := append(c.ValuesFiles[:len(c.ValuesFiles):len(c.ValuesFiles)], c.TemplatedValuesFiles...)
		for k, file := range files {
			list, n := "valuesFiles", k
			if k >= len(c.ValuesFiles) {
				list, n = "templatedValuesFiles", k-len(c.ValuesFiles)
			}
			if err := p.one(ctx, file, bundle.ValuesPath(c, k), 0o644); err != nil {
				return p.fault(err, "charts", i, list, n)
			}
		}
	}
	return nil
}

// chart packs a chart: from a folder, from an archive as it is, or from where its url says.
func (p *packing) chart(ctx context.Context, i int, c spec.Chart) error {
	if c.LocalPath == "" {
		err := p.fetched(bundle.ChartPath(c), 0o644, func(out io.Writer) error { return p.world.Charts.Fetch(ctx, c, out) })
		return p.fault(err, "charts", i, "url")
	}
	where, err := p.sources.locate(c.LocalPath)
	if err != nil {
		return p.fault(err, "charts", i, "localPath")
	}
	info, err := os.Stat(where.path)
	switch {
	case err != nil:
	case !info.IsDir():
		err = p.add(bundle.ChartPath(c), where.path, 0o644)
	default:
		// Helm follows links wherever they lead, so they are judged before.
		if err = where.walk(ctx, func(string, string, os.FileInfo) error { return nil }); err == nil {
			err = p.fetched(bundle.ChartPath(c), 0o644, func(out io.Writer) error { return p.world.Charts.Pack(ctx, where.path, out) })
		}
	}
	return p.fault(err, "charts", i, "localPath")
}

func (p *packing) manifests(ctx context.Context) error {
	for i, m := range p.component.Manifests {
		for k, file := range m.Files {
			if err := p.one(ctx, file, bundle.ManifestPath(m, k), 0o644); err != nil {
				return p.fault(err, "manifests", i, "files", k)
			}
		}
		for k, at := range m.Kustomizations {
			if err := p.kustomization(ctx, m, k, at); err != nil {
				return p.fault(err, "manifests", i, "kustomizations", k)
			}
		}
	}
	return nil
}

func (p *packing) kustomization(ctx context.Context, m spec.Manifest, index int, at string) error {
	if !compose.IsURL(at) {
		where, err := p.sources.locate(at)
		if err != nil {
			return err
		}
		at = where.path
	}
	data, err := p.world.Kustomize.Render(ctx, at, m.KustomizeAllowAnyDirectory, m.EnableKustomizePlugins)
	if err != nil {
		return err
	}
	p.files = append(p.files, bundle.ComponentFile{Path: bundle.KustomizationPath(m, index), Mode: 0o644, Data: data})
	return nil
}

func (p *packing) dataInjections(ctx context.Context) error {
	for i, d := range p.component.DataInjections {
		if err := p.any(ctx, d.Source, bundle.DataPath(d, i), 0o600); err != nil {
			return p.fault(err, "dataInjections", i, "source")
		}
	}
	return nil
}

func (p *packing) filesOf(ctx context.Context) error {
	for i, f := range p.component.Files {
		mode := fs.FileMode(0o600)
		if f.Executable {
			mode = 0o700
		}
		var err error
		switch target := bundle.FilePath(f, i); {
		case path.Base(target) == "/" || path.Base(target) == ".":
			return p.fault(fmt.Errorf("%q names no file", f.Target), "files", i, "target")
		case f.ExtractPath != "":
			err = p.extracted(ctx, f, i, target, mode)
		default:
			err = p.file(ctx, f, target, mode)
		}
		if err != nil {
			return p.fault(err, "files", i, "source")
		}
	}
	return nil
}

// file adds a file or folder, and holds it against its checksum.
func (p *packing) file(ctx context.Context, f spec.File, target string, mode fs.FileMode) error {
	before := len(p.files)
	if err := p.any(ctx, f.Source, target, mode); err != nil || f.Shasum == "" {
		return err
	}
	added := p.files[before:]
	if len(added) != 1 || !added[0].Mode.IsRegular() {
		return fmt.Errorf("%q is a folder, which has no shasum", f.Source)
	}
	return matches(ctx, added[0].Source, f.Shasum)
}

// ShasumError says that a file is not what its definition says.
type ShasumError struct{ Want, Got string }

func (e *ShasumError) Error() string { return fmt.Sprintf("its shasum is %s, not %s", e.Got, e.Want) }

// Hint says what to do about it.
func (e *ShasumError) Hint() string {
	return "if the file is meant to be another one now, write its new shasum into the definition"
}

func matches(ctx context.Context, file, want string) error {
	content, err := bundle.ReadContent(ctx, "", file)
	if err != nil {
		return err
	}
	if got := content.SHA256; !strings.EqualFold(got, want) {
		return &ShasumError{Want: want, Got: got}
	}
	return nil
}

// extracted adds what lies at a path in an archive. A checksum is that of what was extracted, as in
// Zarf; that of the archive is taken too.
func (p *packing) extracted(ctx context.Context, f spec.File, index int, target string, mode fs.FileMode) error {
	file, err := p.local(ctx, f.Source, fmt.Sprintf("archive-%d", index))
	if err != nil {
		return err
	}
	folder := filepath.Join(p.folder, fmt.Sprintf("extracted-%d", index))
	if err := archive.Decompress(ctx, file, folder); err != nil {
		return err
	}
	where, err := follow(filepath.Join(folder, filepath.FromSlash(path.Clean("/"+f.ExtractPath))), folder)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the archive has no %q, which extractPath names", f.ExtractPath)
		}
		return err
	}
	if f.Shasum != "" {
		if wrong := matches(ctx, where, f.Shasum); wrong != nil && matches(ctx, file, f.Shasum) != nil {
			return wrong
		}
	}
	return p.addAny(ctx, located{path: where, root: folder}, target, mode)
}

func (p *packing) repos(ctx context.Context) error {
	for i, url := range p.component.Repos {
		folder := filepath.Join(p.folder, "repos", fmt.Sprint(i))
		err := p.world.Repos.Clone(ctx, url, folder)
		if err == nil {
			err = p.clone(ctx, folder, bundle.RepoPath(url))
		}
		if err != nil {
			return p.fault(err, "repos", i)
		}
	}
	return nil
}

// clone adds a folder as it is, with its links.
func (p *packing) clone(ctx context.Context, folder, target string) error {
	return filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		f := bundle.ComponentFile{Path: path.Join(target, filepath.ToSlash(inside)), Mode: info.Mode(), Source: file}
		switch {
		case info.IsDir():
			f.Mode = fs.ModeDir | 0o755
		case info.Mode()&fs.ModeSymlink != 0:
			if f.Link, err = os.Readlink(file); err != nil {
				return err
			}
		default:
			f.Mode = modeOf(info)
		}
		p.files = append(p.files, f)
		return nil
	})
}

// one adds a file on disk or at an address.
func (p *packing) one(ctx context.Context, source, target string, mode fs.FileMode) error {
	file, err := p.local(ctx, source, target)
	if err != nil {
		return err
	}
	return p.add(target, file, mode)
}

// any adds a file, at an address too, or a folder.
func (p *packing) any(ctx context.Context, source, target string, mode fs.FileMode) error {
	if compose.IsURL(source) {
		return p.one(ctx, source, target, mode)
	}
	where, err := p.sources.locate(source)
	if err != nil {
		return err
	}
	return p.addAny(ctx, where, target, mode)
}

func (p *packing) addAny(ctx context.Context, where located, target string, mode fs.FileMode) error {
	info, err := os.Stat(where.path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return p.add(target, where.path, mode)
	}
	p.files = append(p.files, bundle.ComponentFile{Path: target, Mode: fs.ModeDir | 0o700})
	return where.walk(ctx, func(inside, file string, info os.FileInfo) error {
		f := bundle.ComponentFile{Path: path.Join(target, inside), Mode: modeOf(info), Source: file}
		if info.IsDir() {
			f.Mode = fs.ModeDir | 0o755
		}
		p.files = append(p.files, f)
		return nil
	})
}

// modeOf tells what runs from what does not; who else may read it on the author's machine is nobody's
// business.
func modeOf(info os.FileInfo) fs.FileMode {
	if info.Mode().Perm()&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

// local is a file on disk that has what is at a path or an address.
func (p *packing) local(ctx context.Context, source, name string) (string, error) {
	if !compose.IsURL(source) {
		where, err := p.sources.locate(source)
		if err != nil {
			return "", err
		}
		return where.path, plainFile(where.path)
	}
	file := filepath.Join(p.folder, filepath.FromSlash(name))
	return file, p.download(file, func(out io.Writer) error { return p.world.Web.Fetch(ctx, source, out) })
}

// fetched adds a file that is made by a function.
func (p *packing) fetched(target string, mode fs.FileMode, write func(io.Writer) error) error {
	file := filepath.Join(p.folder, filepath.FromSlash(target))
	if err := p.download(file, write); err != nil {
		return err
	}
	return p.add(target, file, mode)
}

func (p *packing) download(file string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func (p *packing) add(target, file string, mode fs.FileMode) error {
	if err := plainFile(file); err != nil {
		return err
	}
	p.files = append(p.files, bundle.ComponentFile{Path: target, Mode: mode, Source: file})
	return nil
}

func plainFile(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is no file", file)
	}
	return nil
}

// maxSmall bounds what is held in memory of an author's file.
const maxSmall = 16 << 20

// small reads a file that is held in memory.
func (r *Resolved) small(ctx context.Context, name string) ([]byte, error) {
	if compose.IsURL(name) {
		return nil, fmt.Errorf("%q is an address, want a file", name)
	}
	where, err := r.sources.locate(name)
	if err != nil {
		return nil, err
	}
	if err := plainFile(where.path); err != nil {
		return nil, err
	}
	f, err := os.Open(where.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(readerWith{ctx, f}, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("%q has more than %d bytes", name, maxSmall)
	}
	return data, err
}
