package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/template"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a Sink and a Waiter that remembers.
type recorder struct {
	mu     sync.Mutex
	events []event.Event
	waits  []string
	block  bool
	err    error
}

func (r *recorder) Emit(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) WaitFor(ctx context.Context, kind, name, namespace, condition string) error {
	return r.wait(ctx, fmt.Sprintf("%s|%s|%s|%s", kind, name, namespace, condition))
}

func (r *recorder) WaitForNetwork(ctx context.Context, protocol, address string, code int) error {
	return r.wait(ctx, fmt.Sprintf("%s|%s|%d", protocol, address, code))
}

func (r *recorder) wait(ctx context.Context, what string) error {
	r.waits = append(r.waits, what)
	if r.block {
		<-ctx.Done()
		return ctx.Err()
	}
	return r.err
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out strings.Builder
	for _, e := range r.events {
		if e.Level > event.Debug {
			fmt.Fprintln(&out, e.Message)
		}
	}
	return out.String()
}

func variablesOf(t *testing.T, pkg spec.Package, set map[string]string) *template.Variables {
	t.Helper()
	v, err := template.Resolve(pkg, set)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newRunner(t *testing.T, v *template.Variables) (*Runner, *recorder) {
	t.Helper()
	rec := &recorder{}
	return &Runner{Variables: v, Waiter: rec, Sink: rec, Values: map[string]any{}, Dir: t.TempDir()}, rec
}

func p[T any](v T) *T { return &v }

// run executes one action and returns what it made the variable OUT.
func run(t *testing.T, r *Runner, defaults spec.ActionDefaults, a spec.Action) (string, error) {
	t.Helper()
	a.SetVariables = append(a.SetVariables, spec.Variable{Name: "OUT"})
	err := r.Run(t.Context(), "web", defaults, []spec.Action{a})
	out, _ := r.Variables.(*template.Variables).Value("OUT")
	return out, err
}

// Each field of an action and of its defaults has its effect (G11).
func TestG11EachField(t *testing.T) {
	for _, tc := range []struct {
		name     string
		defaults spec.ActionDefaults
		action   spec.Action
		want     string
	}{
		{name: "cmd, trimmed", action: spec.Action{Cmd: "echo; echo ' a b '; echo"}, want: "a b"},
		{name: "cmd sees variables", action: spec.Action{Cmd: `echo "$ZARF_VAR_DOMAIN $ZARF_CONST_C $TF_VAR_domain"`}, want: "example.com constant example.com"},
		{name: "cmd is not a text template", action: spec.Action{Cmd: `echo '###ZARF_VAR_DOMAIN###'`}, want: "###ZARF_VAR_DOMAIN###"},
		{name: "env", action: spec.Action{Env: []string{"A=1"}, Cmd: `echo $A`}, want: "1"},
		{name: "env adds to the defaults", defaults: spec.ActionDefaults{Env: []string{"A=1", "B=1"}}, action: spec.Action{Env: []string{"B=2"}, Cmd: `echo $A$B`}, want: "12"},
		{name: "variables win over env", action: spec.Action{Env: []string{"ZARF_VAR_DOMAIN=x"}, Cmd: `echo $ZARF_VAR_DOMAIN`}, want: "example.com"},
		{name: "dir", action: spec.Action{Dir: p("sub"), Cmd: `basename "$PWD"`}, want: "sub"},
		{name: "default dir", defaults: spec.ActionDefaults{Dir: "sub"}, action: spec.Action{Cmd: `basename "$PWD"`}, want: "sub"},
		{name: "dir over default", defaults: spec.ActionDefaults{Dir: "nope"}, action: spec.Action{Dir: p("sub"), Cmd: `basename "$PWD"`}, want: "sub"},
		{name: "shell", action: spec.Action{Shell: &spec.Shell{Linux: "bash", Darwin: "bash"}, Cmd: `a=(x y); echo ${a[1]}`}, want: "y"},
		{name: "default shell", defaults: spec.ActionDefaults{Shell: spec.Shell{Linux: "bash", Darwin: "bash"}}, action: spec.Action{Cmd: `a=(x y); echo ${a[1]}`}, want: "y"},
		{name: "stderr is not output", action: spec.Action{Cmd: `echo no >&2; echo yes`}, want: "yes"},
		{name: "retries", action: spec.Action{MaxRetries: p(2), Cmd: `echo x >> tries; test $(wc -l < tries) -eq 3; echo third`}, want: "third"},
		{name: "default retries", defaults: spec.ActionDefaults{MaxRetries: 1}, action: spec.Action{Cmd: `echo x >> tries; test $(wc -l < tries) -eq 2; echo second`}, want: "second"},
		{name: "time limit leaves room", action: spec.Action{MaxTotalSeconds: p(30), Cmd: `echo in time`}, want: "in time"},
		{name: "own limit over default", defaults: spec.ActionDefaults{MaxTotalSeconds: 1}, action: spec.Action{MaxTotalSeconds: p(0), Cmd: `sleep 1.2; echo late`}, want: "late"},
		{name: "empty command", action: spec.Action{}, want: ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := variablesOf(t, spec.Package{Constants: []spec.Constant{{Name: "C", Value: "constant"}}}, map[string]string{"DOMAIN": "example.com"})
			r, _ := newRunner(t, v)
			if err := os.Mkdir(filepath.Join(r.Dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			got, err := run(t, r, tc.defaults, tc.action)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		action spec.Action
		want   string
	}{
		{"exit code and stderr", spec.Action{Cmd: "echo why >&2; exit 3"}, "the command ended with exit code 3: why"},
		{"sh -e", spec.Action{Cmd: "false; echo on"}, "exit code 1"},
		{"retries used up", spec.Action{Cmd: "exit 4", MaxRetries: p(2)}, "all 3 tries failed, the last one with: the command ended with exit code 4"},
		{"time limit", spec.Action{Cmd: "sleep 30", MaxTotalSeconds: p(1)}, "longer than its maxTotalSeconds of 1"},
		{"signal", spec.Action{Cmd: "kill -9 $$"}, "signal: killed"},
		{"no such shell", spec.Action{Cmd: "true", Shell: &spec.Shell{Linux: "no-such-shell", Darwin: "no-such-shell"}}, "starting the shell"},
		{"no such dir", spec.Action{Cmd: "true", Dir: p("nope")}, `its dir "nope" is not a folder`},
		{"pattern", spec.Action{Description: "set", Cmd: "echo hunter2", SetVariables: []spec.Variable{{Name: "X", Pattern: "^[0-9]+$"}}}, `variable "X": its value does not match`},
		{"description names it", spec.Action{Cmd: "exit 1", Description: "the name"}, `running action 1 of 1, "the name"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := newRunner(t, template.New())
			_, err := run(t, r, spec.ActionDefaults{}, tc.action)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q in it", err, tc.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %q shows the value", err)
			}
		})
	}
}

func TestRunStopsAtTheFirstFailure(t *testing.T) {
	r, _ := newRunner(t, template.New())
	err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{{Cmd: "touch one"}, {Cmd: "false"}, {Cmd: "touch three"}})
	if err == nil || !strings.Contains(err.Error(), "action 2 of 3") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "three")); err == nil {
		t.Error("the action after the failure ran")
	}
}

func TestOutputGoesToTheSink(t *testing.T) {
	r, rec := newRunner(t, template.New())
	err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{{Description: "say", Cmd: `printf 'one\r\ntwo\nthree'; echo err >&2`}})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`"say"`, "one", "two", "three", "err"} {
		if !strings.Contains("\n"+rec.text(), "\n"+line+"\n") {
			t.Errorf("line %q is missing in:\n%s", line, rec.text())
		}
	}
	if e := rec.events[0]; e.Component != "web" || e.Step != "action" {
		t.Errorf("event %+v", e)
	}
}

func TestMute(t *testing.T) {
	r, rec := newRunner(t, template.New())
	err := r.Run(t.Context(), "web", spec.ActionDefaults{Mute: true}, []spec.Action{
		{Description: "muted by default", Cmd: `echo secret-a; echo secret-b >&2`},
		{Description: "loud", Mute: p(false), Cmd: `echo loud-one`},
		{Description: "failing", Cmd: `echo secret-c >&2; exit 1`},
	})
	if err == nil || strings.Contains(err.Error(), "secret-c") {
		t.Errorf("error %v", err)
	}
	if text := rec.text(); strings.Contains(text, "secret") || !strings.Contains(text, "loud-one") {
		t.Errorf("events:\n%s", text)
	}
}

func TestSensitiveValuesNeverLeave(t *testing.T) {
	const secret = "s3cr3t-value"
	v := variablesOf(t, spec.Package{Variables: []spec.InteractiveVariable{{Variable: spec.Variable{Name: "PASSWORD", Sensitive: true}}}},
		map[string]string{"PASSWORD": secret})
	r, rec := newRunner(t, v)
	rec.err = fmt.Errorf("cannot reach %s", secret)
	for _, a := range []spec.Action{
		{Description: "with " + secret, Cmd: `echo "it is $ZARF_VAR_PASSWORD"`},
		{Cmd: `echo "it is $ZARF_VAR_PASSWORD" >&2; exit 1`},
		{Cmd: "true " + secret + "; exit 1", MaxRetries: p(1)},
		{Cmd: "echo f00-generated; echo f00-generated >&2; exit 1", Description: "generate", SetVariables: []spec.Variable{{Name: "NEW", Sensitive: true}}},
		{Wait: &spec.ActionWait{Network: &spec.WaitNetwork{Protocol: "http", Address: "host/${ZARF_VAR_PASSWORD}"}}},
	} {
		if err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{a}); err != nil {
			rec.Emit(event.Event{Level: event.Warn, Message: err.Error()})
		}
	}
	if text := rec.text(); strings.Contains(text, secret) || strings.Contains(text, "f00") {
		t.Errorf("a secret left:\n%s", text)
	}
	if want := "http|host/" + secret + "|200"; len(rec.waits) != 1 || rec.waits[0] != want {
		t.Errorf("the wait got %q, want %q", rec.waits, want)
	}
}

func TestSetVariablesAndValues(t *testing.T) {
	r, _ := newRunner(t, template.New())
	err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{
		{Cmd: "echo old", SetVariable: "SINGLE"},
		{Cmd: "echo both", SetVariables: []spec.Variable{{Name: "ONE"}, {Name: "two"}}},
		{Cmd: `echo $ZARF_VAR_ONE-$ZARF_VAR_TWO-$ZARF_VAR_SINGLE`, SetValues: []spec.SetValue{{Key: ".web.text"}}},
		{Cmd: `echo '{"big": 9007199254740993}'`, SetValues: []spec.SetValue{{Key: "web.json", Type: "json"}}},
		{Cmd: `printf 'list: [1, two]'`, SetValues: []spec.SetValue{{Key: "web.yaml", Type: "yaml"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(r.Values)
	if want := "map[web:map[json:map[big:9007199254740993] text:both-both-old yaml:map[list:[1 two]]]]"; got != want {
		t.Errorf("values %s, want %s", got, want)
	}
	for _, a := range []spec.Action{
		{Cmd: "echo '{'", SetValues: []spec.SetValue{{Key: "a", Type: "json"}}},
		{Cmd: "echo 'a: [s3cret'", SetValues: []spec.SetValue{{Key: "a", Type: "yaml"}}},
		{Cmd: "echo 1", SetValues: []spec.SetValue{{Key: "a", Type: "toml"}}},
		{Cmd: "echo 1", SetValues: []spec.SetValue{{Key: "web.text.deeper"}}},
		{Cmd: "echo 1", SetValues: []spec.SetValue{{Key: "a..b"}}},
		{Cmd: "echo 1", SetValues: []spec.SetValue{{Key: "."}}},
		{Cmd: "head -c 5000000 /dev/zero", SetVariables: []spec.Variable{{Name: "HUGE"}}},
	} {
		a.Description = "bad"
		if err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{a}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s with %+v: error %v", a.Cmd, a.SetValues, err)
		}
	}
}

// Every field of a wait is filled (G11).
func TestG11WaitFields(t *testing.T) {
	v := variablesOf(t, spec.Package{}, map[string]string{"KIND": "Deployment", "NAME": "web", "NS": "team", "COND": "Available", "PROTO": "HTTPS", "ADDR": "example.com"})
	r, rec := newRunner(t, v)
	wait := func(c spec.WaitCluster) spec.Action { return spec.Action{Wait: &spec.ActionWait{Cluster: &c}} }
	network := func(n spec.WaitNetwork) spec.Action { return spec.Action{Wait: &spec.ActionWait{Network: &n}} }
	err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{
		wait(spec.WaitCluster{Kind: "${ZARF_VAR_KIND}", Name: "$ZARF_VAR_NAME-x", Namespace: "${ZARF_VAR_NS}", Condition: "$ZARF_VAR_COND"}),
		wait(spec.WaitCluster{Kind: "Pod", Name: "app=${ZARF_VAR_NAME}"}),
		network(spec.WaitNetwork{Protocol: "$ZARF_VAR_PROTO", Address: "${ZARF_VAR_ADDR}:443/x"}),
		network(spec.WaitNetwork{Protocol: "http", Address: "a", Code: 404}),
		network(spec.WaitNetwork{Protocol: "tcp", Address: "a:1"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Deployment|web-x|team|Available", "Pod|app=web||exists", "https|example.com:443/x|200", "http|a|404", "tcp|a:1|0"}
	if diff := cmp.Diff(want, rec.waits); diff != "" {
		t.Error(diff)
	}
}

func TestWaitLimit(t *testing.T) {
	r, rec := newRunner(t, template.New())
	rec.block = true
	a := spec.Action{MaxTotalSeconds: p(1), Wait: &spec.ActionWait{Network: &spec.WaitNetwork{Protocol: "tcp", Address: "a:1"}}}
	err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{a})
	var timeout *TimeoutError
	if !errors.As(err, &timeout) || timeout.After != time.Second {
		t.Errorf("got %v", err)
	}
}

// A cancelled wait ends at once (H5).
func TestH5CancelEndsAWait(t *testing.T) {
	r, rec := newRunner(t, template.New())
	rec.block = true
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	err := r.Run(ctx, "web", spec.ActionDefaults{}, []spec.Action{{Wait: &spec.ActionWait{Cluster: &spec.WaitCluster{Kind: "Pod", Name: "x"}}}})
	if !errors.Is(err, context.Canceled) || time.Since(start) > 2*time.Second {
		t.Errorf("got %v after %s", err, time.Since(start))
	}
}

// Cancelling ends the command with all its children, also those that ignore the request.
func TestCancelEndsTheWholeGroup(t *testing.T) {
	for _, tc := range []struct{ name, cmd string }{
		{"obedient", `sleep 60 & echo $! > child; echo $$ > self; wait`},
		{"stubborn", `trap '' TERM; sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 0.1; done' & echo $$ > self; wait; sleep 60`},
		{"only the child is stubborn", `sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 0.1; done' & echo $$ > self; wait`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := newRunner(t, template.New())
			r.Grace = 300 * time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for i := 0; i < 100 && (pidIn(r.Dir, "child") == 0 || pidIn(r.Dir, "self") == 0); i++ {
					time.Sleep(20 * time.Millisecond)
				}
				cancel()
			}()
			start := time.Now()
			err := r.Run(ctx, "web", spec.ActionDefaults{MaxRetries: 3}, []spec.Action{{Cmd: tc.cmd}})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("it took %s", took)
			}
			for _, name := range []string{"child", "self"} {
				pid := pidIn(r.Dir, name)
				if pid == 0 {
					t.Fatalf("the test lost track of %s", name)
				}
				if running(pid) {
					t.Errorf("%s, process %d, still runs", name, pid)
				}
			}
		})
	}
}

func pidIn(dir, name string) int {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// running reports whether a process does anything; one that only waits to be reaped does not.
func running(pid int) bool {
	for range 25 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return syscall.Kill(pid, 0) == nil && !os.IsNotExist(err)
		}
		if _, after, ok := strings.Cut(string(stat), ") "); !ok || after[0] == 'Z' || after[0] == 'X' {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

// A process that a command leaves in the background must not hold up the deployment.
func TestBackgroundProcessDoesNotBlock(t *testing.T) {
	r, _ := newRunner(t, template.New())
	start := time.Now()
	got, err := run(t, r, spec.ActionDefaults{}, spec.Action{Cmd: `sleep 30 & echo $!`})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	pid, err := strconv.Atoi(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the background process was ended too: %v", err)
	}
}

func TestCancelledContextRunsNothing(t *testing.T) {
	r, rec := newRunner(t, template.New())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx, "web", spec.ActionDefaults{}, []spec.Action{{Cmd: "touch ran"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(rec.events) > 0 {
		t.Errorf("events %v", rec.events)
	}
}

func TestSelfIsCalled(t *testing.T) {
	r, _ := newRunner(t, template.New())
	r.Self = filepath.Join(t.TempDir(), "a program's name")
	if err := os.WriteFile(r.Self, []byte("#!/bin/sh\necho called with \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := run(t, r, spec.ActionDefaults{}, spec.Action{Cmd: `x=$(./zarf tools kubectl get ns); echo "$x"`})
	if err != nil || got != "called with tools kubectl get ns" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOverlongLineIsNotShown(t *testing.T) {
	r, rec := newRunner(t, template.New())
	err := r.Run(t.Context(), "web", spec.ActionDefaults{}, []spec.Action{{Description: "long", Cmd: `head -c 100000 /dev/zero | tr '\0' x; echo; echo next`}})
	if err != nil {
		t.Fatal(err)
	}
	if text := rec.text(); strings.Contains(text, "xxx") || !strings.Contains(text, "more than 64 KiB is not shown)\nnext\n") {
		t.Errorf("events:\n%.300s", text)
	}
}
