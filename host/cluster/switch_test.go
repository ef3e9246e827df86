package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// server is an API server that answers /version, lets everything else hang, and counts requests.
func server(t *testing.T) (config *rest.Config, seen chan string) {
	t.Helper()
	seen = make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not notice who goes away
		seen <- r.Method + " " + r.URL.Path
		switch {
		case r.URL.Path == "/version":
			_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			fallthrough
		default:
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return &rest.Config{Host: s.URL}, seen
}

func connect(t *testing.T, config *rest.Config) *Cluster {
	t.Helper()
	c, err := Connect(t.Context(), Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestCutAnswersAtOnce(t *testing.T) {
	config, seen := server(t)
	c := connect(t, config)
	<-seen
	if c.Version() != "v1.36.3" || c.Server() != config.Host {
		t.Errorf("version %s of %s", c.Version(), c.Server())
	}
	work := client(t, c.Config())

	// One request that hangs and one watch whose stream is open are under way.
	hanging := make(chan error, 1)
	go func() {
		_, err := work.CoreV1().Secrets("x").Create(t.Context(), &corev1.Secret{}, metav1.CreateOptions{})
		hanging <- err
	}()
	<-seen
	watch, err := work.CoreV1().Pods("x").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-seen

	c.Cut("the operation was cancelled")
	c.Cut("too late")
	select {
	case err := <-hanging:
		checkCut(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("a request under way was not ended")
	}
	select {
	case <-watch.ResultChan():
	case <-time.After(10 * time.Second):
		t.Fatal("a watch under way was not ended")
	}
	_, err = work.CoreV1().Pods("x").List(t.Context(), metav1.ListOptions{})
	checkCut(t, err)
	_, err = work.CoreV1().Secrets("x").Create(t.Context(), &corev1.Secret{}, metav1.CreateOptions{})
	checkCut(t, err)
	if len(seen) != 0 {
		t.Errorf("after the cut the server saw %s", <-seen)
	}

	// The books are still open, until everything is cut.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Records().Get(ctx, "p", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reading a record after the cut: %v", err)
	}
	if got := <-seen; got != "GET /api/v1/namespaces/zarf/secrets/zarf-package-p" {
		t.Errorf("the server saw %s", got)
	}
	c.CutAll("the lease was lost")
	if _, err := c.Records().Get(t.Context(), "p", ""); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the lease was lost") {
		t.Errorf("reading a record after everything was cut: %v", err)
	}
	if _, err = client(t, c.Second()).CoreV1().Pods("x").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the second way after everything was cut: %v", err)
	}
	if len(seen) != 0 {
		t.Errorf("after everything was cut the server saw %s", <-seen)
	}
}

func checkCut(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the operation was cancelled") {
		t.Errorf("after the cut: %v, want 403 with the reason", err)
	}
}

func TestSwitchPassesOtherErrorsOn(t *testing.T) {
	config, seen := server(t)
	c := connect(t, config)
	<-seen
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-seen; cancel() }()
	if _, err := client(t, c.Config()).CoreV1().Pods("x").List(ctx, metav1.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request through an open switch: %v", err)
	}
}

func TestConnectSaysWhatIsWrong_H13(t *testing.T) {
	unreachable := httptest.NewServer(nil)
	unreachable.Close()
	tests := map[string]struct {
		options     Options
		want        string
		unreachable bool
	}{
		"nobody listens": {Options{Config: &rest.Config{Host: unreachable.URL}},
			"connecting to the cluster at " + unreachable.URL + ": dial tcp", true},
		"no such file": {Options{Kubeconfig: t.TempDir() + "/missing"}, "reading the kubeconfig: ", false},
		"no such context": {Options{Kubeconfig: kubeconfig(t, unreachable.URL), Context: "nope"},
			`reading the kubeconfig: context "nope" does not exist`, false},
		"a file that is fine": {Options{Kubeconfig: kubeconfig(t, unreachable.URL)}, "connecting to the cluster at " + unreachable.URL, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := Connect(t.Context(), test.options)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%v\nwant %s…", err, test.want)
			}
			var u *UnreachableError
			if errors.As(err, &u) != test.unreachable || (test.unreachable && u.Hint() == "") {
				t.Errorf("an UnreachableError: %v, want %v", !test.unreachable, test.unreachable)
			}
			if time.Since(began) > 5*time.Second {
				t.Errorf("it took %s", time.Since(began))
			}
		})
	}
}
