package airgap_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/internal/testregistry"
	"github.com/zarf-host/zarf-host/host/state"
)

// Credentials that the registry does not accept are found out when the cluster is initialised, and nothing
// is written; those of a cluster can be replaced.
func TestInitTriesTheCredentials(t *testing.T) {
	r := testregistry.Start(t, testregistry.Options{User: "u", Password: "p"})
	s := newSite(t)
	initialise := func(password string, replace bool) (host.InitResult, error) {
		return host.Init(t.Context(), host.InitOptions{
			Cluster:   cluster.Options{Kubeconfig: s.kubeconfig},
			Registry:  state.Registry{Address: r.Address(), PushUsername: "u", PushPassword: password},
			PlainHTTP: true, Replace: replace,
		})
	}
	var preflight *host.PreflightError
	if _, err := initialise("wrong", false); !errors.As(err, &preflight) || !strings.Contains(err.Error(), `user "u"`) || strings.Contains(err.Error(), "wrong") {
		t.Fatalf("got %v", err)
	}
	if done, err := initialise("p", false); err != nil || !done.Changed {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := initialise("other", false); !errors.Is(err, host.ErrInitialised) {
		t.Fatalf("got %v", err)
	}
	if _, err := initialise("other", true); !errors.As(err, &preflight) {
		t.Fatalf("got %v", err)
	}
	if done, err := initialise("p", true); err != nil || !done.Changed {
		t.Fatalf("%+v, %v", done, err)
	}
	s.mustDeploy(images(t, "shop", "1.0.0", "web x:1"))
}
