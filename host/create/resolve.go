package create

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/compose"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/validate"
)

// Options say what is created. Dir, Architecture and Work are needed.
type Options struct {
	// Dir is the folder with the definition, zarf.yaml.
	Dir string
	// Architecture is that of the cluster which the package is for. Where it is a default only, the
	// definition's own comes first.
	Architecture        string
	ArchitectureDefault bool
	// Flavor chooses among components that are for flavors.
	Flavor string
	// Set gives package templates their values.
	Set map[string]string
	// RegistryOverrides say where images are pulled from in place of where their references say.
	RegistryOverrides []Override
	// Work is a folder for temporary files, which the caller deletes.
	Work string
	// Store keeps blobs of images by their digest. Default: below Work.
	Store string
	// Skeleton resolves a package that others import from: for every architecture, with its templates
	// as they are, and without asking registries for its images.
	Skeleton bool
	// Sink is told what happens; nil drops it.
	Sink event.Sink
}

// Override is a prefix of image references and what stands in its place when they are pulled.
type Override struct {
	Source, Override string
}

// Resolved is a package of which is known what it consists of. Nothing of that was fetched yet.
type Resolved struct {
	// Package is the composed definition, without components: these are Components.
	Package spec.Package
	// Components are what the package has, in order.
	Components []compose.Component
	// Images are the images that components name, in order, each as often as it is named.
	Images []Image
	// Imports are where components were imported from that came from a registry, by component.
	Imports map[string]Import

	options Options
	world   World
	sources *sources
	values  []placed // files of values, in order
	schemas []placed // their schemas, in order
}

// Import is a skeleton that a component was imported from.
type Import struct {
	URL    string // its reference
	Digest string // of what it was when the package was created
	// Plain says that the component adds nothing to it: it has no key besides name, description,
	// required, default and import.
	Plain bool
}

// placed is a path of a definition with the place where it is written.
type placed struct {
	path  string
	place compose.Place
}

// Definition is the composed definition as a whole.
func (r *Resolved) Definition() spec.Package {
	pkg := r.Package
	pkg.Components = nil
	for _, c := range r.Components {
		pkg.Components = append(pkg.Components, c.Component)
	}
	return pkg
}

// At is where the author wrote a part of a component, for people.
func (r *Resolved) At(component int, steps ...any) string {
	return r.sources.place(r.Components[component].Place(steps...))
}

func (r *Resolved) say(level event.Level, component, format string, args ...any) {
	r.options.Sink.Emit(event.Event{Level: level, Step: "create", Component: component, Message: fmt.Sprintf(format, args...)})
}

// Resolve reads the definition of a package and everything that it imports, and asks registries what
// the references of images stand for.
func Resolve(ctx context.Context, o Options, w World) (*Resolved, error) {
	if o.Sink == nil {
		o.Sink = event.Discard
	}
	r := &Resolved{
		options: o, world: w, Imports: map[string]Import{},
		sources: &sources{base: o.Dir, places: map[string]*validate.Places{}, mounts: map[string]string{}},
	}
	v, err := validate.New()
	if err != nil {
		return nil, err
	}
	file := definitionIn(o.Dir)
	data, err := r.sources.read(file)
	if err != nil {
		return nil, err
	}
	checked := v.File(file, data, validate.Options{})
	if err := checked.Err(); err != nil {
		return nil, err
	}
	for _, warning := range checked.Warnings() {
		r.say(event.Warn, "", "%s", warning)
	}
	pkg, err := definition.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if o.Skeleton {
		pkg.Metadata.Architecture = bundle.SkeletonArchitecture
	} else if !o.ArchitectureDefault || pkg.Metadata.Architecture == "" {
		pkg.Metadata.Architecture = o.Architecture
	}
	c := &composing{Resolved: r, validator: v, seen: map[string]bool{}}
	if c.templates = compose.NewTemplates(pkg.Metadata.Architecture, o.Set); o.Skeleton {
		c.templates = nil
	}
	if err := c.head(ctx, file, *pkg); err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	if o.Skeleton {
		return r, nil
	}
	return r, r.resolveImages(ctx)
}

// composing puts a package together of the definitions that it is written in.
type composing struct {
	*Resolved
	validator *validate.Validator
	templates *compose.Templates
	seen      map[string]bool // definitions whose variables, constants and values were taken
}

