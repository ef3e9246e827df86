package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What one response may hold. They bound what is shown and compared, not what is transferred: the
// size of the document is the limit of whoever reads it.
const (
	MaxFindings = 10_000
	MaxKeep     = 100_000
	MaxText     = 16 << 10
	maxDepth    = 16
)

// DecodeResponse reads the one document that answers a request. Whatever is not exactly that is an
// error: more or less than one document, an unknown, repeated or differently cased key, another id
// or version, a verdict or a list that the hook does not allow.
func DecodeResponse(data []byte, want Expect) (Response, error) {
	var r Response
	if len(bytes.TrimSpace(data)) == 0 {
		return r, errors.New("empty answer: one JSON document is wanted on stdout")
	}
	if !utf8.Valid(data) {
		return r, errors.New("answer is not UTF-8")
	}
	if err := checkKeys(data); err != nil {
		return r, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return Response{}, fmt.Errorf("reading the answer: %w", err)
	}
	if err := r.check(want); err != nil {
		return Response{}, err
	}
	return r, nil
}

// checkKeys walks the tokens of data for what encoding/json lets pass: repeated keys, keys in
// another case, and anything after the first document.
func checkKeys(data []byte) error {
	known := []string{
		"apiVersion", "kind", "id", "verdict", "findings", "severity", "message", "object", "path",
		"remedy", "keep", "component", "chart", "image", "reason", "collisions", "namespace", "name",
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	type frame struct {
		keys  map[string]bool // nil for an array
		inKey bool
	}
	var stack []frame
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("answer ends in the middle of its document")
		}
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		if delim, ok := tok.(json.Delim); ok {
			switch delim {
			case '{':
				stack = append(stack, frame{keys: map[string]bool{}, inKey: true})
			case '[':
				stack = append(stack, frame{})
			default:
				stack = stack[:len(stack)-1]
				if len(stack) > 0 {
					stack[len(stack)-1].inKey = true
				}
			}
			if len(stack) > maxDepth {
				return fmt.Errorf("answer is nested more than %d deep", maxDepth)
			}
		} else if top := len(stack) - 1; top >= 0 && stack[top].keys != nil && stack[top].inKey {
			key := tok.(string)
			if !slices.Contains(known, key) {
				return fmt.Errorf("answer has the unknown key %q", clip(key))
			}
			if stack[top].keys[key] {
				return fmt.Errorf("answer has the key %q twice in one object", key)
			}
			stack[top].keys[key] = true
			stack[top].inKey = false
		} else if top >= 0 {
			stack[top].inKey = true
		}
		if len(stack) == 0 {
			break
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("answer has more than one document")
	}
	return nil
}

func (r Response) check(want Expect) error {
	point, err := Find(want.Hook)
	if err != nil {
		return err
	}
	switch {
	case r.APIVersion != APIVersion:
		return fmt.Errorf("answer has apiVersion %q, wanted is %q", clip(r.APIVersion), APIVersion)
	case r.Kind != ResponseKind:
		return fmt.Errorf("answer has kind %q, wanted is %q", clip(r.Kind), ResponseKind)
	case r.ID != want.ID:
		return fmt.Errorf("answer has id %q, the request's is %q", clip(r.ID), want.ID)
	case !slices.Contains(point.Verdicts, r.Verdict):
		return fmt.Errorf("answer has verdict %q, %s may answer %s", clip(string(r.Verdict)), point.Name, list(point.Verdicts))
	case len(r.Findings) > MaxFindings:
		return fmt.Errorf("answer has %d findings, at most %d are allowed", len(r.Findings), MaxFindings)
	case len(r.Keep) > 0 && !point.Keep:
		return fmt.Errorf("answer keeps %s, which %s does not allow", clip(r.Keep[0].Target()), point.Name)
	case len(r.Keep) > MaxKeep:
		return fmt.Errorf("answer keeps %d things, at most %d are allowed", len(r.Keep), MaxKeep)
	case len(r.Collisions) > 0 && !point.Collisions:
		return fmt.Errorf("answer judges collisions, which %s does not allow", point.Name)
	}
	for i, f := range r.Findings {
		if err := f.check(); err != nil {
			return fmt.Errorf("findings[%d]: %w", i, err)
		}
		if f.Severity == SeverityDeny && r.Verdict != Deny {
			return fmt.Errorf("findings[%d]: a finding of severity deny beside the verdict %q: a plugin that objects denies", i, r.Verdict)
		}
	}
	for i, k := range r.Keep {
		if err := k.check(); err != nil {
			return fmt.Errorf("keep[%d]: %w", i, err)
		}
	}
	if err := want.CheckCollisions(r.Collisions); err != nil {
		return err
	}
	for i, c := range r.Collisions {
		if err := checkTexts(text{"message", c.Message, true}); err != nil {
			return fmt.Errorf("collisions[%d]: %w", i, err)
		}
	}
	return nil
}

func (f Finding) check() error {
	switch f.Severity {
	case SeverityInfo, SeverityWarn, SeverityDeny:
	default:
		return fmt.Errorf("severity %q is none of info, warn, deny", clip(string(f.Severity)))
	}
	if f.Object != nil {
		if err := f.Object.check(); err != nil {
			return err
		}
	}
	return checkTexts(text{"message", f.Message, true}, text{"path", f.Path, false}, text{"remedy", f.Remedy, false})
}

func (k Keep) check() error {
	set := 0
	for _, v := range []string{k.Component, k.Chart, k.Image} {
		if v != "" {
			set++
		}
	}
	if k.Object != nil {
		set++
		if err := k.Object.check(); err != nil {
			return err
		}
	}
	if set != 1 {
		return fmt.Errorf("exactly one of component, chart, image and object is wanted, %d are given", set)
	}
	if k.Chart != "" {
		namespace, name, ok := strings.Cut(k.Chart, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("chart %q is not namespace/release", clip(k.Chart))
		}
	}
	return checkTexts(text{"component", k.Component, false}, text{"chart", k.Chart, false},
		text{"image", k.Image, false}, text{"reason", k.Reason, true})
}

func (o Object) check() error {
	return checkTexts(text{"object.apiVersion", o.APIVersion, true}, text{"object.kind", o.Kind, true},
		text{"object.namespace", o.Namespace, false}, text{"object.name", o.Name, true})
}

type text struct {
	name, value string
	required    bool
}

// checkTexts refuses what would make a terminal or a log line say something else than it holds.
func checkTexts(texts ...text) error {
	for _, t := range texts {
		if t.required && strings.TrimSpace(t.value) == "" {
			return fmt.Errorf("%s is missing", t.name)
		}
		if len(t.value) > MaxText {
			return fmt.Errorf("%s has %d bytes, at most %d are allowed", t.name, len(t.value), MaxText)
		}
		for _, r := range t.value {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				return fmt.Errorf("%s has the control character %q", t.name, r)
			}
		}
	}
	return nil
}

func list(vs []Verdict) string {
	var out []string
	for _, v := range vs {
		out = append(out, string(v))
	}
	return strings.Join(out, ", ")
}

// clip shortens a guest's own words in an error about them.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
