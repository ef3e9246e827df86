package packagetest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Package is a package as its author has it.
type Package struct {
	// Definition is zarf.yaml as the author writes it, without a build section.
	Definition string
	// Files are the files that it names, by path. A chart is all files below its localPath.
	Files map[string]string
}

// Options say how a package is written. The zero value writes a good one.
type Options struct {
	// Architecture is that of the build. Default: the definition's, else amd64.
	Architecture string
	// Time is when the package was built, which its digest depends on. Default: a fixed day.
	Time time.Time
	// Version is that of the Zarf which claims to have built it. Default v0.84.0.
	Version string
	// Signed is what the build section claims.
	Signed bool
	// Name is the name of the archive, without its extension. Default: Zarf's name for it.
	Name string
	// OmitImages writes a package without the images that its definition names. A deployment that
	// is connected does not miss them.
	OmitImages bool

	// The hooks make the package something else than what its definition says. Each gets what is
	// there and returns what is to be there, in the order of writing.

	// Component changes what is in a component's tar.
	Component func(component string, entries []Entry) []Entry
	// Content changes the files of the package before checksums.txt is made of them.
	Content func(entries []Entry) []Entry
	// Checksums changes checksums.txt before its own checksum is taken.
	Checksums func(checksums string) string
	// Built changes the definition last of all, when its aggregateChecksum is known.
	Built func(pkg *spec.Package)
	// Entries changes the entries of the archive before they are written.
	Entries func(entries []Entry) []Entry
	// Archive changes the bytes of the archive.
	Archive func(data []byte) []byte
}

// Write writes a package as an archive into dir and returns its path.
func Write(dir string, p Package, o Options) (string, error) {
	if o.Archive != nil {
		name, data, err := o.pack(p)
		if err != nil {
			return "", err
		}
		file := filepath.Join(dir, name)
		return file, os.WriteFile(file, data, 0o600)
	}
	name, entries, err := o.layout(p)
	if err != nil {
		return "", err
	}
	// Straight to the disk: a package may be larger than memory.
	file := filepath.Join(dir, name)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	err = Archive(f, entries, strings.HasSuffix(name, ".tar"))
	return file, errors.Join(err, f.Close())
}

// WriteSplit writes a package as a split archive with parts of at most partBytes into dir and
// returns the path of its header.
func WriteSplit(dir string, p Package, o Options, partBytes int) (string, error) {
	name, data, err := o.pack(p)
	if err != nil {
		return "", err
	}
	base := filepath.Join(dir, name)
	count := 0
	for part := range slices.Chunk(data, partBytes) {
		count++
		if err := os.WriteFile(fmt.Sprintf("%s.part%03d", base, count), part, 0o600); err != nil {
			return "", err
		}
	}
	header := fmt.Sprintf(`{"Sha256Sum":%q,"Bytes":%d,"Count":%d}`, hashOf(data), len(data), count)
	return base + ".part000", os.WriteFile(base+".part000", []byte(header), 0o600)
}

