package airgap_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/apply"
	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/state"
)

// TestPruneRefused: a registry that deletes no tags deletes by digest, if nothing else has it; one that
// deletes nothing keeps everything. Neither fails a deployment, and what stays is on record.
func TestPruneRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts testregistry.Options
		code int // what a proxy answers to a deletion by tag
	}{
		{"405 by tag", testregistry.Options{NoUntag: true}, 0},
		{"400 by tag", testregistry.Options{}, http.StatusBadRequest},
		{"no deletes", testregistry.Options{NoDelete: true}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testregistry.Start(t, tt.opts)
			s := newSite(t)
			address := r.Address()
			if tt.code != 0 {
				proxy := r.Proxy(t)
				proxy.Inject(faultproxy.Rule{Fault: faultproxy.Status(tt.code), Times: -1, Match: func(q faultproxy.Request) bool {
					return q.Method == http.MethodDelete && !strings.Contains(q.Path, "sha256:")
				}})
				address = strings.TrimPrefix(proxy.URL(), "http://")
			}
			s.init(address, "u", "p")
			s.mustDeploy(images(t, "shop", "1.0.0", "web x:1 y:1"))
			copyTag(t, r, "y", "1", "y", "mine")
			result := s.mustDeploy(images(t, "shop", "2.0.0", "web z:1"), pruneImages)
			done := outcomes(result.Applied, address)
			want := map[string]apply.ImageOutcome{"x:1": apply.ImageDeleted, "y:1": apply.ImageKept}
			left := "y:1=1.0.0 z:1=2.0.0"
			if tt.opts.NoDelete {
				want["x:1"] = apply.ImageKept
				left = "x:1=1.0.0 " + left
			}
			for name, outcome := range want {
				if done[name] != outcome {
					t.Errorf("%s: %s, want %s", name, done[name], outcome)
				}
				repository, tag, _ := strings.Cut(name, ":")
				if there := r.Digest(t, repository, tag) != ""; there != (outcome == apply.ImageKept) {
					t.Errorf("%s is there: %v", name, there)
				}
			}
			if r.Digest(t, "y", "mine") == "" {
				t.Error("a foreign tag went")
			}
			if got := s.pushed("shop", address); got != left {
				t.Errorf("on record: %s, want %s", got, left)
			}
			if !s.saw("stays: the registry does not delete") {
				t.Error("nobody said why something stays")
			}
			if _, err := s.removeWith("shop"); err != nil || s.recorded("shop") {
				t.Errorf("what cannot be deleted keeps the package from going: %v", err)
			}
		})
	}
}

// TestD2OneOfTen: one image is gone already and one cannot be deleted. The others go, the result says
// so, and the next prune finds what is left.
func TestD2OneOfTen(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	address := strings.TrimPrefix(proxy.URL(), "http://")
	s := newSite(t)
	s.common.Retries = 1
	s.init(address, "u", "p")
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprintf("i%d:1", i))
	}
	s.mustDeploy(images(t, "shop", "1.0.0", "web "+strings.Join(ten, " ")))
	if status := request(t, http.MethodDelete, r.URL()+"/v2/i3/manifests/"+r.Digest(t, "i3", "1"), "", nil); status != http.StatusAccepted {
		t.Fatalf("deleting an image by hand: %d", status)
	}
	v2 := images(t, "shop", "2.0.0", "web")
	for _, fault := range []struct {
		method string
		fault  faultproxy.Fault
	}{
		{http.MethodDelete, faultproxy.Status(http.StatusInternalServerError)},
		{http.MethodDelete, faultproxy.Status(http.StatusForbidden)},
		{http.MethodHead, faultproxy.Status(http.StatusInternalServerError)},
	} {
		proxy.Reset()
		proxy.Inject(faultproxy.Rule{Fault: fault.fault, Times: -1, Match: func(q faultproxy.Request) bool {
			return q.Method == fault.method && q.Path == "/v2/i7/manifests/1"
		}})
		result, err := s.deploy(v2, pruneImages)
		var failed *apply.ImagesError
		if !errors.As(err, &failed) || len(failed.Failed) != 1 || !strings.Contains(err.Error(), "i7:1") {
			t.Fatalf("%s %v: %v", fault.method, fault.fault, err)
		}
		if result.Applied.Outcome != state.Failed || outcomes(result.Applied, address)["i7:1"] != apply.ImageFailed {
			t.Errorf("%s %v: the result is %s, %v", fault.method, fault.fault, result.Applied.Outcome, outcomes(result.Applied, address))
		}
		for i := range 10 {
			if there := r.Digest(t, fmt.Sprintf("i%d", i), "1") != ""; there != (i == 7) {
				t.Errorf("%s %v: i%d is there: %v", fault.method, fault.fault, i, there)
			}
		}
		if got := s.pushed("shop", address); got != "i7:1=1.0.0" {
			t.Errorf("%s %v: on record: %s", fault.method, fault.fault, got)
		}
	}
	// A removal goes as far as it can, and keeps the record for the rest.
	proxy.Reset()
	proxy.Inject(faultproxy.Rule{Fault: faultproxy.Status(http.StatusInternalServerError), Times: -1, Match: func(q faultproxy.Request) bool {
		return q.Method == http.MethodDelete
	}})
	if _, err := s.removeWith("shop"); err == nil || !s.recorded("shop") {
		t.Fatalf("the record went before the images: %v", err)
	}
	proxy.Reset()
	if _, err := s.removeWith("shop"); err != nil || s.recorded("shop") || len(r.Tags(t)) > 0 {
		t.Errorf("the repeat: %v, the registry has %v", err, r.Tags(t))
	}
}

