package validate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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
}

// New compiles the schemas that are built into the program.
func New() (*Validator, error) {
	ctx := newContext()
	v := &Validator{kinds: map[Kind]*shape{}}
	for _, s := range []struct {
		folder, name string
		store        func(*shape)
	}{
		{"v1alpha1", "#Package", func(s *shape) { v.alphaPackage = s }},
		{"v1beta1", "#Package", func(s *shape) { v.betaPackage = s }},
		{"v1beta1", "#ComponentConfig", func(s *shape) { v.betaComponent = s }},
		{"config", "#DeployConfig", func(s *shape) { v.kinds[DeployConfig] = s }},
		{"config", "#RemoveConfig", func(s *shape) { v.kinds[RemoveConfig] = s }},
		{"plugin", "#Metadata", func(s *shape) { v.kinds[PluginMetadata] = s }},
		{"plugin", "#HookRequest", func(s *shape) { v.kinds[HookRequest] = s }},
		{"plugin", "#HookResponse", func(s *shape) { v.kinds[HookResponse] = s }},
	} {
		shape, err := definitionShape(ctx, s.folder, s.name)
		if err != nil {
			return nil, err
		}
		s.store(shape)
	}
	return v, nil
}

// File checks a package definition or a component file, every document of it. The name appears in
// the diagnostics and is not opened.
func (v *Validator) File(name string, data []byte, opts Options) Result {
	r := &report{file: name}
	docs, err := definition.ReadYAML(data)
	switch {
	case err != nil:
		r.unreadable(err)
		return r.result()
	case len(docs) == 0:
		r.add(position{}, nil, Error, "empty", "the file holds no definition: no YAML document has content", "")
		return r.result()
	}
	lines := strings.Split(string(data), "\n")
	for _, doc := range docs {
		root, err := newDocument(doc, lines)
		if err != nil {
			r.unreadable(err)
			continue
		}
		v.document(r, root, opts)
	}
	if !opts.SchemaOnly && !opts.Built {
		checkComments(r, data)
	}
	return r.result()
}

// document checks one document against the schema that its apiVersion and kind choose.
func (v *Validator) document(r *report, root *node, opts Options) {
	s, ok := v.choose(r, root)
	if !ok {
		return
	}
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
	if root.kind != mapKind {
		return v.alphaPackage, true
	}
	e, given := root.get("apiVersion")
	if !given || e.value.kind == nullKind || e.value.kind == stringKind && e.value.text == "" {
		return v.alphaPackage, true
	}
	known := []string{spec.APIVersionV1Alpha1, spec.APIVersionV1Beta1}
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
