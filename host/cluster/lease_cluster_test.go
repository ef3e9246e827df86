package cluster

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

// holdVariable makes this test binary hold a lease until it is killed.
const holdVariable = "ZARF_HOST_TEST_HOLD_LEASE"

// TestHoldLease is the other program of TestLeaseOfAKilledProgram.
func TestHoldLease(t *testing.T) {
	name := os.Getenv(holdVariable)
	if name == "" {
		return
	}
	c, err := Connect(t.Context(), Options{Kubeconfig: os.Getenv(testcluster.KubeconfigVariable)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Acquire(t.Context(), name, LeaseOptions{}); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("held\n")
	time.Sleep(time.Minute)
}

func TestLeaseOfAKilledProgram_H14(t *testing.T) {
	b := newBench(t)
	control := testcluster.Shared(t)
	other := exec.Command(os.Args[0], "-test.run=^TestHoldLease$", "-test.v")
	other.Env = append(os.Environ(), holdVariable+"="+b.secret(), testcluster.KubeconfigVariable+"="+control.Kubeconfig())
	output, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	var text strings.Builder
	for buffer := make([]byte, 1024); !strings.Contains(text.String(), "held"); {
		n, err := output.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			t.Fatalf("the other program ended: %s", text.String())
		}
	}

	holding, err := b.Holding(t.Context(), b.secret())
	if err != nil || !holding.Live || holding.String() == "" {
		t.Errorf("while it lives: %+v, %v", holding, err)
	}
	var locked *LockedError
	if _, err := b.Acquire(t.Context(), b.secret(), LeaseOptions{}); !errors.As(err, &locked) {
		t.Fatalf("while it lives: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var lease *Lease
	for lease == nil { // the kernel takes a moment
		if lease, err = b.Acquire(t.Context(), b.secret(), LeaseOptions{Timeout: 3 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if time.Since(began) > 5*time.Second || lease.TookOver() != locked.Holder {
		t.Errorf("taken over from %q after %s", lease.TookOver(), time.Since(began))
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if holding, err = b.Holding(t.Context(), b.secret()); err != nil || holding.Live || holding.Holder != "" {
		t.Errorf("once it is released: %+v, %v", holding, err)
	}
}

// A lease that cannot be renewed is lost after ten seconds, and nothing can be written then.
func TestLeaseIsLostWithTheServer(t *testing.T) {
	control := testcluster.Shared(t)
	proxy, kubeconfig := control.Proxy(t)
	b := benchAt(t, control, kubeconfig)
	lease, err := b.Acquire(t.Context(), b.secret(), LeaseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record := b.write(t, b.record(t))
	proxy.Cut()
	began := time.Now()
	select {
	case <-lease.Lost():
	case <-time.After(20 * time.Second):
		t.Fatal("not lost after 20 s")
	}
	if after := time.Since(began); after < 9*time.Second || after > 13*time.Second {
		t.Errorf("lost after %s, want ten seconds", after)
	}
	b.CutAll("the lease was lost")
	record.Package.Generation++
	if _, err := b.Records().Write(t.Context(), record); !apierrors.IsForbidden(err) {
		t.Errorf("writing a record after the lease was lost: %v", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("releasing what was lost: %v", err)
	}
}
