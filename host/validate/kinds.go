package validate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

// The apiVersions of what is not a package definition.
const (
	apiVersionHost  = "zarf-host.dev/v1alpha1"
	apiVersionHooks = "hooks.zarf-host.dev/v1"
)

// Schema is one of the schemas that are built into the program.
type Schema struct {
	// Name is what users call it.
	Name string `json:"name"`
	// About says what it is for.
	About string `json:"about"`
	// APIVersion and FileKind are what a file says of itself that it is for; empty where the file's
	// name or the user has to say it.
	APIVersion string `json:"apiVersion,omitempty"`
	FileKind   string `json:"kind,omitempty"`

	folder, definition string // where it is in CUE
	kind               Kind   // what FileOf calls it; empty for definitions
}

// Schemas returns all of them, in the order in which users see them.
func Schemas() []Schema {
	return []Schema{
		{Name: "package", About: "a package definition, zarf.yaml", APIVersion: spec.APIVersionV1Alpha1, FileKind: "ZarfPackageConfig", folder: "v1alpha1", definition: "#Package"},
		{Name: "package-v1beta1", About: "a package definition of zarf.dev/v1beta1", APIVersion: spec.APIVersionV1Beta1, FileKind: "ZarfPackageConfig", folder: "v1beta1", definition: "#Package"},
		{Name: "component-v1beta1", About: "a component that packages of zarf.dev/v1beta1 import", APIVersion: spec.APIVersionV1Beta1, FileKind: kindComponent, folder: "v1beta1", definition: "#ComponentConfig"},
		{Name: "deploy-config", About: "what is supplied to a deployment", folder: "config", definition: "#DeployConfig", kind: DeployConfig},
		{Name: "remove-config", About: "what is supplied to a removal", folder: "config", definition: "#RemoveConfig", kind: RemoveConfig},
		{Name: "config-file", About: "a user's defaults of flags, zarf-config.yaml", folder: "config", definition: "#ConfigFile", kind: ConfigFile},
		{Name: "plugin", About: "the metadata of a plugin, plugin.yaml", folder: "plugin", definition: "#Metadata", kind: PluginMetadata},
		{Name: "hook-request", About: "what a plugin is asked", APIVersion: apiVersionHooks, FileKind: "HookRequest", folder: "plugin", definition: "#HookRequest", kind: HookRequest},
		{Name: "hook-response", About: "what a plugin answers", APIVersion: apiVersionHooks, FileKind: "HookResponse", folder: "plugin", definition: "#HookResponse", kind: HookResponse},
		{Name: "policy", About: "the rules of an organisation for what is deployed and removed", APIVersion: apiVersionHost, FileKind: "Policy", folder: "policy", definition: "#Policy", kind: Policy},
		{Name: "plan", About: "what an operation is going to do", APIVersion: apiVersionHost, FileKind: "Plan", folder: "plan", definition: "#Plan", kind: Plan},
		{Name: "inventory", About: "what a cluster's registry holds", APIVersion: apiVersionHost, FileKind: "Inventory", folder: "inventory", definition: "#Inventory", kind: Inventory},
	}
}

// FindSchema returns the schema of a name. One that does not exist is an error that names the
// nearest one and all.
func FindSchema(name string) (Schema, error) {
	var names []string
	for _, s := range Schemas() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Schema{}, fmt.Errorf("there is no schema %q, want one of %s%s", name, quoteAll(names), didYouMean(nearest(name, names), true))
}

// FileAs checks a file against one schema, whatever it says that it is.
func (v *Validator) FileAs(s Schema, name string, data []byte, opts Options) Result {
	if s.kind == "" {
		r := &report{file: name}
		v.documents(r, data, opts, func(*report, *node) (*shape, bool) { return v.named[s.Name], true })
		return r.result()
	}
	return v.FileOf(s.kind, name, data)
}

// Any checks a file of any kind: by the apiVersion and the kind of each of its documents, a
// plugin.yaml, a zarf-config and a policy in CUE by their names, and as a package definition where it says nothing.
// An apiVersion or kind that no schema is for is a fault.
func (v *Validator) Any(name string, data []byte, opts Options) Result {
	switch base := filepath.Base(name); base {
	case "plugin.yaml", "plugin.yml", "plugin.json":
		return v.FileOf(PluginMetadata, name, data)
	case "zarf-config.yaml", "zarf-config.yml", "zarf-config.json":
		return v.FileOf(ConfigFile, name, data)
	}
	r := &report{file: name}
	if filepath.Ext(name) == ".cue" { // only policies are written in it
		_, err := v.PolicyFile(name, data)
		var invalid *InvalidError
		switch {
		case errors.As(err, &invalid):
			return Result{Diagnostics: invalid.Diagnostics}
		case err != nil:
			r.unreadable(err)
		}
		return r.result()
	}
	v.documents(r, data, opts, v.chooseAny)
	return r.result()
}

// chooseAny picks the schema of what a document says that it is.
func (v *Validator) chooseAny(r *report, root *node) (*shape, bool) {
	e, given := root.get("apiVersion")
	if root.kind != mapKind || !given || e.value.kind != stringKind {
		return v.choose(r, root)
	}
	if !slices.Contains([]string{apiVersionHost, apiVersionHooks}, e.value.text) {
		return v.chooseOf(r, root, []string{spec.APIVersionV1Alpha1, spec.APIVersionV1Beta1, apiVersionHost, apiVersionHooks})
	}
	var kinds []string
	kind, given := root.get("kind")
	for _, s := range Schemas() {
		if s.APIVersion != e.value.text {
			continue
		}
		if given && kind.value.kind == stringKind && kind.value.text == s.FileKind {
			return v.named[s.Name], true
		}
		kinds = append(kinds, s.FileKind)
	}
	if !given {
		r.add(root.at, nil, Error, "missing-key", fmt.Sprintf("missing key \"kind\", want one of %s", quoteAll(kinds)), "")
		return nil, false
	}
	suggestion := nearest(kind.value.text, kinds)
	r.add(kind.value.at, path{"kind"}, Error, "not-allowed", fmt.Sprintf("unknown kind %s of %s, want one of %s%s",
		strconv.Quote(shorten(kind.value.text)), e.value.text, quoteAll(kinds), didYouMean(suggestion, true)), suggestion)
	return nil, false
}

// documents checks each document of a file against the shape that is chosen for it.
func (v *Validator) documents(r *report, data []byte, opts Options, choose func(*report, *node) (*shape, bool)) {
	docs, err := definition.ReadYAML(data)
	switch {
	case err != nil:
		r.unreadable(err)
		return
	case len(docs) == 0:
		r.add(position{}, nil, Error, "empty", "the file holds no definition: no YAML document has content", "")
		return
	}
	lines := strings.Split(string(data), "\n")
	packages := false
	for _, doc := range docs {
		root, err := newDocument(doc, lines)
		if err != nil {
			r.unreadable(err)
			continue
		}
		s, ok := choose(r, root)
		if !ok {
			continue
		}
		packages = packages || s == v.alphaPackage || s == v.betaPackage || s == v.betaComponent
		v.document(r, root, s, opts)
	}
	if packages && !opts.SchemaOnly && !opts.Built {
		checkComments(r, data)
	}
}
