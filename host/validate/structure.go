package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
)

// structure walks a document beside its shape and reports every difference.
type structure struct {
	report *report
	// deprecations asks for warnings about keys that are on their way out.
	deprecations bool
	// secret keeps values out of messages: a deploy config holds passwords.
	secret bool
	// built tolerates what older versions of Zarf wrote into built packages.
	built bool
}

func (w *structure) fault(at position, where path, rule, message, suggestion string) {
	w.report.add(at, where, Error, rule, message, suggestion)
}

func (w *structure) check(n *node, s *shape, where path) {
	if w.report.full {
		return
	}
	switch s.kind {
	case cue.StringKind:
		if n.kind != stringKind {
			w.wrongType(n, s, where)
			return
		}
		w.checkString(n, s, where)
	case cue.BoolKind:
		if n.kind != boolKind {
			w.wrongType(n, s, where)
		}
	case cue.IntKind:
		if !n.whole {
			w.wrongType(n, s, where)
		} else if n.number < s.minimum {
			w.fault(n.at, where, "too-small", fmt.Sprintf("want %s, got %s", s.describe(), w.describe(n)), "")
		}
	case cue.ListKind:
		if n.kind != listKind {
			w.wrongType(n, s, where)
			return
		}
		if len(n.items) < s.minItems {
			w.fault(n.at, where, "too-short", fmt.Sprintf("want at least %d %s in the list, got %d", s.minItems, plural(s.minItems, "item"), len(n.items)), "")
		}
		for i, item := range n.items {
			w.check(item, s.items, where.with(i))
		}
	case cue.StructKind:
		if n.kind != mapKind {
			w.wrongType(n, s, where)
			return
		}
		w.checkMap(n, s, where)
	}
}

func (w *structure) checkString(n *node, s *shape, where path) {
	switch {
	case len(s.enum) > 0:
		if slices.Contains(s.enum, n.text) {
			return
		}
		suggestion := nearest(n.text, s.enum)
		w.fault(n.at, where, "not-allowed", fmt.Sprintf("%s is not allowed here, want %s%s", w.quote(n), s.describe(), didYouMean(suggestion, len(s.enum) > 1)), suggestion)
	case s.pattern != nil && !s.pattern.MatchString(n.text):
		w.fault(n.at, where, "pattern", fmt.Sprintf("%s is not allowed here, want %s", w.quote(n), s.want), "")
	}
}

func (w *structure) checkMap(n *node, s *shape, where path) {
	missing := w.missing(n, s)
	for _, e := range n.keys {
		inner := where.with(e.key)
		if f, ok := s.fields[e.key]; ok {
			if f.deprecated != "" && w.deprecations {
				w.report.add(e.at, inner, Warning, "deprecated", fmt.Sprintf("%q is deprecated: %s", e.key, f.deprecated), "")
			}
			w.check(e.value, f.shape, inner)
			continue
		}
		switch {
		case s.rest != nil:
			w.check(e.value, s.rest, inner)
		case s.allowsKey(e.key):
		case w.built && isLegacy(where, e.key):
			w.report.add(e.at, inner, Warning, "legacy", fmt.Sprintf("%q was written by an older Zarf and is ignored", e.key), "")
		default:
			// A misspelt key is one fault: the key that it was meant to be is not missing as well.
			suggestion := nearest(e.key, w.absent(n, s))
			missing = slices.DeleteFunc(missing, func(key string) bool { return key == suggestion })
			w.fault(e.at, inner, "unknown-key", unknownKey(e.key, suggestion, s), suggestion)
		}
	}
	for _, key := range missing {
		message := fmt.Sprintf("missing key %q", key)
		if want := s.fields[key].shape.describe(); want != "" {
			message += ", want " + want
		}
		w.fault(n.at, where, "missing-key", message, "")
	}
	if len(s.oneOf) > 0 {
		w.checkOneOf(n, s, where)
	}
}

