package airgap_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

// forward is where the control plane leads whoever forwards a port of Zarf's registry.
var forward = &relay{}

// registryPod is the pod whose port is forwarded.
const registryPod = "zarf-docker-registry-0"

// portForward tells kwok, whose pods run nothing, where a port of that pod leads.
const portForward = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata:
  name: zarf-docker-registry
spec:
  selector:
    matchNamespaces: [zarf]
    matchNames: [%s]
  forwards:
  - ports: [5000]
    target:
      address: 127.0.0.1
      port: %d
`

func TestMain(m *testing.M) {
	host.PluginChildMain() // for the guard of a benchmark
	os.Exit(run(m))
}

func run(m *testing.M) int {
	port, err := forward.listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "zarf-host-airgap-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left of it is only in the way
	file := filepath.Join(dir, "kwok.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, portForward, registryPod, port), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return testcluster.MainWithKwok(m, file)
}

// relay leads connections to wherever it is told at the time.
type relay struct {
	mu sync.Mutex
	to string
}

func (r *relay) listen() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(near)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (r *relay) lead(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

func (r *relay) carry(near net.Conn) {
	defer near.Close()
	r.mu.Lock()
	to := r.to
	r.mu.Unlock()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return // as if nothing listened in the pod
	}
	defer far.Close()
	both := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = way[1].(*net.TCPConn).ReadFrom(way[0]) // it ends when either end is closed
			both <- struct{}{}
		}()
	}
	<-both
}
