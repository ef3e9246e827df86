package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	ociScheme = "oci://"
	deep      = "**" // as the last part of a source: whatever follows
)

// checkSource refuses a pattern that no source fits.
func checkSource(p string) error {
	if p == "" {
		return errors.New("an empty source fits no package")
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		switch {
		case part == deep && i < len(parts)-1:
			return fmt.Errorf("%q: ** stands for what follows, so it can only be the last part", p)
		case part != deep && strings.Contains(part, deep):
			return fmt.Errorf("%q: ** is a part of its own, between slashes; * is any text without one", p)
		case part == "..":
			return fmt.Errorf("%q: a source with .. is never known, so that nothing fits", p)
		}
		if _, err := path.Match(part, ""); err != nil {
			return fmt.Errorf("%q is not a source with *: %w", p, err)
		}
	}
	rest, ok := strings.CutPrefix(p, ociScheme)
	if !ok {
		return nil
	}
	registry, repository, ok := strings.Cut(rest, "/")
	if registry == deep {
		return nil
	}
	if !ok || registry == "" || repository == "" {
		return fmt.Errorf("%q names no repository, so that nothing fits: write oci://REGISTRY/REPOSITORY, or oci://REGISTRY/** for all of it", p)
	}
	name := repository
	if i := strings.IndexAny(name, ":@"); i >= 0 {
		name = name[:i]
	}
	if name != strings.ToLower(name) {
		return fmt.Errorf("%q: repositories are lower-case, so that nothing fits", p)
	}
	return nil
}

// fits is whether a source fits a pattern, part by part between slashes: * is not more than one part,
// so that oci://*.example.com/apps is never a path of somebody else's registry. A source with .. may
// lead anywhere and fits nothing.
func fits(pattern, source string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(source, "/")
	if slices.Contains(have, "..") {
		return false
	}
	for i, part := range want {
		if part == deep {
			return i < len(have)
		}
		if i >= len(have) {
			return false
		}
		if ok, _ := path.Match(part, have[i]); !ok {
			return false
		}
	}
	return len(want) == len(have)
}

func fitsAny(patterns []string, source string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, source) })
}
