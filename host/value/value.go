// Package value decides what the values of a package are: it reads values files and the assignments
// of --set-values, merges them, finds and sets them by path, checks them against the package's JSON
// schema, and maps them into charts. It knows Zarf's rules for all of that. It reads no file itself,
// and never puts a value into an error: values hold secrets, so errors name paths and expectations.
//
// Numbers in values are json.Number, so that no integer changes on its way through a record; Native
// turns them into what templates and charts compute with.
package value

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// Merge returns over laid on under: maps are merged key by key, anything else is replaced, by a null
// too. Neither is changed, and the result shares no map or list with them.
func Merge(under, over map[string]any) map[string]any {
	out := make(map[string]any, max(len(under), len(over)))
	for key, value := range under {
		out[key] = clone(value)
	}
	for key, value := range over {
		below, ok := out[key].(map[string]any)
		above, both := value.(map[string]any)
		if ok && both {
			out[key] = Merge(below, above)
			continue
		}
		out[key] = clone(value)
	}
	return out
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return Merge(v, nil)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	default:
		return value
	}
}

// Native returns a copy of values whose numbers are what a program computes with: int64 where the
// number is an integer that fits, else uint64 where that fits, else float64. An integer that fits
// neither stays a json.Number, which prints as it was written.
func Native(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for key, value := range values {
		out[key] = native(value)
	}
	return out
}

func native(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return Native(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = native(item)
		}
		return out
	case json.Number:
		return number(v)
	default:
		return value
	}
}

func number(n json.Number) any {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return u
	}
	if _, ok := new(big.Int).SetString(n.String(), 10); ok {
		return n
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return n
}

// Leaves returns everything in values that is not a map with something in it, by its path in the form
// a.b.c. A key that has a dot of its own stands in quotes, so that no two paths are alike.
func Leaves(values map[string]any) map[string]any {
	out := map[string]any{}
	var visit func(prefix string, values map[string]any)
	visit = func(prefix string, values map[string]any) {
		for key, value := range values {
			if strings.ContainsAny(key, `."`) {
				key = strconv.Quote(key)
			}
			if below, ok := value.(map[string]any); ok && len(below) > 0 {
				visit(prefix+key+".", below)
				continue
			}
			out[prefix+key] = value
		}
	}
	visit("", values)
	return out
}

// shown is a path as people write it.
func shown(path []string) string { return "." + strings.Join(path, ".") }
