package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/zarf-host/zarf-host/host/cluster"
	"github.com/zarf-host/zarf-host/host/state"
)

// Credential is what somebody logs in to a service of a cluster with. Printing it does not show the
// password.
type Credential struct {
	Application string `json:"application"`
	Username    string `json:"username"`
	Password    string `json:"password"`
	// Connect is how Zarf leads to the service, empty for one outside of the cluster.
	Connect string `json:"connect"`
	Key     string `json:"getCredsKey"`
}

// Format shows no password, whatever the verb.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.Key+" of "+c.Username) }

// LogValue logs no password.
func (c Credential) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// ErrNotInitialised says that a cluster has no state of Zarf.
var ErrNotInitialised = errors.New("the cluster was not initialised: it has no Secret zarf-state")

// Credentials reads the credentials of the services that a cluster was initialised with.
func Credentials(ctx context.Context, options cluster.Options) ([]Credential, error) {
	conn, err := cluster.Connect(ctx, options)
	if err != nil {
		return nil, err
	}
	s, exists, err := conn.State(ctx)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, ErrNotInitialised
	}
	return credentials(s), nil
}

// credentials are listed as Zarf does, but also those of services outside of the cluster.
func credentials(s state.Cluster) []Credential {
	var out []Credential
	connect := func(internal bool, to string) string {
		if !internal {
			return ""
		}
		return "zarf connect " + to
	}
	if r := s.RegistryInfo; r.Configured() {
		to := connect(r.IsInternal(), "registry")
		out = append(out,
			Credential{"Registry", r.PushUsername, r.PushPassword, to, "registry"},
			Credential{"Registry (read-only)", r.PullUsername, r.PullPassword, to, "registry-readonly"})
	}
	if g := s.GitServer; g.Configured() {
		to := connect(g.IsInternal(), "git")
		out = append(out,
			Credential{"Git", g.PushUsername, g.PushPassword, to, "git"},
			Credential{"Git (read-only)", g.PullUsername, g.PullPassword, to, "git-readonly"})
	}
	if a := s.ArtifactServer; a.Address != "" {
		out = append(out, Credential{"Artifact Token", a.PushUsername, a.PushPassword,
			connect(s.GitServer.IsInternal(), "git"), "artifact"})
	}
	return out
}

// FindCredential returns the credential with a key.
func FindCredential(all []Credential, key string) (Credential, error) {
	var keys []string
	for _, c := range all {
		if c.Key == key {
			return c, nil
		}
		keys = append(keys, c.Key)
	}
	if len(keys) == 0 {
		return Credential{}, fmt.Errorf("no credential has the key %q: the cluster has neither registry nor git server", key)
	}
	return Credential{}, fmt.Errorf("no credential of this cluster has the key %q, only %s", key, strings.Join(keys, ", "))
}
