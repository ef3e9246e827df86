package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/kubectl/pkg/cmd"
)

// lockedBuffer may be read while a command that was left behind still writes.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// tool runs "tools ARGS" below a root that has flags of the kind that ours has.
func tool(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errs lockedBuffer
	root := &cobra.Command{Use: "zarf-host", SilenceUsage: true, SilenceErrors: true}
	root.PersistentFlags().StringP("log-level", "l", "info", "")
	root.PersistentFlags().Bool("no-color", false, "")
	root.PersistentFlags().String("kubeconfig", "", "")
	root.AddCommand(newToolsCmd(Streams{In: strings.NewReader(""), Out: &out, Err: &errs}))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(append([]string{"tools"}, args...))
	err = root.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

// controlPlane gives a kubeconfig and a new namespace: of the control plane that the environment
// hands over, else of one of its own, which ends with the test.
func controlPlane(t *testing.T) (kubeconfig, namespace string) {
	t.Helper()
	kubeconfig = os.Getenv("ZARF_HOST_TEST_KUBECONFIG")
	if kubeconfig == "" {
		kubeconfig = startControlPlane(t)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	namespace = fmt.Sprintf("tools-%d", time.Now().UnixNano())
	if _, errs, err := tool(t.Context(), "kubectl", "create", "namespace", namespace); err != nil {
		t.Fatalf("making a namespace: %v %s", err, errs)
	}
	t.Cleanup(func() {
		if _, errs, err := tool(context.Background(), "kubectl", "delete", "namespace", namespace, "--wait=false"); err != nil {
			t.Errorf("deleting the namespace: %v %s", err, errs)
		}
	})
	return kubeconfig, namespace
}

func startControlPlane(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short does not start")
	}
	dir := t.TempDir()
	binary, err := filepath.Abs("../../../bin/devcluster")
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(binary, "run", "--die-with-parent", "--discard", "--data-dir", dir, "--port", "0")
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // its parent is the thread that starts it, which must stay
		started <- process.Start()
		<-started
	}()
	if err := <-started; err != nil {
		t.Fatalf("starting the control plane (make devcluster builds it): %v", err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM) // it may have ended already
		_ = process.Wait()                          // by the signal
		close(started)
	})
	if !bufio.NewScanner(stdout).Scan() { // the first line says that it is ready
		t.Fatal("the control plane ended before it was ready")
	}
	return filepath.Join(dir, "kubeconfig")
}

func TestKubectl(t *testing.T) {
	kubeconfig, ns := controlPlane(t)
	t.Setenv("KUBECONFIG", kubeconfig)
	// Not from stdin: kubectl reads the process's own, whatever its streams are.
	manifest := filepath.Join(t.TempDir(), "manifest.yaml")
	content := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {a: b}}\ndata: {k: v}\n"
	if err := os.WriteFile(manifest, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, err := tool(t.Context(), "kubectl", "apply", "-n", ns, "-f", manifest)
	if err != nil || out != "configmap/one created\n" {
		t.Fatalf("apply: %q, %q, %v", out, errs, err)
	}
	out, _, err = tool(t.Context(), "k", "get", "cm", "-l", "a=b", "-n", ns, "-o", "jsonpath={.items[0].data.k}")
	if err != nil || out != "v" {
		t.Errorf("get with a selector: %q, %v", out, err)
	}
	_, errs, err = tool(t.Context(), "kubectl", "get", "cm", "nope", "-n", ns)
	var code *codeError
	if !errors.As(err, &code) || code.code != 1 || !strings.Contains(errs, `configmaps "nope" not found`) {
		t.Errorf("get of what is not there: %q, %v", errs, err)
	}
	if _, errs, err = tool(t.Context(), "kubectl", "get", "--no-such-flag"); err == nil {
		t.Errorf("an unknown flag was taken: %q", errs)
	}
	if out, _, err = tool(t.Context(), "kubectl", "version", "--client"); err != nil || !strings.Contains(out, "Client Version") {
		t.Errorf("version: %q, %v", out, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, _, err = tool(ctx, "kubectl", "wait", "cm/one", "-n", ns, "--for=condition=Never", "--timeout=60s"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWaitForResource(t *testing.T) {
	kubeconfig, ns := controlPlane(t)
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "not-used"))
	for _, tc := range []struct {
		args string
		want string // in the error; empty for none
	}{
		{"wait-for sa default -n " + ns, ""},
		{"wait-for resource sa default -n " + ns, ""},
		{"w resource cm -n " + ns, ""},
		{"wait-for resource ns " + ns + " {.status.phase}=Active", ""},
		{"wait-for cm nope exists --timeout 300ms -n " + ns, `waiting for cm "nope" in namespace "` + ns + `" to exist: context deadline exceeded`},
		{"wait-for cm nope --timeout soon -n " + ns, "not a duration"},
	} {
		args := append(strings.Fields(tc.args), "--kubeconfig", kubeconfig)
		_, _, err := tool(t.Context(), args...)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.args, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v, want %q in it", tc.args, err, tc.want)
		}
	}
}

// Without a usable kubeconfig the command fails at once (H13).
func TestH13WaitForWithoutKubeconfig(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tc := range []struct{ env, flag string }{{missing, ""}, {broken, ""}, {"", missing}, {"", broken}} {
		t.Setenv("KUBECONFIG", tc.env)
		t.Setenv("HOME", t.TempDir())
		args := []string{"wait-for", "pod", "x"}
		if tc.flag != "" {
			args = append(args, "--kubeconfig", tc.flag)
		}
		start := time.Now()
		_, _, err := tool(t.Context(), args...)
		if err == nil || !strings.Contains(err.Error(), "reading the kubeconfig") || time.Since(start) > 2*time.Second {
			t.Errorf("%+v: got %v after %s", tc, err, time.Since(start))
		}
	}
}

func TestWaitForNetwork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, tc := range []struct{ args, want string }{
		{"wait-for http " + address, ""},
		{"wait-for http " + address + " success", ""},
		{"wait-for http " + address + " 202", ""},
		{"wait-for tcp " + address, ""},
		{"wait-for network http " + address + " 202", ""},
		{"wait-for network http " + address + " 200 --timeout 300ms", "it answers 202"},
		{"wait-for network http " + address + " soon", "neither a status code"},
		{"wait-for http", "address is missing"},
	} {
		_, _, err := tool(t.Context(), strings.Fields(tc.args)...)
		if fmt.Sprint(err) != "<nil>" && tc.want == "" || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", tc.args, err, tc.want)
		}
	}
}

func TestWithoutGlobals(t *testing.T) {
	ours := pflag.NewFlagSet("ours", pflag.ContinueOnError)
	ours.StringP("log-level", "l", "", "")
	ours.Bool("no-color", false, "")
	ours.String("context", "", "")
	theirs := cmd.NewKubectlCommand(cmd.KubectlOptions{}).PersistentFlags()
	for in, want := range map[string]string{
		"get pods -l a=b":                         "get pods -l a=b",
		"-l debug get pods -l a=b":                "get pods -l a=b",
		"-ldebug get":                             "get",
		"--log-level=debug --no-color get":        "get",
		"--log-level debug --context c -n ns get": "--context c -n ns get",
		"--context=c get --no-color":              "--context=c get --no-color",
		"-- get":                                  "-- get",
		"-l":                                      "",
		"--unknown get":                           "--unknown get",
		"":                                        "",
	} {
		got := strings.Join(withoutGlobals(strings.Fields(in), ours, theirs), " ")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}