// isLegacy reports whether an older Zarf wrote the key into packages that it built.
func isLegacy(where path, key string) bool {
	switch key {
	case "lastNonBreakingVersion":
		return len(where) == 1 && where[0] == "build"
	case "cosignKeyPath", "extensions":
		return len(where) == 2 && where[0] == "components"
	}
	return false
}

// missing returns the required keys that a map lacks, as the schema lists them.
func (w *structure) missing(n *node, s *shape) []string {
	var out []string
	for _, key := range s.order {
		if _, given := n.get(key); s.fields[key].required && !given {
			out = append(out, key)
		}
	}
	return out
}

// absent returns the keys that a map could still be given: a misspelt key is one of these.
func (w *structure) absent(n *node, s *shape) []string {
	var out []string
	for _, key := range s.order {
		if _, given := n.get(key); !given {
			out = append(out, key)
		}
	}
	return out
}

func (w *structure) checkOneOf(n *node, s *shape, where path) {
	var given []entry
	for _, key := range s.oneOf {
		if e, ok := n.get(key); ok {
			given = append(given, e)
		}
	}
	switch len(given) {
	case 1:
	case 0:
		w.fault(n.at, where, "one-of", "missing key: want exactly one of "+quoteAll(s.oneOf), "")
	default:
		names := make([]string, len(given))
		for i, e := range given {
			names[i] = e.key
		}
		w.fault(n.at, where, "one-of", fmt.Sprintf("%s are given together, want exactly one of %s", quoteAll(names), quoteAll(s.oneOf)), "")
	}
}

func (w *structure) wrongType(n *node, s *shape, where path) {
	message := fmt.Sprintf("want %s, got %s", wantedType(s), w.describe(n))
	var suggestion string
	switch {
	case w.secret:
	case s.kind == cue.StringKind && (n.kind == intKind || n.kind == floatKind || n.kind == boolKind):
		suggestion = strconv.Quote(written(n))
		message += ": put it in quotes, " + suggestion
	case s.kind == cue.BoolKind && n.kind == stringKind:
		switch strings.ToLower(n.text) {
		case "yes", "on", "y", "true":
			suggestion = "true"
		case "no", "off", "n", "false":
			suggestion = "false"
		}
		if suggestion != "" {
			message += ": did you mean " + suggestion + " (without quotes)?"
		}
	case s.kind == cue.ListKind && n.kind != nullKind:
		message += ": put a hyphen before each item"
	case n.kind == nullKind && len(where) > 0:
		message += ": leave it out or give it a value"
	}
	w.fault(n.at, where, "type", message, suggestion)
}

// wantedType says the type, or all that is wanted where that is as short.
func wantedType(s *shape) string {
	if s.kind == cue.StringKind && s.pattern != nil {
		return "a string"
	}
	return s.describe()
}

// describe says what a node holds, and only of what type it is where values are secret.
func (w *structure) describe(n *node) string {
	if w.secret {
		return [...]string{nullKind: "nothing (null)", boolKind: "a boolean", intKind: "a number", floatKind: "a number", stringKind: "a string", listKind: "a list", mapKind: "a map"}[n.kind]
	}
	return n.describe()
}

func (w *structure) quote(n *node) string {
	if w.secret {
		return "this value"
	}
	return strconv.Quote(shorten(n.text))
}

// describe says what a node holds.
func (n *node) describe() string {
	switch n.kind {
	case nullKind:
		return "nothing (null)"
	case boolKind:
		return "the boolean " + n.text
	case intKind, floatKind:
		return "the number " + shorten(written(n))
	case stringKind:
		return "the string " + strconv.Quote(shorten(n.text))
	case listKind:
		return "a list"
	}
	return "a map"
}

// written is a scalar as the user wrote it: 1.10 is not 1.1 to them.
func written(n *node) string {
	if n.source != nil {
		if tk := n.source.GetToken(); tk != nil && tk.Value != "" {
			return tk.Value
		}
	}
	return n.text
}
