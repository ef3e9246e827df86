package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Query says which objects List returns.
type Query struct {
	APIVersion string
	Kind       string
	// Namespace is empty for all namespaces, which takes a grant that reaches everywhere.
	Namespace     string
	LabelSelector string
	FieldSelector string
	// Fields are the paths of an object that are wanted, such as spec.replicas; none means all.
	Fields []string
	// Limit is the most objects; 0 means as many as the host gives.
	Limit int
}

// Get reads an object of the cluster into v, as encoding/json does. The plugin's metadata declares
// k8s:get for it, and the operator grants it. Of Secrets only digests are seen.
func Get(o ObjectRef, v any, fields ...string) error {
	reply, err := ask(hostCall{Op: "k8s.get/v1", APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Fields: fields})
	if err != nil {
		return fmt.Errorf("getting %s: %w", (Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}), err)
	}
	if err := json.Unmarshal(reply.Object, v); err != nil {
		return fmt.Errorf("reading %s: %w", (Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}), err)
	}
	return nil
}

// List reads objects of the cluster into v, a pointer to a slice. The plugin's metadata declares
// k8s:list for it, and the operator grants it. An error says too if there are more objects than the
// limit, since what was not seen was not judged; v then holds those up to it.
func List(q Query, v any) error {
	reply, err := ask(hostCall{Op: "k8s.list/v1", APIVersion: q.APIVersion, Kind: q.Kind, Namespace: q.Namespace,
		LabelSelector: q.LabelSelector, FieldSelector: q.FieldSelector, Fields: q.Fields, Limit: q.Limit})
	if err != nil {
		return fmt.Errorf("listing %s: %w", q.Kind, err)
	}
	if len(reply.Items) == 0 {
		reply.Items = json.RawMessage("[]")
	}
	if err := json.Unmarshal(reply.Items, v); err != nil {
		return fmt.Errorf("reading a list of %s: %w", q.Kind, err)
	}
	if reply.Truncated {
		return fmt.Errorf("listing %s: %w", q.Kind, ErrTruncated)
	}
	return nil
}

// ErrTruncated says that there are more objects than the limit of a List.
var ErrTruncated = errors.New("there are more than the limit")

// File reads a file of the package; components/NAME/… is in the component of that name. The plugin's
// metadata declares package:file for it, and the operator grants it.
func File(path string) ([]byte, error) {
	reply, err := ask(hostCall{Op: "package.file/v1", Path: path})
	if err != nil {
		return nil, fmt.Errorf("reading %q from the package: %w", path, err)
	}
	return reply.Data, nil
}

// HostError is why the host did not answer.
type HostError struct {
	// Code is invalid, forbidden, not-found, timeout, unavailable or failed.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is the message with its code.
func (e *HostError) Error() string { return e.Code + ": " + e.Message }

// IsNotFound says whether an error means that what was asked for does not exist.
func IsNotFound(err error) bool { return hasCode(err, "not-found") }

// IsForbidden says whether an error means that the plugin, or the user, may not ask that.
func IsForbidden(err error) bool { return hasCode(err, "forbidden") }

func hasCode(err error, code string) bool {
	var e *HostError
	return errors.As(err, &e) && e.Code == code
}

type hostCall struct {
	Op            string   `json:"op"`
	APIVersion    string   `json:"apiVersion,omitempty"`
	Kind          string   `json:"kind,omitempty"`
	Namespace     string   `json:"namespace,omitempty"`
	Name          string   `json:"name,omitempty"`
	LabelSelector string   `json:"labelSelector,omitempty"`
	FieldSelector string   `json:"fieldSelector,omitempty"`
	Limit         int      `json:"limit,omitempty"`
	Fields        []string `json:"fields,omitempty"`
	Path          string   `json:"path,omitempty"`
}

type hostReply struct {
	Error     *HostError      `json:"error"`
	Object    json.RawMessage `json:"object"`
	Items     json.RawMessage `json:"items"`
	Truncated bool            `json:"truncated"`
	Data      []byte          `json:"data"`
}

func ask(call hostCall) (hostReply, error) {
	request, err := json.Marshal(call)
	if err != nil {
		return hostReply{}, err
	}
	answer, err := callHost(request)
	if err != nil {
		return hostReply{}, err
	}
	var reply hostReply
	if err := json.Unmarshal(answer, &reply); err != nil {
		return hostReply{}, fmt.Errorf("reading the host's answer: %w", err)
	}
	if reply.Error != nil {
		return hostReply{}, reply.Error
	}
	return reply, nil
}
