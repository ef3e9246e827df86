package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
)

// The commands of scripts beside those of testscript:
//
//	cluster                    uses the control plane, with a namespace $NS and a package name $PKG
//	                           that nobody else has; skips the script with -short
//	exclusive NAME [NS…]       holds the name of a shared package until the script ends, with its namespaces
//	zarf-left SAMPLE           makes the cluster what Zarf left it, from samples/after-zarf
//	zarf-writes NAME COMPONENT…  rewrites a record as a deployment of Zarf's of those components leaves it
//	package [flags] DIR        packs a folder as DIR.tar.zst; @NS@, @PKG@ and @WORK@ in its files are filled in
//	guest NAME [METADATA FILE]  builds a guest of host/internal/guests or guests.Failing as NAME.wasm, or with other metadata as FILE
//	exits CODE PROGRAM ARG…    runs a program that must end with that exit code
//	interrupt TEXT PROGRAM ARG…  sends SIGINT when stderr says TEXT; the program must exit 130 within 12 s
//	killed TEXT PROGRAM ARG…   kills the program, as nothing can stop, when stderr says TEXT
//	kubectl ARG…               kubectl, as the administrator and past any proxy
//	apply FILE                 kubectl apply of a file, @NS@, @PKG@ and @WORK@ filled in
//	release NS NAME FILE       installs manifests as a Helm release of no package's
//	record [-own] NAME [NS]    prints the record of a package
//	proxy                      puts a fault proxy between zarf-host and the API server
//	fault STATUS METHOD PATH [TIMES]  makes the proxy answer requests whose path matches
//	writes N                   the proxy saw N changes since it was started or asked last
//	registry [-login|-stop]    starts a registry of the script's own, $REGISTRY, or stops it
//	layout [-index] LAYOUT FILE REPOSITORY TAG  pushes a plugin there in a layout of another tool's
//	sign-file KEY PASSWORD FILE  signs a file as cosign sign-blob does, into FILE.sigstore.json
//	publish PACKAGE            publishes a package in it, as $REF
//	normal stdout|stderr|FILE  prints it with names, digests and times that differ from run to run replaced
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"cluster":     scriptCluster,
		"exclusive":   scriptExclusive,
		"zarf-left":   scriptZarfLeft,
		"zarf-writes": scriptZarfWrites,
		"package":     scriptPackage,
		"guest":       scriptGuest,
		"exits":       scriptExits,
		"interrupt":   scriptInterrupt,
		"killed":      scriptKilled,
		"kubectl":     scriptKubectl,
		"apply":       scriptApply,
		"record":      scriptRecord,
		"release":     scriptRelease,
		"proxy":       scriptProxy,
		"fault":       scriptFault,
		"writes":      scriptWrites,
		"normal":      scriptNormal,
		"registry":    scriptRegistry,
		"publish":     scriptPublish,
		"layout":      scriptLayout,
		"sign-file":   scriptSignFile,
	}
}

// scriptState is what the commands of one script share.
type scriptState struct {
	t        testing.TB
	cluster  *testcluster.Cluster
	registry *testregistry.Registry
	proxy    *faultproxy.Proxy
	seen     int // changes that `writes` asked about already
}

type stateKey struct{}

func stateOf(ts *testscript.TestScript) *scriptState {
	return ts.Value(stateKey{}).(*scriptState)
}

func setup(env *testscript.Env, root string) error {
	t := env.T().(testing.TB)
	env.Values[stateKey{}] = &scriptState{t: t}
	shared := filepath.Join(root, "..", "shared")
	if _, err := os.Stat(shared); err != nil {
		return fmt.Errorf("finding the shared folder beside the repository: %w", err)
	}
	cache, err := os.UserCacheDir() // compiled plugins are cached for the user, as in real life
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_CACHE_HOME", cache)
	env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
	env.Setenv("SHARED", shared)
	env.Setenv("ROOT", root)
	env.Setenv("GUARD", filepath.Join(root, "bin", "plugins", "guard.wasm"))
	return nil
}

// repository is the folder of the go.mod above the tests.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no go.mod above the tests")
		}
		dir = parent
	}
}

func scriptCluster(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "cluster")
	s := stateOf(ts)
	s.cluster = testcluster.Shared(s.t)
	ns := s.cluster.Namespace(s.t)
	name := "pkg" + strings.TrimPrefix(ns, "test")
	s.t.Cleanup(func() { // the record lives in the namespace of all records
		secrets := s.cluster.Client().CoreV1().Secrets("zarf")
		_ = secrets.Delete(context.Background(), "zarf-package-"+name, meta.DeleteOptions{}) // the script may have removed it
	})
	ts.Setenv("NS", ns)
	ts.Setenv("PKG", name)
	ts.Setenv("KUBECONFIG", s.cluster.Kubeconfig())
}

// needCluster returns the script's control plane.
func needCluster(ts *testscript.TestScript) *scriptState {
	s := stateOf(ts)
	if s.cluster == nil {
		ts.Fatalf("the script must say `cluster` first")
	}
	return s
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 1, "exits CODE PROGRAM ARG…")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCodeOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func exitCodeOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if exit != nil {
		return exit.ExitCode()
	}
	return 0
}

// reachLimit is how long a program may take to say what a signal waits for.
const reachLimit = time.Minute

// interruptLimit is what SPEC 2 gives a cancelled operation, and a little for a busy machine.
const interruptLimit = 12 * time.Second

func scriptInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 1, "interrupt TEXT PROGRAM ARG…")
	if code := exitCodeOf(ts, endWith(ts, syscall.SIGINT, args)); code != 130 {
		ts.Fatalf("exit code %d, want 130", code)
	}
}

