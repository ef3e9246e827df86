package validate

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

const (
	// maxReleasePart is the longest chart or manifest name that Zarf takes, since release names
	// are made from it.
	maxReleasePart = 40
	// maxReleaseName is the longest DNS-1035 label.
	maxReleaseName = 63
)

// checker makes the checks that Zarf makes in code, on a decoded v1alpha1 definition.
type checker struct {
	report *report
	root   *node
	pkg    *spec.Package
	// sound is whether the structure has no fault: a name that is empty without one was given empty.
	sound bool
}

// checkPackage reports what Zarf would refuse although the schema allows it, then what goes wrong
// later. A definition whose structure is not sound is checked as far as it can be decoded.
func checkPackage(r *report, root *node, sound bool) {
	pkg, err := definition.DecodePackage(root.source)
	if err != nil {
		var where *definition.Error
		if sound && errors.As(err, &where) {
			r.add(position{where.Line, where.Column}, nil, Error, "decode", where.Message, "")
		}
		return
	}
	c := &checker{report: r, root: root, pkg: pkg, sound: sound}
	c.constants()
	c.yolo()
	c.components()
	c.groups()
	c.warn()
}

func (c *checker) fault(rule string, where path, format string, args ...any) {
	c.report.add(c.root.find(where), where, Error, rule, fmt.Sprintf(format, args...), "")
}

func (c *checker) warning(rule string, where path, format string, args ...any) {
	c.report.add(c.root.find(where), where, Warning, rule, fmt.Sprintf(format, args...), "")
}

func (c *checker) constants() {
	for i, constant := range c.pkg.Constants {
		where := path{"constants", i}
		pattern, ok := c.pattern(where, constant.Pattern)
		if ok && pattern != nil && !isTemplated(constant.Value) && !pattern.MatchString(constant.Value) {
			c.fault("constant-pattern", where.with("value"), "the value of constant %q does not match its pattern %s", constant.Name, constant.Pattern)
		}
	}
	for i, variable := range c.pkg.Variables {
		where := path{"variables", i}
		pattern, ok := c.pattern(where, variable.Pattern)
		if ok && pattern != nil && variable.Default != "" && !isTemplated(variable.Default) && !pattern.MatchString(variable.Default) {
			c.warning("variable-pattern", where.with("default"), "the default of variable %q does not match its pattern %s, so a deployment that leaves the variable alone is refused", variable.Name, variable.Pattern)
		}
	}
}

