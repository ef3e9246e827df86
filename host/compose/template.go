package compose

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// marker is what create replaces: a package template, its older form, and two that are always known.
var marker = regexp.MustCompile(`###ZARF_(?:PKG_(TMPL|VAR)_([A-Z0-9_]+)|(PKG_ARCH)|(COMPONENT_NAME))###`)

// Templates fills the markers of package templates. A nil one leaves them as they are.
type Templates struct {
	architecture string
	values       map[string]string
	missing      map[string]bool
	deprecated   map[string]bool
}

// NewTemplates returns templates with the values that a user set. Names count without regard to case.
func NewTemplates(architecture string, set map[string]string) *Templates {
	t := &Templates{architecture: architecture, values: map[string]string{}, missing: map[string]bool{}, deprecated: map[string]bool{}}
	for name, value := range set {
		t.values[strings.ToUpper(name)] = value
	}
	return t
}

// Component fills every text of a component.
func (t *Templates) Component(c spec.Component) spec.Component {
	if t == nil {
		return c
	}
	return t.fill(reflect.ValueOf(c), c.Name).Interface().(spec.Component)
}

// Package fills every text of a definition but those of its components.
func (t *Templates) Package(p spec.Package) spec.Package {
	if t == nil {
		return p
	}
	components := p.Components
	p.Components = nil
	p = t.fill(reflect.ValueOf(p), "").Interface().(spec.Package)
	p.Components = components
	return p
}

// Missing are the names of templates that were found and not set, in order.
func (t *Templates) Missing() []string {
	if t == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.missing))
}

// Deprecated are the names that were found in the older form, ZARF_PKG_VAR_, in order.
func (t *Templates) Deprecated() []string {
	if t == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.deprecated))
}

// fill returns a copy of a value with every text in it filled, so that no field is forgotten.
func (t *Templates) fill(v reflect.Value, component string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(t.text(v.String(), component))
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(t.fill(v.Field(i), component))
		}
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(t.fill(v.Index(i), component))
		}
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeMap(v.Type()))
		for _, k := range v.MapKeys() {
			out.SetMapIndex(t.fill(k, component), t.fill(v.MapIndex(k), component))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		inner := t.fill(v.Elem(), component)
		if v.Kind() == reflect.Interface {
			out.Set(inner)
			return out
		}
		pointer := reflect.New(v.Type().Elem())
		pointer.Elem().Set(inner)
		out.Set(pointer)
	default:
		out.Set(v)
	}
	return out
}

func (t *Templates) text(s, component string) string {
	if !strings.Contains(s, "###ZARF_") {
		return s
	}
	return marker.ReplaceAllStringFunc(s, func(found string) string {
		m := marker.FindStringSubmatch(found)
		switch {
		case m[3] != "":
			return t.architecture
		case m[4] != "":
			if component == "" {
				return found
			}
			return component
		}
		value, ok := t.values[m[2]]
		if !ok {
			t.missing[m[2]] = true
			return found
		}
		if m[1] == "VAR" {
			t.deprecated[m[2]] = true
		}
		return value
	})
}
