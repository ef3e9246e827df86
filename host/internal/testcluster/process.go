package testcluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startLimit bounds the start of a control plane: five seconds when the machine
// has nothing else to do.
const startLimit = 3 * time.Minute

// own is this process's control plane. The tests of a package have nothing else
// in common that could hold it.
var own process

// process starts a control plane once, when it is first wanted.
type process struct {
	managed bool     // Main runs, and will stop what was started
	args    []string // more of them for devcluster
	once    sync.Once
	cluster *Cluster
	err     error
	command *exec.Cmd
	ended   chan struct{}
}

// Main runs the tests of a package and stops the control plane that they may
// have started. It returns the exit code.
func Main(m *testing.M) int {
	own.managed = true
	defer own.stop()
	return m.Run()
}

// MainWithKwok is Main for a package whose Private control plane gets more configuration for kwok,
// such as port-forwards, from a file.
func MainWithKwok(m *testing.M, file string) int {
	own.args = []string{"--kwok-config", file}
	return Main(m)
}

// Shared is the control plane of the whole test run, which other packages use
// at the same time. With -short, and none handed over by the environment, the
// test is skipped.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	c, ok, err := handedOver()
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		return c
	}
	return Private(t)
}

// Private is a control plane that only this package uses: it may restart its
// API server. All tests of the package get the same one, so those that break
// it do not run in parallel with others.
func Private(t testing.TB) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short does not start")
	}
	if !own.managed {
		t.Fatal("starting a control plane: nobody would stop it; call testcluster.Main from TestMain")
	}
	own.once.Do(func() {
		for range 3 { // a port may be taken while it starts
			if own.cluster, own.err = own.start(); own.err == nil {
				return
			}
		}
	})
	if own.err != nil {
		t.Fatalf("starting a control plane: %v", own.err)
	}
	return own.cluster
}

func (p *process) start() (*Cluster, error) {
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "zarf-host-testcluster-")
	if err != nil {
		return nil, fmt.Errorf("making a data folder: %w", err)
	}
	var problems bytes.Buffer
	cmd := exec.Command(binary, append([]string{"run", "--die-with-parent", "--discard", "--data-dir", dir, "--port", "0"}, p.args...)...)
	cmd.Stderr = &problems
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	ended, started := make(chan struct{}), make(chan error, 1)
	ready := make(chan bool, 1)
	go func() {
		// To devcluster, its parent dies with the thread that started it, so
		// this one stays as long as devcluster does.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		lines := bufio.NewScanner(stdout)
		ready <- lines.Scan() // the first line says that it is ready
		for lines.Scan() {
		}
		_ = cmd.Wait() // how it ended is told by problems
		close(ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.command, p.ended = cmd, ended
	timer := time.NewTimer(startLimit)
	defer timer.Stop()
	select {
	case ok := <-ready:
		if !ok {
			<-ended
			return nil, fmt.Errorf("devcluster ended: %s", bytes.TrimSpace(problems.Bytes()))
		}
	case <-timer.C:
		return nil, fmt.Errorf("not ready after %v; logs are in %s", startLimit, filepath.Join(dir, "logs"))
	}
	c, err := open(filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	c.binary, c.dataDir = binary, dir
	return c, nil
}

// stop stops what start started; devcluster discards its data then, also when
// this process is killed.
func (p *process) stop() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-p.ended
}

// findBinary finds bin/devcluster beside the go.mod of the product.
func findBinary() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding bin/devcluster: there is no go.mod above the tests")
		}
		dir = parent
	}
	binary := filepath.Join(dir, "bin", "devcluster")
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("there is no %s; run `make devcluster`", binary)
	}
	return binary, nil
}