// WriteFolder writes a package as an unpacked folder below dir and returns its path.
func WriteFolder(dir string, p Package, o Options) (string, error) {
	name, entries, err := o.layout(p)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(dir, strings.TrimSuffix(strings.TrimSuffix(name, ".zst"), ".tar"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for _, e := range entries {
		if err := e.place(folder); err != nil {
			return "", fmt.Errorf("writing %q: %w", e.Name, err)
		}
	}
	return folder, nil
}

func (o Options) pack(p Package) (name string, data []byte, err error) {
	name, entries, err := o.layout(p)
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	if err := Archive(&out, entries, strings.HasSuffix(name, ".tar")); err != nil {
		return "", nil, err
	}
	data = out.Bytes()
	if o.Archive != nil {
		data = o.Archive(data)
	}
	return name, data, nil
}

// layout is the name of the archive and what is in it.
func (o Options) layout(p Package) (name string, entries []Entry, err error) {
	pkg, err := definition.Parse([]byte(p.Definition))
	if err != nil {
		return "", nil, err
	}
	files := newAuthored(p.Files)
	entries, err = o.content(pkg, files)
	if err != nil {
		return "", nil, fmt.Errorf("packing %q: %w", pkg.Metadata.Name, err)
	}
	if o.Content != nil {
		entries = o.Content(entries)
	}
	checksums := Checksums(entries)
	if o.Checksums != nil {
		checksums = o.Checksums(checksums)
	}
	o.build(pkg, checksums)
	raw, err := Marshal(pkg)
	if err != nil {
		return "", nil, err
	}
	entries = append(entries, Entry{Name: "checksums.txt", Mode: 0o600, Body: []byte(checksums)})
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	// Behind "values.yaml" too: it is the last of the sorted names in every package of Zarf's.
	entries = append(entries, Entry{Name: "zarf.yaml", Mode: 0o600, Body: raw})
	if o.Entries != nil {
		entries = o.Entries(entries)
	}
	name = cmp.Or(o.Name, ArchiveName(pkg))
	if pkg.Metadata.Uncompressed {
		return name + ".tar", entries, nil
	}
	return name + ".tar.zst", entries, nil
}

// build fills in what Zarf records of itself.
func (o Options) build(pkg *spec.Package, checksums string) {
	when := o.Time
	if when.IsZero() {
		when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	pkg.Metadata.Architecture = cmp.Or(o.Architecture, pkg.Metadata.Architecture, "amd64")
	pkg.Metadata.AggregateChecksum = hashOf([]byte(checksums))
	pkg.Build.Architecture = pkg.Metadata.Architecture
	pkg.Build.Timestamp = when.Format(time.RFC1123Z)
	pkg.Build.Version = cmp.Or(o.Version, "v0.84.0")
	pkg.Build.Signed = &o.Signed
	pkg.Build.ProvenanceFiles = []string{"checksums.txt"}
	if o.Built != nil {
		o.Built(pkg)
	}
}

// content is every file of the package but zarf.yaml and checksums.txt.
func (o Options) content(pkg *spec.Package, files authored) ([]Entry, error) {
	if err := o.supported(pkg); err != nil {
		return nil, err
	}
	entries, err := valuesEntries(pkg.Values, files)
	if err != nil {
		return nil, err
	}
	entries = append(entries, pluginEntries(files)...)
	first := true
	for _, c := range pkg.Components {
		inside, err := componentEntries(c, files)
		if err != nil {
			return nil, fmt.Errorf("component %q: %w", c.Name, err)
		}
		if o.Component != nil {
			inside = o.Component(c.Name, inside)
		}
		if len(inside) == 0 {
			continue // Zarf writes no tar for it
		}
		data, err := Tar(inside)
		if err != nil {
			return nil, fmt.Errorf("component %q: %w", c.Name, err)
		}
		if first {
			entries, first = append(entries, Entry{Name: "components/", Mode: 0o700}), false
		}
		entries = append(entries, Entry{Name: path.Join("components", c.Name+".tar"), Mode: 0o644, Body: data})
	}
	return entries, nil
}

// pluginEntries are the plugins that a package carries: what lies in its folder plugins.
func pluginEntries(files authored) []Entry {
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, bundle.PluginsDir+"/") {
			entries = append(entries, Entry{Name: name, Mode: 0o644, Body: files[name]})
		}
	}
	return entries
}

// supported names the first thing in a definition that only create can pack.
func (o Options) supported(pkg *spec.Package) error {
	var missing []string
	add := func(found bool, what string) {
		if found {
			missing = append(missing, what)
		}
	}
	add(len(pkg.Values.Files) > 1, "several files of values") // create merges them
	add(len(pkg.Documentation) > 0, "documentation")
	for _, c := range pkg.Components {
		in := fmt.Sprintf("component %q: ", c.Name)
		add(c.Import != spec.Import{}, in+"import")
		add(len(c.Images) > 0 && !o.OmitImages, in+"images")
		add(len(c.ImageArchives) > 0 && !o.OmitImages, in+"imageArchives")
		add(len(c.Repos) > 0, in+"repos")
		add(len(c.DataInjections) > 0, in+"dataInjections")
		for _, m := range c.Manifests {
			add(len(m.Kustomizations) > 0, in+fmt.Sprintf("manifest %q: kustomizations", m.Name))
			for _, f := range m.Files {
				add(strings.Contains(f, "://"), in+fmt.Sprintf("manifest %q: file from %q", m.Name, f))
			}
		}
		for _, chart := range c.Charts {
			add(chart.LocalPath == "", in+fmt.Sprintf("chart %q: no localPath", chart.Name))
		}
		for _, f := range c.Files {
			add(strings.Contains(f.Source, "://"), in+fmt.Sprintf("file from %q", f.Source))
			add(f.ExtractPath != "", in+fmt.Sprintf("extractPath of file %q", f.Source))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("the definition has what this builder does not pack: " + strings.Join(missing, ", "))
}

// ArchiveName is the name that Zarf gives the archive of a built package, without its extension.
func ArchiveName(pkg *spec.Package) string {
	version := pkg.Metadata.Version
	if pkg.Build.Differential {
		version = pkg.Build.DifferentialPackageVersion + "-differential-" + version
	}
	parts := []string{"zarf", "package", pkg.Metadata.Name, pkg.Build.Architecture, version, pkg.Build.Flavor}
	if pkg.Kind == spec.KindInit {
		parts = []string{"zarf", "init", pkg.Build.Architecture, version, pkg.Build.Flavor}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "-")
}

// Checksums is the content of checksums.txt for the files of a package.
func Checksums(entries []Entry) string {
	var lines []string
	for _, e := range entries {
		if e.isFile() && e.Name != "zarf.yaml" && e.Name != "checksums.txt" {
			lines = append(lines, e.sum()+" "+e.Name)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
