package cluster

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/zarf-host/zarf-host/host/state"
)

// The field managers of a record's two keys: Zarf's, so that Zarf and we own the same fields, and
// ours, so that Zarf's writes leave our key alone.
const (
	zarfManager = "zarf"
	ownManager  = "zarf-host"
)

// A Record is a package's record together with where it was read. Pass back the one that the last
// read or write returned: it holds what the next write is checked against.
type Record struct {
	state.Record
	// Name and Override are what was asked for.
	Name, Override string
	// Exists is false while the cluster has no record of that name.
	Exists bool
	// ResourceVersion and UID are those of the Secret.
	ResourceVersion string
	UID             string

	data, own []byte     // the keys as the cluster has them
	written   time.Time  // when Zarf's key was written
	pending   []keyValue // what writes that got no answer may have left instead
}

// Secret returns the name of the record's Secret, which is the name of its lease too.
func (r Record) Secret() string { return state.SecretName(r.Name, r.Override) }

// Listed is one Secret that claims to be a record: the record, or why it cannot be read.
type Listed struct {
	Secret string
	Record Record
	Err    error
}

// Records reads and writes the records of a cluster.
type Records struct {
	secrets typedcorev1.SecretInterface
}

// Records returns the cluster's records. They go the way of the books: written after Cut too, never
// after CutAll.
func (c *Cluster) Records() *Records {
	return &Records{secrets: c.client.CoreV1().Secrets(state.Namespace)}
}

// Get reads the record of a package. One that does not exist is no error, but a record that has only
// a name; a Secret of that name
// which is not this package's record is a NotRecordError.
func (r *Records) Get(ctx context.Context, name, override string) (Record, error) {
	secretName := state.SecretName(name, override)
	secret, err := r.secrets.Get(ctx, secretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		record := Record{Name: name, Override: override}
		record.Package.Name, record.Package.NamespaceOverride = name, override
		return record, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading the record of package %q: %w", name, err)
	}
	record, err := parse(secret)
	if err != nil {
		return Record{}, err
	}
	if record.Package.Name != name || record.Package.NamespaceOverride != override {
		return Record{}, &NotRecordError{Secret: secretName, Reason: fmt.Sprintf("it records %s, not %s",
			identity(record.Package.Name, record.Package.NamespaceOverride), identity(name, override))}
	}
	return record, nil
}

// List reads every record of the cluster. One that cannot be read is listed with its error and
// hides none of the others.
func (r *Records) List(ctx context.Context) ([]Listed, error) {
	return r.list(ctx, state.PackageLabel)
}

// ListOf is List of the records of one package: the plain one, and one for each namespace that it was
// deployed into instead of its own.
func (r *Records) ListOf(ctx context.Context, name string) ([]Listed, error) {
	return r.list(ctx, state.PackageLabel+"="+name)
}

func (r *Records) list(ctx context.Context, selector string) ([]Listed, error) {
	var all []Listed
	options := metav1.ListOptions{LabelSelector: selector, Limit: 500}
	for {
		page, err := r.secrets.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing the package records in namespace %q: %w", state.Namespace, err)
		}
		for i := range page.Items {
			secret := &page.Items[i]
			if !strings.HasPrefix(secret.Name, state.SecretPrefix) {
				continue
			}
			record, err := parse(secret)
			if err == nil && record.Secret() != secret.Name {
				err = &NotRecordError{Secret: secret.Name, Reason: "it records " + identity(record.Name, record.Override)}
			}
			if err != nil {
				record = Record{}
			}
			all = append(all, Listed{Secret: secret.Name, Record: record, Err: err})
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

// MayList returns an error for which IsForbidden holds if the records of other packages may not be
// read.
func (r *Records) MayList(ctx context.Context) error {
	if _, err := r.secrets.List(ctx, metav1.ListOptions{LabelSelector: state.PackageLabel, Limit: 1}); err != nil {
		return fmt.Errorf("listing the package records in namespace %q: %w", state.Namespace, err)
	}
	return nil
}

// parse reads a record's Secret. Name and Override of what it returns are the record's own.
func parse(secret *corev1.Secret) (Record, error) {
	if _, ok := secret.Labels[state.PackageLabel]; !ok {
		return Record{}, &NotRecordError{Secret: secret.Name,
			Reason: fmt.Sprintf("it has no label %q", state.PackageLabel)}
	}
	data, ok := secret.Data[state.DataKey]
	if !ok {
		return Record{}, &NotRecordError{Secret: secret.Name,
			Reason: fmt.Sprintf("it has no key %q", state.DataKey)}
	}
	record := Record{
		Exists:          true,
		ResourceVersion: secret.ResourceVersion,
		UID:             string(secret.UID),
		data:            bytes.Clone(data),
		own:             bytes.Clone(secret.Data[state.OwnKey]),
		written:         writtenByZarf(secret),
	}
	if err := record.decode(); err != nil {
		return Record{}, fmt.Errorf("reading Secret %q: %w", secret.Name, err)
	}
	record.Name, record.Override = record.Package.Name, record.Package.NamespaceOverride
	return record, nil
}

// decode reads the record from the keys as the cluster has them.
func (r *Record) decode() error {
	decoded, err := state.Decode(r.data, r.own)
	r.Record = decoded.Merged(r.written)
	return err
}

// writtenByZarf says when Zarf's key was written last, as the API server keeps it.
func writtenByZarf(secret *corev1.Secret) time.Time {
	var last time.Time
	for _, f := range secret.ManagedFields {
		if f.Manager == zarfManager && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// key returns the value of one key as the cluster has it.
func (r *Record) key(name string) []byte {
	if name == state.OwnKey {
		return r.own
	}
	return r.data
}

// identity names a record for people.
func identity(name, override string) string {
	if override == "" {
		return fmt.Sprintf("package %q", name)
	}
	return fmt.Sprintf("package %q in namespace %q", name, override)
}

// NotRecordError says that a Secret is not the record that its name promises.
type NotRecordError struct {
	Secret string
	Reason string
}

func (e *NotRecordError) Error() string {
	return fmt.Sprintf("Secret %q in namespace %q is not the package record looked for: %s",
		e.Secret, state.Namespace, e.Reason)
}

// Hint says what to do about it.
func (e *NotRecordError) Hint() string {
	return "deploy under another package name or namespace, or move that Secret away"
}
