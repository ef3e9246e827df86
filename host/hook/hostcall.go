package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Op names what a plugin asks the host for, each with its own version.
type Op string

// The operations.
const (
	OpGet  Op = "k8s.get/v1"
	OpList Op = "k8s.list/v1"
	OpFile Op = "package.file/v1"
)

// MaxList is the most objects that one k8s.list/v1 returns.
const MaxList = 5000

// Call is what a plugin asks the host for.
type Call struct {
	Op Op `json:"op"`

	// APIVersion and Kind name what to get or list; Namespace is empty for what belongs to none, and in
	// a list for all namespaces.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	// Name is of k8s.get/v1.
	Name string `json:"name,omitempty"`
	// LabelSelector, FieldSelector and Limit are of k8s.list/v1. A limit of 0 is MaxList.
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
	Limit         int    `json:"limit,omitempty"`
	// Fields are the paths of an object that are wanted, beside what names it; none means all.
	Fields []string `json:"fields,omitempty"`

	// Path is of package.file/v1: a file of the package, as `inspect` lists it.
	Path string `json:"path,omitempty"`
}

// Reply is what the host answers: an error, or what the operation returns.
type Reply struct {
	Error *CallError `json:"error,omitempty"`
	// Object is of k8s.get/v1.
	Object map[string]any `json:"object,omitempty"`
	// Items are of k8s.list/v1, by namespace and name; Truncated says that there are more than the limit.
	Items     []map[string]any `json:"items,omitempty"`
	Truncated bool             `json:"truncated,omitempty"`
	// Data is of package.file/v1.
	Data []byte `json:"data,omitempty"`
}

// CallError is why the host does not answer. It is a value: the plugin decides what it means.
type CallError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error is the code and the message.
func (e *CallError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Code is the sort of a CallError.
type Code string

// The codes.
const (
	CodeInvalid     Code = "invalid"     // the request cannot be understood
	CodeForbidden   Code = "forbidden"   // not declared, not granted, another namespace, or the user may not
	CodeNotFound    Code = "not-found"   // there is no such object, kind or file
	CodeTimeout     Code = "timeout"     // it took too long
	CodeUnavailable Code = "unavailable" // there is nobody to ask
	CodeFailed      Code = "failed"      // asking failed
)

// Refuse writes a reply that is an error.
func Refuse(code Code, message string) []byte {
	doc, _ := json.Marshal(Reply{Error: &CallError{Code: code, Message: message}}) // strings always marshal
	return doc
}

// ParseCall reads one request of a plugin. Errors are *CallError.
func ParseCall(data []byte) (Call, error) {
	invalid := func(format string, args ...any) (Call, error) {
		return Call{}, &CallError{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var c Call
	if err := dec.Decode(&c); err != nil {
		return invalid("reading the request: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("the request has more than one document")
	}
	var uses Call // the fields that the operation has
	switch c.Op {
	case OpGet:
		uses = Call{Op: c.Op, APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Fields: c.Fields}
		if c.APIVersion == "" || c.Kind == "" || c.Name == "" {
			return invalid("%s wants apiVersion, kind and name", c.Op)
		}
	case OpList:
		uses = Call{Op: c.Op, APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Fields: c.Fields,
			LabelSelector: c.LabelSelector, FieldSelector: c.FieldSelector, Limit: c.Limit}
		if c.APIVersion == "" || c.Kind == "" {
			return invalid("%s wants apiVersion and kind", c.Op)
		}
		if c.Limit < 0 || c.Limit > MaxList {
			return invalid("limit %d is not between 1 and %d", c.Limit, MaxList)
		}
	case OpFile:
		uses = Call{Op: c.Op, Path: c.Path}
		if c.Path == "" {
			return invalid("%s wants a path", c.Op)
		}
	default:
		return invalid("unknown op %q: this host knows %s, %s and %s", clip(string(c.Op)), OpGet, OpList, OpFile)
	}
	if !c.equal(uses) {
		return invalid("%s has fields of another operation", c.Op)
	}
	for _, path := range c.Fields {
		if path == "" || slices.Contains(strings.Split(path, "."), "") {
			return invalid("field %q is not a path like spec.replicas", clip(path))
		}
	}
	return c, nil
}

func (c Call) equal(d Call) bool {
	fields := slices.Equal(c.Fields, d.Fields)
	return fields && c.Op == d.Op && c.APIVersion == d.APIVersion && c.Kind == d.Kind && c.Namespace == d.Namespace &&
		c.Name == d.Name && c.LabelSelector == d.LabelSelector && c.FieldSelector == d.FieldSelector && c.Limit == d.Limit && c.Path == d.Path
}

// Exchange is one call of the host with its answer, as it is recorded and replayed.
type Exchange struct {
	// Request is what the plugin wrote: JSON, or a JSON string of what is none.
	Request json.RawMessage `json:"request"`
	Answer  json.RawMessage `json:"answer"`
}

// NewExchange keeps what was said.
func NewExchange(request, answer []byte) Exchange {
	return Exchange{asDocument(request), asDocument(answer)}
}

// String says what was asked and what came of it, without what was answered.
func (e Exchange) String() string {
	call, err := ParseCall(e.Request)
	if err != nil {
		return "refused: " + err.Error()
	}
	asked := []string{string(call.Op)}
	for _, word := range []string{call.APIVersion, call.Kind, call.Namespace, call.Name, call.LabelSelector, call.FieldSelector, call.Path} {
		if word != "" {
			asked = append(asked, word)
		}
	}
	var reply Reply
	outcome := fmt.Sprintf("%d bytes", len(e.Answer))
	if json.Unmarshal(e.Answer, &reply) == nil && reply.Error != nil {
		outcome = string(reply.Error.Code)
	} else if call.Op == OpList {
		outcome = fmt.Sprintf("%d objects, %s", len(reply.Items), outcome)
	}
	return strings.Join(asked, " ") + ": " + outcome
}

// asDocument is JSON without superfluous space; what is no JSON becomes a string.
func asDocument(data []byte) json.RawMessage {
	var buf bytes.Buffer
	if json.Compact(&buf, data) == nil {
		return buf.Bytes()
	}
	quoted, _ := json.Marshal(string(data)) // strings always marshal
	return quoted
}

// Script answers calls from a recording, in its order. It is a pure function of what was recorded: the
// plugin must ask the same again.
type Script struct {
	exchanges []Exchange
	next      int
}

// NewScript replays exchanges.
func NewScript(exchanges []Exchange) *Script { return &Script{exchanges: exchanges} }

// Reply returns the recorded answer to a request; an error if the plugin asks something else.
func (s *Script) Reply(request []byte) ([]byte, error) {
	if s.next >= len(s.exchanges) {
		return nil, fmt.Errorf("the recording has %d answers, and the plugin asks once more: %s", len(s.exchanges), clip(string(request)))
	}
	e := s.exchanges[s.next]
	if want, got := canonical(e.Request), canonical(asDocument(request)); want != got {
		return nil, fmt.Errorf("the plugin's question %d is %s, recorded is %s", s.next+1, clip(got), clip(want))
	}
	s.next++
	return bytes.Clone(e.Answer), nil
}

// Left is how many recorded answers nobody asked for.
func (s *Script) Left() int { return len(s.exchanges) - s.next }

// canonical writes JSON with sorted keys, so that recordings may be edited by hand.
func canonical(doc json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return string(doc)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(doc)
	}
	return string(out)
}
