package validate

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/zarf-host/zarf-host/host/spec"
)

// warn reports what Zarf accepts and what goes wrong later.
func (c *checker) warn() {
	for i := range c.pkg.Components {
		component := &c.pkg.Components[i]
		where := path{"components", i}
		c.images(component, where)
		for j, chart := range component.Charts {
			c.templatedNamespace(where.with("charts", j, "namespace"), chart.Namespace)
		}
		for j, manifest := range component.Manifests {
			c.templatedNamespace(where.with("manifests", j, "namespace"), manifest.Namespace)
		}
		for j, file := range component.Files {
			if target := filepath.ToSlash(filepath.Clean(file.Target)); target == ".." || strings.HasPrefix(target, "../") {
				c.warning("target-outside", where.with("files", j, "target"), "%q leaves the folder that the package is deployed from", file.Target)
			}
		}
		c.sensitiveOutput(component, where)
	}
	c.undeclared()
}

func (c *checker) images(component *spec.Component, where path) {
	for i, image := range component.Images {
		c.image(where.with("images", i), image)
	}
	for i, archive := range component.ImageArchives {
		for j, image := range archive.Images {
			if moving(image) {
				c.image(where.with("imageArchives", i, "images", j), image)
			}
		}
	}
}

func (c *checker) image(at path, image string) {
	switch {
	case image == "", isTemplated(image), strings.Contains(image, "@sha256:"):
	case moving(image):
		c.warning("moving-image", at, "the tag of %q moves, so that two builds of one version can differ: name a version or a digest", image)
	default:
		c.warning("unpinned-image", at, "%q is not pinned by a digest (@sha256:…)", image)
	}
}

// moving reports whether a reference has no tag, or one that registries move as a matter of course.
func moving(image string) bool {
	if strings.Contains(image, "@") {
		return false
	}
	_, tag, tagged := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return !tagged || slices.Contains([]string{"latest", "stable", "nightly"}, tag)
}

func (c *checker) templatedNamespace(at path, namespace string) {
	if strings.Contains(namespace, "###ZARF_VAR_") || strings.Contains(namespace, "###ZARF_CONST_") || strings.Contains(namespace, "${") {
		c.warning("templated-namespace", at, "namespaces are not templated at deploy time: %q is used as it stands", namespace)
	}
}

// sensitiveOutput finds actions whose output becomes a sensitive variable and is shown on the way.
func (c *checker) sensitiveOutput(component *spec.Component, where path) {
	set := component.Actions.OnDeploy
	for _, list := range set.Lists() {
		for i, action := range list.Actions {
			muted := set.Defaults.Mute
			if action.Mute != nil {
				muted = *action.Mute
			}
			for j, variable := range action.SetVariables {
				if variable.Sensitive && !muted {
					c.warning("sensitive-output", where.with("actions", "onDeploy", list.Name, i, "setVariables", j), "the output that sets the sensitive variable %q is shown: set mute: true", variable.Name)
				}
			}
		}
	}
}

// usedVariable finds deploy-time variables in text, in a marker and as an action's environment.
var usedVariable = regexp.MustCompile(`###ZARF_VAR_([A-Z0-9_]+)###|\$\{?ZARF_VAR_([A-Z0-9_]+)`)

// undeclared finds variables that the definition uses and nothing declares. Imports may declare
// some, so a definition with imports is left alone.
func (c *checker) undeclared() {
	declared := map[string]bool{}
	for _, variable := range c.pkg.Variables {
		declared[variable.Name] = true
	}
	for i := range c.pkg.Components {
		component := &c.pkg.Components[i]
		if isPartial(component) {
			return
		}
		for _, set := range component.Actions.Sets() {
			for _, list := range set.Set.Lists() {
				for _, action := range list.Actions {
					declared[action.SetVariable] = true
					for _, variable := range action.SetVariables {
						declared[variable.Name] = true
					}
				}
			}
		}
	}
	reported := map[string]bool{}
	report := func(at path, name string) {
		if !declared[name] && !reported[name] {
			reported[name] = true
			c.warning("undeclared-variable", at, "variable %q is used and declared nowhere: neither under variables nor by setVariables", name)
		}
	}
	for i := range c.pkg.Components {
		component := &c.pkg.Components[i]
		for j, chart := range component.Charts {
			for k, variable := range chart.Variables {
				report(path{"components", i, "charts", j, "variables", k, "name"}, variable.Name)
			}
		}
		for _, set := range component.Actions.Sets() {
			for _, list := range set.Set.Lists() {
				for j, action := range list.Actions {
					for _, match := range usedVariable.FindAllStringSubmatch(action.Cmd, -1) {
						report(path{"components", i, "actions", set.Name, list.Name, j, "cmd"}, match[1]+match[2])
					}
				}
			}
		}
	}
}

// checkComments finds template markers that YAML takes for comments: a marker starts with #, so
// an unquoted one after a key is not there when Zarf reads the file.
func checkComments(r *report, data []byte) {
	var before *token.Token
	for _, tk := range lexer.Tokenize(string(data)) {
		if tk.Type != token.CommentType {
			before = tk
			continue
		}
		if before == nil || tk.Position == nil || before.Position.Line != tk.Position.Line || !strings.HasPrefix(tk.Value, "##ZARF_") {
			continue
		}
		switch before.Type {
		case token.MappingValueType, token.SequenceEntryType:
			marker := "#" + strings.TrimSpace(tk.Value)
			r.add(position{tk.Position.Line, tk.Position.Column}, nil, Warning, "marker-in-comment",
				fmt.Sprintf("%s starts with #, so YAML takes it for a comment: put it in quotes", marker), `"`+marker+`"`)
		}
	}
}
