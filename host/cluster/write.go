package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zarf-host/zarf-host/host/state"
)

const (
	// writeAttempts bounds how often one write is tried, be it for a passing fault or because
	// somebody keeps changing other parts of the Secret.
	writeAttempts = 5
	// writeLimit bounds all of those attempts; a lease is lost sooner.
	writeLimit = 20 * time.Second
	// writeBackoff is the pause after the first attempt; it doubles.
	writeBackoff = 100 * time.Millisecond
)

// Write writes a record and returns it as it is then. A record that does not exist is created; one
// that does is applied with the resourceVersion that was read, so that whoever wrote in between is
// noticed. If both of the record's keys are still what was read (somebody changed a label, or
// another key), the write goes on from there. If they are not, it fails with a ConflictError and
// nothing of theirs is lost. An attempt whose answer was lost is recognised by its own bytes.
//
// Zarf's key is written first, then ours with the resourceVersion that the first write returned.
// Whoever must not lose a note in our key because the program dies in between writes it, and waits
// for Write, before the work that it is about.
//
// After an error go on with the record that is returned, too: it knows which key was written, and
// what may have been written although no answer came.
func (r *Records) Write(ctx context.Context, record Record) (Record, error) {
	if record.Package.Name != record.Name || record.Package.NamespaceOverride != record.Override {
		return record, fmt.Errorf("writing the record of %s: it was read as that of %s",
			identity(record.Package.Name, record.Package.NamespaceOverride), identity(record.Name, record.Override))
	}
	data, own, err := record.Encode()
	if err != nil {
		return record, err
	}
	written := record
	unsure := len(record.pending) > 0 // a write got no answer, and may have been made
	if !record.Exists || unsure || !bytes.Equal(data, record.data) {
		written, err = r.put(ctx, written, state.DataKey, data)
	}
	if err == nil && own != nil && (unsure || !bytes.Equal(own, record.own)) {
		written, err = r.put(ctx, written, state.OwnKey, own)
	}
	if err != nil {
		return written, fmt.Errorf("writing the record of %s: %w", identity(record.Name, record.Override), err)
	}
	if err := written.decode(); err != nil {
		return written, fmt.Errorf("reading back the record of %s: %w", identity(record.Name, record.Override), err)
	}
	return written, nil
}

// Delete deletes a record, provided that nobody changed it since it was read. One that is gone is
// no error.
func (r *Records) Delete(ctx context.Context, record Record) error {
	if !record.Exists {
		return nil
	}
	err := r.attempt(ctx, &record, func() error {
		uid := types.UID(record.UID)
		err := r.secrets.Delete(ctx, record.Secret(), metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &record.ResourceVersion},
		})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}, func(now *corev1.Secret) bool { return now == nil })
	if err != nil {
		return fmt.Errorf("deleting the record of %s: %w", identity(record.Name, record.Override), err)
	}
	return nil
}

// put writes one key: it creates the Secret if there is none, which only Zarf's key can, and applies
// the key otherwise.
func (r *Records) put(ctx context.Context, record Record, key string, value []byte) (Record, error) {
	err := r.attempt(ctx, &record, func() error {
		record.pending = append(slices.Clone(record.pending), keyValue{key, value})
		written, err := r.createOrApply(ctx, record, key, value)
		if err == nil {
			record.take(written)
		}
		return err
	}, func(now *corev1.Secret) bool {
		return now != nil && bytes.Equal(now.Data[key], value) && record.moved(now) == ""
	})
	return record, err
}

func (r *Records) createOrApply(ctx context.Context, record Record, key string, value []byte) (*corev1.Secret, error) {
	data := map[string][]byte{key: value}
	if !record.Exists {
		return r.secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: record.Secret(), Namespace: state.Namespace, Labels: labels(record)},
			Type:       corev1.SecretTypeOpaque,
			Data:       data,
		}, metav1.CreateOptions{FieldManager: zarfManager})
	}
	secret := corev1ac.Secret(record.Secret(), state.Namespace).
		WithResourceVersion(record.ResourceVersion).
		WithUID(types.UID(record.UID)).
		WithData(data)
	if key == state.OwnKey {
		return r.secrets.Apply(ctx, secret, metav1.ApplyOptions{FieldManager: ownManager, Force: true})
	}
	secret = secret.WithLabels(labels(record)).WithType(corev1.SecretTypeOpaque)
	return r.secrets.Apply(ctx, secret, metav1.ApplyOptions{FieldManager: zarfManager, Force: true})
}