func scriptKilled(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 1, "killed TEXT PROGRAM ARG…")
	_ = endWith(ts, syscall.SIGKILL, args) // how it ended is known
}

// endWith runs a program and sends it a signal when its stderr matches the first argument.
func endWith(ts *testscript.TestScript, signal syscall.Signal, args []string) error {
	when, err := regexp.Compile(args[0])
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "KUBECONFIG", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	said := &watched{until: when, reached: make(chan struct{})}
	cmd.Stderr, cmd.Stdout = said, ts.Stdout()
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-said.reached:
	case <-time.After(reachLimit):
		_ = cmd.Process.Kill()
		<-ended
		ts.Fatalf("it did not say %q within %v:\n%s", args[0], reachLimit, said.text.String())
	case err := <-ended:
		ts.Fatalf("it ended (%v) before it said %q:\n%s", err, args[0], said.text.String())
	}
	ts.Check(cmd.Process.Signal(signal))
	start := time.Now()
	select {
	case err = <-ended:
	case <-time.After(interruptLimit):
		_ = cmd.Process.Kill()
		<-ended
		ts.Fatalf("still at work %v after the signal:\n%s", interruptLimit, said.text.String())
	}
	ts.Logf("it ended %v after the signal", time.Since(start))
	_, _ = ts.Stderr().Write(said.text.Bytes())
	return err
}

// watched collects what is written until a text is reached, and after. Only one goroutine writes;
// the text is read when the writing has ended.
type watched struct {
	text    bytes.Buffer
	until   *regexp.Regexp
	reached chan struct{}
	done    bool
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	if !w.done && w.until.Match(w.text.Bytes()) {
		w.done = true
		close(w.reached)
	}
	return n, err
}

func scriptKubectl(ts *testscript.TestScript, neg bool, args []string) {
	s := needCluster(ts)
	args = append([]string{"kubectl", "--kubeconfig", s.cluster.Kubeconfig()}, args...)
	err := ts.Exec(filepath.Join(ts.Getenv("ROOT"), "bin", "devcluster"), args...)
	if failed := exitCodeOf(ts, err) != 0; failed != neg {
		ts.Fatalf("kubectl failed: %v, want %v", failed, neg)
	}
}

func scriptApply(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "apply FILE")
	file := ts.MkAbs(args[0])
	text, err := os.ReadFile(file)
	ts.Check(err)
	filled := filepath.Join(ts.Getenv("TMPDIR"), "applied.yaml")
	ts.Check(os.WriteFile(filled, []byte(fillNames(ts, string(text))), 0o600))
	scriptKubectl(ts, false, []string{"apply", "--server-side", "-f", filled})
}

func scriptRecord(ts *testscript.TestScript, neg bool, args []string) {
	key := "data"
	if len(args) > 0 && args[0] == "-own" {
		key, args = "zarf-host", args[1:]
	}
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: record [-own] NAME [NAMESPACE]")
	}
	s, name := needCluster(ts), "zarf-package-"+args[0]
	if len(args) == 2 {
		name += "-override-" + args[1]
	}
	secret, err := s.cluster.Client().CoreV1().Secrets("zarf").Get(s.t.Context(), name, meta.GetOptions{})
	if neg {
		if err == nil {
			ts.Fatalf("there is a record %q", name)
		}
		return
	}
	ts.Check(err)
	var out bytes.Buffer
	ts.Check(json.Indent(&out, secret.Data[key], "", "  "))
	_, err = fmt.Fprintln(ts.Stdout(), out.String())
	ts.Check(err)
}

func scriptProxy(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "proxy")
	s := needCluster(ts)
	proxy, kubeconfig := s.cluster.Proxy(s.t)
	s.proxy, s.seen = proxy, 0
	ts.Setenv("KUBECONFIG", kubeconfig)
}

func scriptFault(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 3 || len(args) == 4, "fault STATUS METHOD PATH [TIMES]")
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := regexp.Compile(args[2])
	ts.Check(err)
	times := 1
	if len(args) == 4 {
		times, err = strconv.Atoi(args[3])
		ts.Check(err)
	}
	stateOf(ts).proxy.Inject(faultproxy.Rule{
		Match: func(r faultproxy.Request) bool { return r.Method == args[1] && path.MatchString(r.Path) },
		Reads: args[1] == "GET", Times: times, Fault: faultproxy.Status(status),
	})
}

func scriptWrites(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "writes N")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := stateOf(ts)
	requests := s.proxy.Requests()
	now := requests[s.seen:]
	s.seen = len(requests)
	if len(now) != want {
		var list strings.Builder
		for _, r := range now {
			fmt.Fprintf(&list, "  %s %s?%s\n", r.Method, r.Path, r.Query)
		}
		ts.Fatalf("%d changes, want %d:\n%s", len(now), want, list.String())
	}
}

// usage ends the script when a command was written wrongly.
func usage(ts *testscript.TestScript, neg, ok bool, text string) {
	if neg || !ok {
		ts.Fatalf("usage: %s", text)
	}
}

// fillNames puts the names of a script into a text.
func fillNames(ts *testscript.TestScript, text string) string {
	return strings.NewReplacer("@NS@", ts.Getenv("NS"), "@PKG@", ts.Getenv("PKG"), "@WORK@", ts.Getenv("WORK")).Replace(text)
}

// readTree reads the files below a folder, by path, with the names of the script filled in.
func readTree(ts *testscript.TestScript, dir string) map[string]string {
	files := map[string]string{}
	tree := os.DirFS(dir)
	ts.Check(fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		files[name] = fillNames(ts, string(data))
		return err
	}))
	return files
}