// pattern compiles the regular expression that a variable or constant must match. (Zarf panics on
// one that does not compile.)
func (c *checker) pattern(where path, text string) (*regexp.Regexp, bool) {
	if text == "" {
		return nil, true
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		c.fault("regexp", where.with("pattern"), "%s is not a regular expression: %s", strconv.Quote(shorten(text)), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil, false
	}
	return pattern, true
}

func (c *checker) yolo() {
	if !c.pkg.IsYOLO() {
		return
	}
	if c.pkg.IsInit() {
		c.fault("yolo-init", path{"metadata", "yolo"}, "an init package cannot be deployed in YOLO mode, since it sets up what YOLO does without")
	}
	for i := range c.pkg.Components {
		component := &c.pkg.Components[i]
		where := path{"components", i}
		const rule = "yolo"
		if len(component.Images) > 0 {
			c.fault(rule, where.with("images"), "a YOLO package cannot carry images")
		}
		if len(component.ImageArchives) > 0 {
			c.fault(rule, where.with("imageArchives"), "a YOLO package cannot carry image archives")
		}
		if len(component.Repos) > 0 {
			c.fault(rule, where.with("repos"), "a YOLO package cannot carry git repositories")
		}
		if component.Only.Cluster.Architecture != "" {
			c.fault(rule, where.with("only", "cluster", "architecture"), "a YOLO package cannot be limited to a cluster architecture")
		}
		if len(component.Only.Cluster.Distros) > 0 {
			c.fault(rule, where.with("only", "cluster", "distros"), "a YOLO package cannot be limited to cluster distributions")
		}
	}
}

func (c *checker) components() {
	first := map[string][]int{}
	for i := range c.pkg.Components {
		component := &c.pkg.Components[i]
		where := path{"components", i}
		for _, j := range first[component.Name] {
			// One name may stand for alternatives, of which create includes the one that fits.
			if c.isBuilt() || reflect.DeepEqual(c.pkg.Components[j].Only, component.Only) {
				c.fault("duplicate-component", where.with("name"), "component %q is defined before, at %s: names are unique unless only tells the components apart", component.Name, path{"components", j})
				break
			}
		}
		first[component.Name] = append(first[component.Name], i)
		if component.IsRequired() && component.Default {
			c.fault("required-default", where.with("default"), "component %q cannot be both required and default: a required component is always deployed", component.Name)
		}
		if component.IsRequired() && component.Group != "" {
			c.fault("required-group", where.with("group"), "component %q cannot be both required and in a group: of a group one component is chosen", component.Name)
		}
		c.charts(component, where)
		c.manifests(component, where)
		c.actions(component, where)
	}
}

// isBuilt reports whether create wrote the definition, with components already chosen and merged.
func (c *checker) isBuilt() bool { return c.pkg.Build.Timestamp != "" }

// isPartial reports whether a component is completed by the one that it imports.
func isPartial(component *spec.Component) bool { return component.Import != spec.Import{} }

func (c *checker) charts(component *spec.Component, where path) {
	names, releases := map[string]int{}, map[string]int{}
	for i := range component.Charts {
		chart := &component.Charts[i]
		at := where.with("charts", i)
		if j, taken := names[chart.Name]; taken {
			c.fault("duplicate-chart", at.with("name"), "chart %q is defined before, at %s: names are unique in a component", chart.Name, where.with("charts", j))
		} else {
			names[chart.Name] = i
		}
		c.releasePart(at, "chart", chart.Name)
		c.releaseName(chart, at)
		for k, value := range chart.Values {
			for l, exclude := range value.ExcludePaths {
				if !isBelow(exclude, value.SourcePath) {
					c.fault("exclude-path", at.with("values", k, "excludePaths", l), "%q is not below the sourcePath %q", exclude, value.SourcePath)
				}
			}
		}
		if isPartial(component) {
			continue
		}
		release := chart.Namespace + "/" + chart.Release()
		if j, taken := releases[release]; taken && names[chart.Name] == i {
			c.fault("duplicate-release", at, "the release %q in namespace %q is installed before, by %s: two charts need two release names", chart.Release(), chart.Namespace, where.with("charts", j))
		} else {
			releases[release] = i
		}
		c.chartSource(chart, at)
	}
}

func (c *checker) chartSource(chart *spec.Chart, at path) {
	if chart.Namespace == "" {
		c.fault("chart-namespace", at, "chart %q names no namespace, want one for its release", chart.Name)
	}
	switch {
	case chart.URL != "" && chart.LocalPath != "":
		c.fault("chart-source", at.with("localPath"), "chart %q has both a url and a localPath, want exactly one", chart.Name)
	case chart.URL == "" && chart.LocalPath == "":
		c.fault("chart-source", at, "chart %q has neither a url nor a localPath, want exactly one", chart.Name)
	case chart.Version == "" && chart.LocalPath == "":
		c.fault("chart-version", at, "chart %q names no version, want the one to fetch from its url", chart.Name)
	}
}

// dnsLabel is DNS-1035's label.
var dnsLabel = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

func (c *checker) releaseName(chart *spec.Chart, at path) {
	name, key := chart.ReleaseName, "releaseName"
	if name == "" {
		name, key = chart.Name, "name"
	}
	switch {
	case isTemplated(name), name == "" && !c.sound:
	case name == "":
		c.fault("release-name", at.with("name"), "the chart's name is empty, and its release has no other name")
	case len(name) > maxReleaseName || !dnsLabel.MatchString(name):
		c.fault("release-name", at.with(key), "%q cannot name a release, want at most %d lower-case letters, digits and hyphens, a letter first and no hyphen last", shorten(name), maxReleaseName)
	}
}

func (c *checker) releasePart(at path, what, name string) {
	if len(name) > maxReleasePart && !isTemplated(name) {
		c.fault("name-length", at.with("name"), "the name of %s %q has %d characters, want at most %d", what, name, utf8.RuneCountInString(name), maxReleasePart)
	}
}

// isTemplated reports whether create fills in a part of the text, which is not known yet.
func isTemplated(text string) bool { return strings.Contains(text, "###ZARF_") }

func (c *checker) manifests(component *spec.Component, where path) {
	names := map[string]int{}
	for i := range component.Manifests {
		manifest := &component.Manifests[i]
		at := where.with("manifests", i)
		if j, taken := names[manifest.Name]; taken {
			c.fault("duplicate-manifest", at.with("name"), "manifest %q is defined before, at %s: names are unique in a component", manifest.Name, where.with("manifests", j))
		} else {
			names[manifest.Name] = i
		}
		c.releasePart(at, "manifest", manifest.Name)
		if len(manifest.Files) == 0 && len(manifest.Kustomizations) == 0 && !isPartial(component) {
			c.fault("empty-manifest", at, "manifest %q has neither files nor kustomizations, want at least one", manifest.Name)
		}
	}
}

func (c *checker) actions(component *spec.Component, where path) {
	for _, set := range component.Actions.Sets() {
		for _, list := range set.Set.Lists() {
			for i := range list.Actions {
				c.action(&list.Actions[i], set.Name, where.with("actions", set.Name, list.Name, i))
			}
		}
	}
}

func (c *checker) action(action *spec.Action, set string, at path) {
	for i, variable := range action.SetVariables {
		c.pattern(at.with("setVariables", i), variable.Pattern)
	}
	if set != "onDeploy" {
		const message = "only actions of onDeploy set variables, those of %s cannot"
		if len(action.SetVariables) > 0 {
			c.fault("set-variables", at.with("setVariables"), message, set)
		} else if action.SetVariable != "" {
			c.fault("set-variables", at.with("setVariable"), message, set)
		}
	}
	if set == "onCreate" && action.ShouldTemplate() {
		c.fault("template-on-create", at.with("template"), "onCreate actions cannot be templated: the values are known only at deploy time")
	}
	if action.Wait == nil {
		return
	}
	if action.Cmd != "" {
		c.fault("cmd-and-wait", at.with("wait"), "the action has both a cmd and a wait, want exactly one")
	}
	if (action.Wait.Cluster == nil) == (action.Wait.Network == nil) {
		c.fault("wait", at.with("wait"), "want exactly one of cluster and network in a wait")
	}
}

// isBelow reports whether a dotted path names something inside another.
func isBelow(child, parent string) bool {
	if parent == "." {
		return child != "."
	}
	return strings.HasPrefix(child, parent+".")
}

func (c *checker) groups() {
	members, defaults := map[string][]int{}, map[string]int{}
	for i, component := range c.pkg.Components {
		if component.Group == "" {
			continue
		}
		members[component.Group] = append(members[component.Group], i)
		if !component.Default {
			continue
		}
		if j, taken := defaults[component.Group]; taken {
			c.fault("group-defaults", path{"components", i, "default"}, "group %q has a default before, component %q: want at most one", component.Group, c.pkg.Components[j].Name)
		}
		defaults[component.Group] = i
	}
	for i, component := range c.pkg.Components {
		if component.Group != "" && len(members[component.Group]) == 1 {
			c.fault("group-single", path{"components", i, "group"}, "group %q has only component %q, want at least two to choose from", component.Group, component.Name)
		}
	}
}
