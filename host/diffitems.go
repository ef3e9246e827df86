package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/comparison"
	"github.com/zarf-host/zarf-host/host/differential"
	"github.com/zarf-host/zarf-host/host/image"
	"github.com/zarf-host/zarf-host/host/spec"
)

// side lists what a package has.
func (p *comparedPackage) side() comparison.Side {
	def := p.definition
	items := []comparison.Item{p.head()}
	items = append(items, p.imageItems()...)
	items = append(items, p.valuesItems()...)
	for _, c := range def.Components {
		items = append(items, componentItem(c))
		items = append(items, p.chartItems(c)...)
		items = append(items, p.manifestItems(c)...)
		items = append(items, p.fileItems(c)...)
		for _, text := range c.Repos {
			repo := differential.ParseRepo(text)
			items = append(items, comparison.Item{
				Part: comparison.Repo, Component: c.Name, Name: repo.String(), Group: repo.URL, Digest: p.images[repo.String()].Digest,
			})
		}
	}
	for _, v := range def.Variables {
		items = append(items, comparison.Item{Part: comparison.Variable, Name: v.Name, Fields: []comparison.Field{opaque("definition", v)}})
	}
	for _, c := range def.Constants {
		items = append(items, comparison.Item{Part: comparison.Constant, Name: c.Name, Fields: []comparison.Field{opaque("definition", c)}})
	}
	return comparison.Side{Subject: p.subject, Items: items}
}

// head is what is said of the package as a whole.
func (p *comparedPackage) head() comparison.Item {
	m, b := p.definition.Metadata, p.definition.Build
	return comparison.Item{Part: comparison.Package, Name: "package", Fields: []comparison.Field{
		{Name: "name", Value: m.Name}, {Name: "version", Value: m.Version}, {Name: "architecture", Value: b.Architecture},
		{Name: "flavor", Value: b.Flavor}, {Name: "description", Value: m.Description}, {Name: "url", Value: m.URL},
		{Name: "source", Value: m.Source}, {Name: "vendor", Value: m.Vendor}, {Name: "authors", Value: m.Authors},
		{Name: "yolo", Value: strconv.FormatBool(m.YOLO)}, {Name: "differentialPackageVersion", Value: b.DifferentialPackageVersion},
	}}
}

func componentItem(c spec.Component) comparison.Item {
	return comparison.Item{Part: comparison.Component, Name: c.Name, Fields: []comparison.Field{
		{Name: "required", Value: strconv.FormatBool(c.IsRequired())}, {Name: "default", Value: strconv.FormatBool(c.Default)},
		{Name: "group", Value: c.Group}, {Name: "localOS", Value: c.Only.LocalOS}, {Name: "description", Value: c.Description},
		opaque("actions", c.Actions), opaque("healthChecks", c.HealthChecks), opaque("stateAccess", c.StateAccess),
	}}
}

// imageItems are the images of all components, each once.
func (p *comparedPackage) imageItems() []comparison.Item {
	var out []comparison.Item
	for _, c := range p.definition.Components {
		for _, text := range c.AllImages() {
			item := comparison.Item{Part: comparison.Image, Name: text, Group: text}
			if ref, err := image.Parse(text); err == nil {
				known := p.images[ref.String()]
				item = comparison.Item{
					Part: comparison.Image, Name: ref.String(), Group: ref.Name(), Digest: cmp.Or(known.Digest, ref.Digest), Bytes: known.Bytes,
				}
			}
			if !slices.ContainsFunc(out, func(has comparison.Item) bool { return has.Name == item.Name }) {
				out = append(out, item)
			}
		}
	}
	return out
}

// valuesItems are the values that the package has itself, and their schema.
func (p *comparedPackage) valuesItems() []comparison.Item {
	if p.pkg == nil {
		return nil
	}
	var out []comparison.Item
	for _, f := range p.pkg.bundle.Files() {
		if f.Path == bundle.ValuesYAMLPath || f.Path == bundle.ValuesSchemaPath || f.Path == bundle.DocumentationPath || f.Path == bundle.SBOMPath {
			part := comparison.Values
			if f.Path == bundle.DocumentationPath || f.Path == bundle.SBOMPath {
				part = comparison.File
			}
			out = append(out, comparison.Item{Part: part, Name: f.Path, Digest: "sha256:" + f.SHA256, Bytes: f.Size})
		}
	}
	return out
}

