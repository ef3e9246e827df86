package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// The hooks that the plugin answers.
const (
	preDeploy = "pre-deploy"
	collision = "collision"
)

// judge holds the package against the rules before it is deployed, and answers collisions.
func judge(r sdk.Request) sdk.Response {
	c, err := readConfig(r)
	if err != nil {
		return sdk.Fail(err)
	}
	switch r.Hook {
	case preDeploy:
		return c.judgePackage(r)
	case collision:
		return c.judgeCollisions(r)
	default:
		return sdk.Fail(fmt.Errorf("hook %q is not judged here: they are %s and %s", r.Hook, preDeploy, collision))
	}
}

// judgePackage denies a package of a name or from a source that the rules do not have.
func (c config) judgePackage(r sdk.Request) sdk.Response {
	name, source := r.Package.Metadata.Name, r.Package.Source
	if name == "" {
		return sdk.Fail(errors.New("the request names no package, so that no rule can be held against it"))
	}
	res := r.Allow()
	deny := func(path, remedy, format string, args ...any) {
		res.Find(sdk.Finding{Severity: sdk.SeverityDeny, Message: fmt.Sprintf(format, args...), Path: path, Remedy: remedy})
	}
	if c.Names != nil && !slices.ContainsFunc(c.Names, func(p string) bool { return like(p, name) }) {
		deny("package.metadata.name", "name the package by the rule, or add its name to names",
			"no package may be called %q: allowed are %s", name, strings.Join(c.Names, ", "))
	}
	if c.Sources != nil && !fitsAny(c.Sources, source) {
		deny("package.source", "take the package from one of these, or add its source to sources",
			"package %q comes from %q, which is none of the allowed sources: %s", name, source, strings.Join(c.Sources, ", "))
	}
	for _, p := range slices.Sorted(maps.Keys(c.Known)) {
		if like(p, name) && !fitsAny(c.Known[p], source) {
			deny("package.source", fmt.Sprintf("take the package from where it is known to come from, or add its source to known.%s", p),
				"package %q comes from %q, but is known to come from %s", name, source, strings.Join(c.Known[p], ", "))
		}
	}
	return res
}

// judgeCollisions gives each collision the verdict that its kind has here. Those of other kinds keep
// the verdict that they have.
func (c config) judgeCollisions(r sdk.Request) sdk.Response {
	res := r.Allow()
	for _, x := range r.Collisions {
		v, ok := c.Verdicts[x.Kind]
		if !ok {
			continue
		}
		switch {
		case v == sdk.Deny && x.Accepted:
			res.Judge(x, v, "collisions of kind %s are denied here, and not accepted by a flag", x.Kind)
		case v == sdk.Deny:
			res.Judge(x, v, "collisions of kind %s are denied here", x.Kind)
		case v == sdk.Warn:
			res.Judge(x, v, "collisions of kind %s are warned of here", x.Kind)
		default:
			res.Judge(x, v, "collisions of kind %s are allowed here", x.Kind)
		}
	}
	return res
}

// like is whether a name fits a pattern; readConfig has checked that it is one.
func like(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}
