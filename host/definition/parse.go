package definition

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/zarf-host/zarf-host/host/spec"
)

// UnbuiltV1Beta1Error is a definition that has only a v1beta1 document: an authoring form, which
// a built package accompanies with the v1alpha1 document that is used.
type UnbuiltV1Beta1Error struct{}

func (*UnbuiltV1Beta1Error) Error() string {
	return "the definition is authored as zarf.dev/v1beta1 and carries no zarf.dev/v1alpha1 document"
}

// Hint says what a user can do about it.
func (*UnbuiltV1Beta1Error) Hint() string {
	return "use a built package, which carries both documents, or author the definition as zarf.dev/v1alpha1"
}

// Parse reads a package definition. Of several documents the v1alpha1 one is used, an absent
// apiVersion meaning that one. What comes out is what Zarf computes the package digest from: the
// deprecated forms are migrated and recorded in build.migrations exactly as Zarf does it.
// Errors about the bytes are *Error; a definition without a v1alpha1 document is
// *UnbuiltV1Beta1Error where a v1beta1 one is present.
func Parse(data []byte) (*spec.Package, error) {
	docs, err := ReadYAML(data)
	if err != nil {
		return nil, fmt.Errorf("reading package definition: %w", err)
	}
	chosen, err := choose(docs)
	if err != nil {
		return nil, fmt.Errorf("reading package definition: %w", err)
	}
	pkg, err := DecodePackage(chosen.alpha.Body)
	if err != nil {
		return nil, fmt.Errorf("reading package definition: %w", err)
	}
	if pkg.Extension, err = decodeExtension(chosen.alpha.Body); err != nil {
		return nil, fmt.Errorf("reading package definition: %w", err)
	}
	// Zarf derives a v1alpha1 document that stands beside a v1beta1 one from it, and never migrates it.
	if !chosen.besideBeta {
		migrate(pkg)
	}
	return pkg, nil
}

type choice struct {
	alpha      *ast.DocumentNode
	besideBeta bool
}

func choose(docs []*ast.DocumentNode) (choice, error) {
	if len(docs) == 0 {
		return choice{}, &Error{Message: "no package definition found: the file has no YAML document with content"}
	}
	var c choice
	var unknown string
	for i, doc := range docs {
		version, err := APIVersion(doc)
		if err != nil {
			return choice{}, fmt.Errorf("document %d: reading apiVersion: %w", i+1, err)
		}
		switch version {
		case spec.APIVersionV1Alpha1:
			if c.alpha != nil {
				return choice{}, at(doc.Body, fmt.Sprintf("document %d: the file has a second document with apiVersion %q", i+1, version))
			}
			c.alpha = doc
		case spec.APIVersionV1Beta1:
			if c.besideBeta {
				return choice{}, at(doc.Body, fmt.Sprintf("document %d: the file has a second document with apiVersion %q", i+1, version))
			}
			c.besideBeta = true
		default:
			unknown = version
		}
	}
	switch {
	case c.alpha != nil:
		return c, nil
	case c.besideBeta:
		return choice{}, &UnbuiltV1Beta1Error{}
	default:
		return choice{}, at(docs[0].Body, fmt.Sprintf("unknown apiVersion %q: %q is the one that is read", unknown, spec.APIVersionV1Alpha1))
	}
}

// APIVersion returns the apiVersion of a document, v1alpha1 where it has none.
func APIVersion(doc *ast.DocumentNode) (string, error) {
	var probe struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := Decode(doc.Body, &probe); err != nil {
		return "", err
	}
	if probe.APIVersion == "" {
		return spec.APIVersionV1Alpha1, nil
	}
	return probe.APIVersion, nil
}

// interactiveVariable is spec.InteractiveVariable for the YAML library, which sets the fields of
// an embedded struct only where a tag says so.
type interactiveVariable struct {
	spec.Variable `json:",inline"`
	Description   string `json:"description,omitempty"`
	Default       string `json:"default,omitempty"`
	Prompt        bool   `json:"prompt,omitempty"`
}

// DecodePackage decodes a v1alpha1 document as it stands, without the migrations that Parse makes.
func DecodePackage(node ast.Node) (*spec.Package, error) {
	var pkg spec.Package
	if err := Decode(node, &pkg); err != nil {
		return nil, err
	}
	var again struct {
		Variables []interactiveVariable `json:"variables"`
	}
	if err := Decode(node, &again); err != nil {
		return nil, err
	}
	for i, v := range again.Variables {
		pkg.Variables[i] = spec.InteractiveVariable(v)
	}
	return &pkg, nil
}