func (p *comparedPackage) chartItems(c spec.Component) []comparison.Item {
	var out []comparison.Item
	for _, ch := range c.Charts {
		has := p.at(c.Name, bundle.ChartPath(ch))
		bare := ch
		bare.Name, bare.Version, bare.Namespace, bare.ReleaseName, bare.URL = "", "", "", "", ""
		out = append(out, comparison.Item{
			Part: comparison.Chart, Component: c.Name, Name: ch.Name, Digest: has.sum, Bytes: has.bytes, Fields: []comparison.Field{
				{Name: "version", Value: ch.Version}, {Name: "namespace", Value: ch.Namespace},
				{Name: "releaseName", Value: ch.ReleaseName}, {Name: "url", Value: withoutUser(ch.URL)}, opaque("definition", bare),
			},
		})
		for i, file := range slices.Concat(ch.ValuesFiles, ch.TemplatedValuesFiles) {
			has := p.at(c.Name, bundle.ValuesPath(ch, i))
			out = append(out, comparison.Item{
				Part: comparison.Values, Component: c.Name, Name: fmt.Sprintf("%s: %s", ch.Name, file), Digest: has.sum, Bytes: has.bytes,
			})
		}
	}
	return out
}

func (p *comparedPackage) manifestItems(c spec.Component) []comparison.Item {
	var out []comparison.Item
	for _, m := range c.Manifests {
		var paths []string
		for i := range m.Files {
			paths = append(paths, bundle.ManifestPath(m, i))
		}
		for i := range m.Kustomizations {
			paths = append(paths, bundle.KustomizationPath(m, i))
		}
		bare := m
		bare.Name, bare.Namespace = "", ""
		has := p.at(c.Name, paths...)
		out = append(out, comparison.Item{
			Part: comparison.Manifest, Component: c.Name, Name: m.Name, Digest: has.sum, Bytes: has.bytes,
			Fields: []comparison.Field{{Name: "namespace", Value: m.Namespace}, opaque("definition", bare)},
		})
	}
	return out
}

// fileItems are the files of a component, and what it injects into pods.
func (p *comparedPackage) fileItems(c spec.Component) []comparison.Item {
	var out []comparison.Item
	for i, f := range c.Files {
		has := p.at(c.Name, bundle.FilePath(f, i))
		out = append(out, comparison.Item{
			Part: comparison.File, Component: c.Name, Name: f.Target, Digest: has.sum, Bytes: has.bytes, Fields: []comparison.Field{
				{Name: "executable", Value: strconv.FormatBool(f.Executable)}, {Name: "symlinks", Value: strings.Join(f.Symlinks, " ")},
			},
		})
	}
	for i, d := range c.DataInjections {
		has := p.at(c.Name, bundle.DataPath(d, i))
		t := d.Target
		out = append(out, comparison.Item{
			Part: comparison.Data, Component: c.Name, Name: fmt.Sprintf("%s/%s/%s:%s", t.Namespace, t.Selector, t.Container, t.Path),
			Digest: has.sum, Bytes: has.bytes,
		})
	}
	return out
}

// at is the content at paths of a component, and below them; none where it was not read.
func (p *comparedPackage) at(component string, paths ...string) digested {
	files := p.contents[component]
	var found []string
	for file := range files {
		if slices.ContainsFunc(paths, func(at string) bool { return file == at || strings.HasPrefix(file, at+"/") }) {
			found = append(found, file)
		}
	}
	if len(found) == 1 {
		return files[found[0]]
	}
	slices.Sort(found)
	sum, out := sha256.New(), digested{}
	for _, file := range found {
		_, _ = fmt.Fprintf(sum, "%s %s\n", files[file].sum, file) // a hash takes all
		out.bytes += files[file].bytes
	}
	if len(found) > 0 {
		out.sum = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	}
	return out
}

// opaque is a field that is compared by all that a part of a definition says, and not shown.
func opaque(name string, v any) comparison.Field {
	data, err := json.Marshal(v)
	if err != nil { // cannot be: it was read from JSON or YAML
		data = []byte(err.Error())
	}
	return comparison.Field{Name: name, Value: string(data), Opaque: true}
}

func withoutUser(url string) string { return differential.ParseRepo(url).String() }
