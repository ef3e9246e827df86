package validate

import (
	"errors"
	"fmt"
	"strconv"

	"cuelang.org/go/cue"

	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

// kindComponent is the kind of a v1beta1 component file, which packages import.
const kindComponent = "ZarfComponentConfig"

// Options choose what is checked. The zero value checks everything.
type Options struct {
	// SchemaOnly leaves out the checks that a schema cannot express, and all warnings.
	SchemaOnly bool
	// Built says that create wrote the definition, whose author's mistakes were judged then: as
	// SchemaOnly, and keys that older versions of Zarf wrote are warnings.
	Built bool
}

// Validator holds the compiled schemas. It does not change after New, so one serves any number of
// files, concurrent ones too.
type Validator struct {
	alphaPackage  *shape
	betaPackage   *shape
	betaComponent *shape
	kinds         map[Kind]*shape
	named         map[string]*shape // all, by the names of Schemas
}

// New compiles the schemas that are built into the program.
func New() (*Validator, error) {
	v := &Validator{kinds: map[Kind]*shape{}, named: map[string]*shape{}}
	folders := map[string]cue.Value{}
	ctx := newContext()
	for _, s := range Schemas() {
		value, compiled := folders[s.folder]
		if !compiled {
			var err error
			if value, err = compile(ctx, s.folder); err != nil {
				return nil, err
			}
			folders[s.folder] = value
		}
		shape, err := definitionShape(value, s.folder, s.definition)
		if err != nil {
			return nil, err
		}
		v.named[s.Name] = shape
		if s.kind != "" {
			v.kinds[s.kind] = shape
		}
	}
	v.alphaPackage, v.betaPackage, v.betaComponent = v.named["package"], v.named["package-v1beta1"], v.named["component-v1beta1"]
	return v, nil
}

// File checks a package definition or a component file, every document of it. The name appears in
// the diagnostics and is not opened.
func (v *Validator) File(name string, data []byte, opts Options) Result {
	r := &report{file: name}
	v.documents(r, data, opts, v.choose)
	return r.result()
}

// document checks one document against a schema.
func (v *Validator) document(r *report, root *node, s *shape, opts Options) {
	before := len(r.list)
	walk := structure{report: r, deprecations: !opts.SchemaOnly && !opts.Built, built: opts.Built}
	walk.check(root, s, nil)
	if opts.SchemaOnly || opts.Built || s != v.alphaPackage {
		return
	}
	sound := true
	for _, d := range r.list[before:] {
		sound = sound && d.Severity == Warning
	}
	checkPackage(r, root, sound)
}

// choose picks the schema. An unknown apiVersion is a fault of its own and the only one: nothing
// is known about the rest. (Zarf's combined JSON schema lets such a document pass.)
func (v *Validator) choose(r *report, root *node) (*shape, bool) {
	return v.chooseOf(r, root, []string{spec.APIVersionV1Alpha1, spec.APIVersionV1Beta1})
}

// chooseOf is choose, where an unknown apiVersion is told which ones are known.
func (v *Validator) chooseOf(r *report, root *node, known []string) (*shape, bool) {
	if root.kind != mapKind {
		return v.alphaPackage, true
	}
	e, given := root.get("apiVersion")
	if !given || e.value.kind == nullKind || e.value.kind == stringKind && e.value.text == "" {
		return v.alphaPackage, true
	}
	if e.value.kind != stringKind {
		r.add(e.value.at, path{"apiVersion"}, Error, "type", fmt.Sprintf("want one of %s, got %s", quoteAll(known), e.value.describe()), "")
		return nil, false
	}
	switch e.value.text {
	case spec.APIVersionV1Alpha1:
		return v.alphaPackage, true
	case spec.APIVersionV1Beta1:
		if k, ok := root.get("kind"); ok && k.value.text == kindComponent {
			return v.betaComponent, true
		}
		return v.betaPackage, true
	}
	suggestion := nearest(e.value.text, known)
	r.add(e.value.at, path{"apiVersion"}, Error, "not-allowed", fmt.Sprintf("unknown apiVersion %s, want one of %s%s", strconv.Quote(shorten(e.value.text)), quoteAll(known), didYouMean(suggestion, true)), suggestion)
	return nil, false
}

// unreadable reports YAML that cannot be read at all.
func (r *report) unreadable(err error) {
	var where *definition.Error
	if errors.As(err, &where) {
		r.add(position{where.Line, where.Column}, nil, Error, "yaml", where.Message, "")
		return
	}
	r.add(position{}, nil, Error, "yaml", err.Error(), "")
}
