package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
)

// ClusterSecret is the Secret in Namespace that says how a cluster was initialised, and
// ClusterKey the key that holds it.
const (
	ClusterSecret = "zarf-state"
	ClusterKey    = "state"
)

// Cluster is what Zarf remembers of a cluster that it initialised (Zarf: State), in Zarf's field
// order. It holds credentials: printing or logging it shows none.
type Cluster struct {
	Appliance            bool           `json:"zarfAppliance"`
	Distro               string         `json:"distro"`
	StorageClass         string         `json:"storageClass"`
	IPFamily             string         `json:"ipFamily"`
	AgentTLS             KeyPair        `json:"agentTLS"`
	AgentTLSUserProvided bool           `json:"agentTLSUserProvided,omitempty"`
	AgentMutationPolicy  string         `json:"agentMutationPolicy"`
	InjectorInfo         Injector       `json:"injectorInfo"`
	GitServer            GitServer      `json:"gitServer"`
	RegistryInfo         Registry       `json:"registryInfo"`
	ArtifactServer       ArtifactServer `json:"artifactServer"`
	readState            []byte
}

// KeyPair is a certificate with its key and authority, PEM in base64 in the JSON.
type KeyPair struct {
	CA   []byte `json:"ca"`
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
}

// Injector is how Zarf bootstrapped a registry.
type Injector struct {
	Image                  string `json:"injectorImage"`
	PayloadConfigMapAmount int    `json:"payLoadConfigMapAmount"`
	PayloadShaSum          string `json:"payLoadShaSum"`
	Port                   int    `json:"port"`
}

// GitServer is where repositories are pushed.
type GitServer struct {
	PushUsername string `json:"pushUsername"`
	PushPassword string `json:"pushPassword"`
	PullUsername string `json:"pullUsername"`
	PullPassword string `json:"pullPassword"`
	Address      string `json:"address"`
}

// IsInternal reports whether the server runs in the cluster as Zarf deployed it.
func (g GitServer) IsInternal() bool { return g.Address == InternalGitServer }

// Configured reports whether there is a git server.
func (g GitServer) Configured() bool { return g.Address != "" }

// InternalGitServer is the address of the git server that Zarf deploys.
const InternalGitServer = "http://zarf-gitea-http.zarf.svc.cluster.local:3000"

// RegistryMode says where the registry of a cluster is.
type RegistryMode string

// The modes of a registry.
const (
	RegistryNodePort RegistryMode = "nodeport" // in the cluster, behind a NodePort
	RegistryProxy    RegistryMode = "proxy"    // in the cluster, behind Zarf's proxy on each node
	RegistryExternal RegistryMode = "external" // somewhere else
)

// MTLSManaged is the MTLSStrategy of a registry that wants client certificates that Zarf made.
const MTLSManaged = "zarf-managed"

// Registry is where images are pushed and pods pull them.
type Registry struct {
	PushUsername string       `json:"pushUsername"`
	PushPassword string       `json:"pushPassword"`
	PullUsername string       `json:"pullUsername"`
	PullPassword string       `json:"pullPassword"`
	Address      string       `json:"address"`
	NodePort     int          `json:"nodePort"`
	Port         int          `json:"port"`
	Secret       string       `json:"secret"`
	Mode         RegistryMode `json:"registryMode"`
	MTLSStrategy string       `json:"mtlsStrategy"`
}

// IsInternal reports whether the registry runs in the cluster, and is reached by a port-forward.
func (r Registry) IsInternal() bool { return r.Mode != RegistryExternal }

// Configured reports whether there is a registry.
func (r Registry) Configured() bool { return r.Address != "" }

// ArtifactServer is deprecated, but Zarf still writes it.
type ArtifactServer struct {
	PushUsername string `json:"pushUsername"`
	PushPassword string `json:"pushPassword"`
	Address      string `json:"address"`
}

// HasAgent reports whether Zarf's agent, which rewrites pods, was deployed.
func (c Cluster) HasAgent() bool { return len(c.AgentTLS.Cert) > 0 }

// DecodeCluster reads the state of a cluster. A state written before there were registry modes gets
// the one that its address tells, as in Zarf. Errors never quote it.
func DecodeCluster(data []byte) (Cluster, error) {
	var c Cluster
	if err := decode(data, &c); err != nil {
		return Cluster{}, fmt.Errorf("reading the state of the cluster: %w", err)
	}
	c.readState = bytes.Clone(data)
	if c.RegistryInfo.Mode == "" && c.RegistryInfo.Configured() {
		c.RegistryInfo.Mode = RegistryExternal
		if c.RegistryInfo.NodePort > 0 && loopback(c.RegistryInfo.Address) {
			c.RegistryInfo.Mode = RegistryNodePort
		}
	}
	return c, nil
}

// Encode returns the state as Zarf reads it. Fields that DecodeCluster did not know are in it again.
func (c Cluster) Encode() ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("writing the state of the cluster: %w", withoutContents(err))
	}
	if len(c.readState) == 0 {
		return data, nil
	}
	data, err = compacted(graftObject[Cluster](map[string]graft{
		"agentTLS":       graftObject[KeyPair](nil),
		"injectorInfo":   graftObject[Injector](nil),
		"gitServer":      graftObject[GitServer](nil),
		"registryInfo":   graftObject[Registry](nil),
		"artifactServer": graftObject[ArtifactServer](nil),
	})(data, c.readState))
	if err != nil {
		return nil, fmt.Errorf("writing the state of the cluster: %w", err)
	}
	return data, nil
}

// loopback reports whether an address is one of the machine itself.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Format prints no credentials, whatever the verb.
func (c Cluster) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// String prints no credentials.
func (c Cluster) String() string { return "Cluster" + redacted }

// GoString prints no credentials.
func (c Cluster) GoString() string { return c.String() }

// LogValue logs no credentials.
func (c Cluster) LogValue() slog.Value { return slog.StringValue(c.String()) }
