package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/object"
)

const (
	// cancelGrace is how long Helm may take to return once its requests are cut off.
	cancelGrace = 3 * time.Second
	// closeTimeout bounds the write of a release's status after that.
	closeTimeout = 3 * time.Second
)

// operation is one action of Helm's on one release.
type operation struct {
	c       *Client
	release object.Release
	kube    *kubeClient
	store   *store
	config  *action.Configuration
}

func (c *Client) operate(ctx context.Context, r object.Release, rules rules, timeout time.Duration) (*operation, error) {
	caps, err := c.capabilities()
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(timeout)
	op := &operation{
		c:       c,
		release: r,
		kube:    c.newKubeClient(ctx, r, rules, timeout),
		store:   newStore(ctx, c.driver(r.Namespace), deadline),
	}
	releases := storage.Init(op.store)
	releases.MaxHistory = maxHistory
	op.config = &action.Configuration{
		RESTClientGetter: c.getter,
		Releases:         releases,
		KubeClient:       op.kube,
		Capabilities:     caps,
		// Helm's log may quote what it could not decode, and says nothing that our events do not.
		Log:            func(string, ...any) {},
		HookOutputFunc: func(_, _, _ string) io.Writer { return io.Discard },
	}
	return op, nil
}

func (c *Client) driver(namespace string) driver.Driver {
	return driver.NewSecrets(c.clients.CoreV1().Secrets(namespace))
}

// run calls Helm and watches the operation's context. Helm itself gets a context that is never
// cancelled, since it would go on in the background when it is: whoever cancels cuts the requests
// off instead, and Helm returns with what they answer. Our own parts stop by themselves.
func (op *operation) run(ctx context.Context, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("helm panicked on release %q: %v", op.release, p)
			}
		}()
		done <- call(context.WithoutCancel(ctx))
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(cancelGrace):
			return context.Cause(ctx)
		}
	}
	if err = op.kube.cause(err); err == nil || ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// postRenderer is our rendering of what Helm rendered, with what it needs beside it.
type postRenderer struct {
	ctx context.Context // of the operation; Helm's interface has none
	c   *Client
	w   Wanted
}

// Run implements Helm's interface.
func (p postRenderer) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	out, err := postRender(p.w, rendered.String())
	if err != nil {
		return nil, err
	}
	// Again, since what Helm rendered may need a namespace that our own rendering did not.
	if err := p.c.ensureNamespaces(p.ctx, p.w, out); err != nil {
		return nil, err
	}
	return bytes.NewBufferString(join(out.pieces)), nil
}

// These begin the description of a revision that was pending when its operation ended. After an
// install of that kind the release is installed anew, so that its install hooks run.
const (
	interrupted        = "Interrupted: "
	interruptedInstall = "Interrupted install: "
)

// markInterrupted is the description of a revision that had a pending status.
func markInterrupted(was release.Status, why string) string {
	if was == release.StatusPendingInstall {
		return interruptedInstall + why
	}
	return interrupted + why
}

// CloseRelease marks a revision failed that its operation left pending, through the second client.
// It does nothing where there is no such client, or where the revision is not pending.
func (c *Client) CloseRelease(ctx context.Context, r object.Release, revision int, why string) error {
	if c.second == nil {
		return nil
	}
	given := c.second()
	if given == nil {
		return nil
	}
	config := rest.CopyConfig(given)
	config.Timeout = closeTimeout // the storage driver takes no context
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("preparing to close release %q: %w", r, err)
	}
	key := storageKey(r.Name, revision)
	secret, err := clients.CoreV1().Secrets(r.Namespace).Get(ctx, key, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading revision %d of release %q: %w", revision, r, err)
	}
	rel, err := decodeSecret(secret)
	if err != nil {
		return fmt.Errorf("decoding revision %d of release %q: %w", revision, r, err)
	}
	if !rel.Info.Status.IsPending() {
		return nil
	}
	rel.SetStatus(release.StatusFailed, markInterrupted(rel.Info.Status, why))
	releases := driver.NewSecrets(clients.CoreV1().Secrets(r.Namespace))
	if err := retry(ctx, time.Time{}, func() error { return releases.Update(key, rel) }); err != nil {
		return fmt.Errorf("marking revision %d of release %q failed: %w", revision, r, err)
	}
	return nil
}

// closeAfter is CloseRelease for an operation whose context is over.
func (c *Client) closeAfter(ctx context.Context, r object.Release, revision int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := c.CloseRelease(ctx, r, revision, "the operation was cancelled"); err != nil {
		c.emit(event.Warn, r, "the release stays pending until the next deployment recovers it: %v", err)
	}
}