// level is a definition among those that import each other.
type level struct {
	name   string // of its file, as errors have it
	folder string // relative to the package's
	stack  []string
	pkg    spec.Package
}

// head composes the definition of the package itself.
func (c *composing) head(ctx context.Context, file string, pkg spec.Package) error {
	c.Package = c.templates.Package(pkg)
	at := level{name: file, folder: ".", stack: []string{"."}, pkg: pkg}
	for i, component := range pkg.Components {
		if !c.fits(component) {
			continue
		}
		composed, err := c.component(ctx, at, i)
		if err != nil {
			return err
		}
		c.Components = append(c.Components, composed)
	}
	c.takeValues(at) // last: what the package says counts more than what it imports
	c.Package.Components, c.Package.Values.Files = nil, nil
	for _, f := range c.values {
		c.Package.Values.Files = append(c.Package.Values.Files, f.path)
	}
	return nil
}

// fits reports whether the build takes a component.
func (c *composing) fits(component spec.Component) bool {
	architecture := c.Package.Metadata.Architecture
	if c.options.Skeleton {
		architecture = component.Only.Cluster.Architecture
	}
	return compose.Fits(component, architecture, c.options.Flavor)
}

// takeValues remembers the files of values that a definition names.
func (c *composing) takeValues(l level) {
	here := func(steps ...any) compose.Place { return compose.Place{Source: l.name, Path: steps} }
	values := c.templates.Package(spec.Package{Values: l.pkg.Values}).Values
	for i, f := range values.Files {
		c.values = append(c.values, placed{compose.Rebase(l.folder, f), here("values", "files", i)})
	}
	if values.Schema != "" {
		c.schemas = append(c.schemas, placed{compose.Rebase(l.folder, values.Schema), here("values", "schema")})
	}
}

// finish checks what came out.
func (c *composing) finish() error {
	if missing := c.templates.Missing(); len(missing) > 0 {
		return &MissingTemplatesError{missing}
	}
	for _, name := range c.templates.Deprecated() {
		c.say(event.Warn, "", "the template ###ZARF_PKG_VAR_%[1]s### has an older name: write ###ZARF_PKG_TMPL_%[1]s###", name)
	}
	first := map[string]int{}
	for i, component := range c.Components {
		if j, taken := first[component.Name]; taken {
			return &PlacedError{At: c.At(i, "name"), Err: fmt.Errorf("component %q is in this build already, from %s", component.Name, c.At(j, "name"))}
		}
		first[component.Name] = i
	}
	if len(c.Components) == 0 {
		return fmt.Errorf("%s: no component fits architecture %q and flavor %q", definitionIn(c.options.Dir), c.Package.Metadata.Architecture, c.options.Flavor)
	}
	return c.checkComposed()
}

// checkComposed checks the definition as the package will have it. What is wrong with it is shown where
// its author wrote it.
func (c *composing) checkComposed() error {
	pkg := c.Definition()
	data, err := definition.Marshal(&pkg)
	if err != nil {
		return err
	}
	faults := c.validator.File("the composed definition", data, validate.Options{}).Errors()
	for i, f := range faults {
		steps := steps(f.Pointer)
		if len(steps) < 2 || steps[0] != "components" {
			faults[i].File, faults[i].Line, faults[i].Column = definitionIn(c.options.Dir), 0, 0
			continue
		}
		n, ok := steps[1].(int)
		if !ok || n >= len(c.Components) {
			continue
		}
		// The place has file, line and path; the rest of the diagnostic is the message.
		faults[i].File, faults[i].Line, faults[i].Path = c.At(n, steps[2:]...), 0, ""
	}
	if len(faults) > 0 {
		return &validate.InvalidError{Diagnostics: faults}
	}
	return nil
}

// steps reads a JSON pointer.
func steps(pointer string) []any {
	var out []any
	for _, word := range strings.Split(pointer, "/")[1:] {
		n := 0
		if _, err := fmt.Sscanf(word, "%d", &n); err == nil && fmt.Sprint(n) == word {
			out = append(out, n)
			continue
		}
		out = append(out, strings.NewReplacer("~1", "/", "~0", "~").Replace(word))
	}
	return out
}

// DefinitionFile is the definition of a folder, as errors name it.
func (o Options) DefinitionFile() string { return filepath.Clean(definitionIn(o.Dir)) }
