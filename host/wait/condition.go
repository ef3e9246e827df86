package wait

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
)

// condition is what is wanted of an object: nil when it is met, else why not.
type condition struct {
	text string // for people, after "to"
	gone bool   // it is met by there being no object
	met  func(*unstructured.Unstructured) error
}

// parseCondition reads a condition in the forms of "zarf tools wait-for": nothing (reconciled),
// exists, delete, a JSONPath with a value, or the name of a status condition with, if not "true",
// a value. Quotes for a shell that is not there are dropped.
func parseCondition(text string) (condition, error) {
	text = unquote(strings.TrimSpace(text))
	switch strings.ToLower(text) {
	case "":
		return condition{text: "be reconciled", met: reconciled}, nil
	case "exist", "exists":
		return condition{text: "exist", met: func(*unstructured.Unstructured) error { return nil }}, nil
	case "delete", "deleted":
		return condition{text: "be deleted", gone: true}, nil
	}
	if path, ok := strings.CutPrefix(text, "jsonpath="); ok || strings.HasPrefix(path, "{") {
		return parsePath(path)
	}
	name, value, _ := strings.Cut(strings.TrimPrefix(text, "condition="), "=")
	if value == "" {
		value = "true"
	}
	return condition{text: "be " + text, met: func(o *unstructured.Unstructured) error { return hasCondition(o, name, value) }}, nil
}

// unquote drops quotes, but not those inside of a JSONPath.
func unquote(text string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		case '\'', '"':
			if depth == 0 {
				return -1
			}
		}
		return r
	}, text)
}

// reconciled is kstatus's judgement. What has no status of its own is reconciled once it exists.
func reconciled(o *unstructured.Unstructured) error {
	result, err := status.Compute(o)
	if err != nil {
		return err
	}
	if result.Status != status.CurrentStatus {
		return fmt.Errorf("%s is %s: %s", o.GetName(), result.Status, result.Message)
	}
	return nil
}

// hasCondition looks for a status condition by name, in any case as kubectl does. A status that
// describes an older generation counts for nothing.
func hasCondition(o *unstructured.Unstructured, name, value string) error {
	// A definition that was just created has null for conditions, and gets some soon.
	conditions, _, err := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	list, isList := conditions.([]any)
	if err == nil && conditions != nil && !isList {
		err = fmt.Errorf("a list is wanted, not %T", conditions)
	}
	if err != nil {
		return hopeless{fmt.Errorf("%s has conditions of another form: %w", o.GetName(), err)}
	}
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if kind, _, _ := unstructured.NestedString(c, "type"); !strings.EqualFold(kind, name) {
			continue
		}
		seen, found, _ := unstructured.NestedInt64(c, "observedGeneration")
		if !found {
			seen, found, _ = unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		}
		if found && seen < o.GetGeneration() {
			return fmt.Errorf("the status of %s is older than its definition", o.GetName())
		}
		got, _, _ := unstructured.NestedString(c, "status")
		if strings.EqualFold(got, value) {
			return nil
		}
		message, _, _ := unstructured.NestedString(c, "message")
		return fmt.Errorf("%s of %s is %s: %s", name, o.GetName(), got, message)
	}
	return fmt.Errorf("%s has no condition %s", o.GetName(), name)
}

// parsePath reads {PATH}=VALUE; without a value anything there will do.
func parsePath(text string) (condition, error) {
	end := strings.LastIndexByte(text, '}')
	if end < 0 {
		return condition{}, fmt.Errorf("reading the condition %q: the JSONPath has no closing brace", text)
	}
	path, rest := text[:end+1], text[end+1:]
	value, ok := strings.CutPrefix(rest, "=")
	if rest != "" && !ok {
		return condition{}, fmt.Errorf("reading the condition %q: write {PATH}=VALUE", text)
	}
	value = strings.TrimPrefix(value, "=") // kubectl takes == too
	if err := jsonpath.New("condition").Parse(path); err != nil {
		return condition{}, fmt.Errorf("reading the condition %q: %w", text, err)
	}
	return condition{text: "have " + text, met: func(o *unstructured.Unstructured) error { return hasValue(o, path, value) }}, nil
}

func hasValue(o *unstructured.Unstructured, path, want string) error {
	j := jsonpath.New("condition").AllowMissingKeys(true)
	if err := j.Parse(path); err != nil {
		return hopeless{err}
	}
	lists, err := j.FindResults(o.Object)
	if err != nil {
		return err // an index that is out of range may be in range later
	}
	var got []string
	for _, list := range lists {
		for _, v := range list {
			got = append(got, text(v))
		}
	}
	for _, g := range got {
		if want != "" && g != want {
			return fmt.Errorf("%s of %s is %q", path, o.GetName(), g)
		}
	}
	if len(got) == 0 {
		return fmt.Errorf("%s has no %s", o.GetName(), path)
	}
	return nil
}

// text is a value as kubectl would print it.
func text(v reflect.Value) string {
	value := v.Interface()
	switch value.(type) {
	case map[string]any, []any:
		if data, err := json.Marshal(value); err == nil {
			return string(data)
		}
	}
	return fmt.Sprint(value)
}
