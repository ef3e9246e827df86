package selection

import (
	"fmt"
	"path"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// term is one element of a request such as "web,db-*,-debug".
type term struct {
	text    string // as the user wrote it
	pattern string // without the leading '-'
	exclude bool
}

// parseRequest splits a comma separated request. Empty elements count for nothing, as in Zarf, but
// a lone '-' is a mistake.
func parseRequest(request string) ([]term, error) {
	var terms []term
	for text := range strings.SplitSeq(request, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		pattern, exclude := strings.CutPrefix(text, "-")
		if pattern == "" {
			return nil, fmt.Errorf("reading the component list %q: %q names no component", request, text)
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("reading the component list %q: the pattern %q: %w", request, pattern, err)
		}
		terms = append(terms, term{text: text, pattern: pattern, exclude: exclude})
	}
	return terms, nil
}

func (t term) matches(name string) bool {
	ok, err := path.Match(t.pattern, name)
	return err == nil && ok
}

// verdict returns what the terms say about a component: the last one that matches wins, so that
// "-*,two" means only two. (Zarf lets any exclusion win, whatever its place.)
func verdict(terms []term, name string) (included, excluded bool) {
	for _, t := range terms {
		if t.matches(name) {
			included, excluded = !t.exclude, t.exclude
		}
	}
	return included, excluded
}

// checkMatched returns an error for the first term that matches none of the components: a
// misspelt name must never silently deploy or remove less, or more, than was meant.
func checkMatched(terms []term, components []spec.Component, goos string) error {
next:
	for _, t := range terms {
		var elsewhere string
		for _, c := range components {
			if !t.matches(c.Name) {
				continue
			}
			if fitsOS(c, goos) {
				continue next
			}
			elsewhere = c.Only.LocalOS
		}
		if elsewhere != "" {
			return &UnmatchedError{Request: t.text, OtherOS: elsewhere}
		}
		return &UnmatchedError{Request: t.text, Suggestions: suggest(t.pattern, components)}
	}
	return nil
}

// fitsOS reports whether a component may be deployed from or removed by a machine of that system.
func fitsOS(c spec.Component, goos string) bool {
	return c.Only.LocalOS == "" || c.Only.LocalOS == goos
}

// UnmatchedError says that an element of a component list fits no component of the package.
type UnmatchedError struct {
	Request     string   // the element, as the user wrote it
	Suggestions []string // names that are close to it
	OtherOS     string   // the operating system of the components that it does fit
}

// Error names the element.
func (e *UnmatchedError) Error() string {
	if e.OtherOS != "" {
		return fmt.Sprintf("selecting components: %q fits only components for %s", e.Request, e.OtherOS)
	}
	return fmt.Sprintf("selecting components: %q fits no component of the package", e.Request)
}

// Hint offers the names that may have been meant.
func (e *UnmatchedError) Hint() string {
	if len(e.Suggestions) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(e.Suggestions, ", ") + "?"
}