// TestPruneUnreachable: where the registry does not answer, nothing is tried for each of ten images.
func TestPruneUnreachable(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{})
	proxy := r.Proxy(t)
	s := newSite(t)
	s.common.Retries = 1
	s.init(strings.TrimPrefix(proxy.URL(), "http://"), "u", "p")
	s.mustDeploy(images(t, "shop", "1.0.0", "web a:1 b:1 c:1"))
	proxy.Reset()
	proxy.Inject(faultproxy.Rule{Fault: faultproxy.Reset(), Times: -1, Match: func(q faultproxy.Request) bool { return q.Method == http.MethodDelete }})
	_, err := s.deploy(images(t, "shop", "2.0.0", "web"), pruneImages)
	var failed *apply.ImagesError
	if !errors.As(err, &failed) || len(failed.Failed) != 6 {
		t.Fatalf("got %v", err)
	}
	tried := 0
	for _, q := range proxy.Requests() {
		if q.Method == http.MethodDelete {
			tried++
		}
	}
	if tried > 2*(1+s.common.Retries) { // a client sends a request again whose connection was reset
		t.Errorf("%d deletions were tried", tried)
	}
	if len(s.own("shop").Pushed) != 6 {
		t.Errorf("on record: %v", s.own("shop").Pushed)
	}
}

// TestPruneKilled kills a run when it has applied everything and begins to delete: the next one, a
// deployment or a removal, finishes. Zarf's own deployment before leaves no list of what it pushed, so
// that it has to be on record by then.
func TestPruneKilled(t *testing.T) {
	program := filepath.Join(t.TempDir(), "zarf-host")
	build := exec.Command("go", "build", "-o", program, "./cmd/zarf-host")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	v1 := images(t, "shop", "1.0.0", "web x:1 y:1")
	v2 := images(t, "shop", "2.0.0", "web y:1 z:1")
	for _, tt := range []struct {
		name    string
		byZarf  bool
		args    []string
		finish  func(s *site) error
		want    string
		records bool
	}{
		{
			"deploy, then deploy", false, []string{"deploy", v2, "--prune=images"},
			func(s *site) error { _, err := s.deploy(v2, pruneImages); return err }, "y:1 z:1", true,
		},
		{
			"deploy over Zarf's, then deploy", true, []string{"deploy", v2, "--prune=images"},
			func(s *site) error { _, err := s.deploy(v2, pruneImages); return err }, "y:1 z:1", true,
		},
		{
			"deploy, then remove", false, []string{"deploy", v2, "--prune=images"},
			func(s *site) error { _, err := s.removeWith("shop"); return err }, "", false,
		},
		{
			"remove, then remove", false, []string{"remove", "shop", "--prune=images"},
			func(s *site) error { _, err := s.removeWith("shop"); return err }, "", false,
		},
		{
			"remove Zarf's, then remove", true, []string{"remove", "shop", "--prune=images"},
			func(s *site) error { _, err := s.removeWith("shop"); return err }, "", false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testregistry.Start(t, testregistry.Options{})
			proxy := r.Proxy(t)
			s := newSite(t)
			s.init(strings.TrimPrefix(proxy.URL(), "http://"), "u", "p")
			s.mustDeploy(v1)
			if tt.byZarf {
				s.zarfWrote("shop")
			}
			run := exec.Command(program, append(tt.args, "--confirm")...)
			run.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "HOME="+t.TempDir())
			proxy.Inject(faultproxy.Rule{Fault: faultproxy.Reset(), Match: func(q faultproxy.Request) bool { return q.Method == http.MethodDelete },
				Before: func(faultproxy.Request) { _ = run.Process.Kill() }})
			out, err := run.CombinedOutput()
			if run.ProcessState.ExitCode() != -1 {
				t.Fatalf("it was not killed: %v\n%s", err, out)
			}
			proxy.Reset()
			if got := named(t, r); !strings.Contains(got, "x:1") || !s.recorded("shop") {
				t.Fatalf("the registry has %s, recorded: %v\n%s", got, s.recorded("shop"), out)
			}
			if err := tt.finish(s); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := named(t, r); got != tt.want || s.recorded("shop") != tt.records {
				t.Errorf("the registry has %q, want %q; recorded: %v", got, tt.want, s.recorded("shop"))
			}
		})
	}
}

// zarfWrote takes our key off a record and our fields out of it, as if Zarf had deployed the package.
func (s *site) zarfWrote(name string) {
	s.t.Helper()
	api := s.Client().CoreV1().Secrets(state.Namespace)
	secret, err := api.Get(s.t.Context(), state.SecretName(name, ""), meta.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	record, err := state.Decode(secret.Data[state.DataKey], nil)
	if err != nil {
		s.t.Fatal(err)
	}
	record.Package.Events, record.Package.DeployConfig = nil, nil
	for i := range record.Package.DeployedComponents {
		record.Package.DeployedComponents[i].LastEvent = state.ComponentEvent{}
	}
	clean := state.Record{Package: record.Package}
	if secret.Data[state.DataKey], _, err = clean.Encode(); err != nil {
		s.t.Fatal(err)
	}
	delete(secret.Data, state.OwnKey)
	if _, err := api.Update(s.t.Context(), secret, meta.UpdateOptions{FieldManager: "zarf"}); err != nil {
		s.t.Fatal(err)
	}
}