// attempt makes a write until it is done or cannot be. After a conflict or a passing fault it reads
// the Secret (nil: there is none): if done says that it is as wanted, an earlier attempt came
// through; if the record's keys are as they were read, the next attempt starts from what was read
// now; otherwise somebody else wrote.
func (r *Records) attempt(ctx context.Context, record *Record, write func() error, done func(now *corev1.Secret) bool) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	var err error
	for try := range writeAttempts {
		if try > 0 {
			if ended := pause(ctx, writeBackoff<<(try-1)); ended != nil {
				return errors.Join(ended, err)
			}
		}
		if err = write(); err == nil {
			return nil
		}
		collided := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
		if !collided && !passing(err) {
			return err
		}
		now, readErr := r.secrets.Get(ctx, record.Secret(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(readErr):
			now = nil
		case readErr != nil && passing(readErr):
			continue
		case readErr != nil:
			return errors.Join(err, fmt.Errorf("reading it again: %w", readErr))
		}
		reason, finished := record.moved(now), done(now)
		if reason == "" && now != nil {
			record.take(now)
		}
		if finished {
			return nil
		}
		if reason != "" {
			return &ConflictError{Secret: record.Secret(), Reason: reason}
		}
	}
	return err
}

// persist makes a write that is the same however often it is made, until it is done or cannot be.
func persist(ctx context.Context, write func() error) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	for try := 1; ; try++ {
		err := write()
		if !passing(err) || try == writeAttempts {
			return err
		}
		if ended := pause(ctx, writeBackoff<<(try-1)); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// take notes where the record is.
func (r *Record) take(secret *corev1.Secret) {
	r.Exists = true
	r.ResourceVersion, r.UID = secret.ResourceVersion, string(secret.UID)
	r.data, r.own = bytes.Clone(secret.Data[state.DataKey]), bytes.Clone(secret.Data[state.OwnKey])
	r.pending = nil
}

// moved says how a record is no longer what was read, empty when it still is, or is what we tried
// to make of it.
func (r *Record) moved(now *corev1.Secret) string {
	switch {
	case now == nil && r.Exists:
		return "it was deleted"
	case now == nil:
		return ""
	case !r.Exists && !r.triedTo(state.DataKey, now.Data[state.DataKey]):
		return "it was created"
	case r.Exists && string(now.UID) != r.UID:
		return "it was deleted and created again"
	}
	for _, key := range []string{state.DataKey, state.OwnKey} {
		if !r.holds(now, key) {
			return fmt.Sprintf("its key %q was changed", key)
		}
	}
	return ""
}

// holds says whether a key of the Secret is what we read, or what we tried to write.
func (r *Record) holds(now *corev1.Secret, key string) bool {
	return bytes.Equal(now.Data[key], r.key(key)) || r.triedTo(key, now.Data[key])
}

func (r *Record) triedTo(key string, value []byte) bool {
	return slices.ContainsFunc(r.pending, func(p keyValue) bool { return p.key == key && bytes.Equal(p.value, value) })
}

// A keyValue is a value of a key that was sent to the cluster.
type keyValue struct {
	key   string
	value []byte
}

// ConflictError says that somebody else wrote a record after it was read.
type ConflictError struct {
	Secret string
	Reason string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("Secret %q in namespace %q is not as it was read: %s meanwhile", e.Secret, state.Namespace, e.Reason)
}

// Hint says what to do about it.
func (e *ConflictError) Hint() string {
	return "another program (Zarf takes no lease) works on this package; run the command again when it is done"
}

// labels are those by which Zarf finds and lists a record.
func labels(record Record) map[string]string {
	return map[string]string{state.ManagedByLabel: state.ManagedBy, state.PackageLabel: record.Name}
}

// passing says whether an error is one that goes away: a broken connection, or an API server that
// is busy or restarting.
func passing(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	return utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsTimeout(err) || errors.Is(err, io.ErrUnexpectedEOF)
}

// pause waits, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
