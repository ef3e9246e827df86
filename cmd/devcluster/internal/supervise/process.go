// Package supervise starts processes that cannot outlive this one, and stops
// them in order.
//
// It knows processes, signals and log files, on Linux. It must not know what
// the processes are for.
package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Spec tells how to start a process.
type Spec struct {
	// Name names the process in messages and its files.
	Name string
	// Path and Args are the program and its arguments, without the program.
	Path string
	Args []string
	// Env is the whole environment.
	Env []string
	// Dir is the working directory.
	Dir string
	// Log receives standard output and error; it is appended to.
	Log string
	// PIDFile holds the process id while the process lives.
	PIDFile string
}

// Spawner starts processes. The kernel sends the death signal when the
// *thread* that started a process ends, so all of them are started by one
// thread that the Spawner keeps for as long as the program runs.
type Spawner struct {
	work chan func()
}

// NewSpawner takes a thread for itself and returns.
func NewSpawner() *Spawner {
	s := &Spawner{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

// Process is a running process, or one that has ended.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts a process in a process group of its own, so that a Ctrl-C in
// the terminal reaches only the supervisor, which then stops it in order.
func (s *Spawner) Start(spec Spec) (*Process, error) {
	for _, file := range []string{spec.Log, spec.PIDFile} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
		}
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	defer log.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = spec.Env, spec.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	s.work <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}

	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	pid := strconv.Itoa(cmd.Process.Pid) + "\n"
	pidErr := os.WriteFile(spec.PIDFile, []byte(pid), 0o644)
	go func() {
		p.err = cmd.Wait()
		_ = os.Remove(spec.PIDFile)
		close(p.done)
	}()
	if pidErr != nil {
		p.Stop(0)
		return nil, fmt.Errorf("starting %s: %w", spec.Name, pidErr)
	}
	return p, nil
}

// Name is the name that the process was started under.
func (p *Process) Name() string { return p.spec.Name }

// Spec is what the process was started with, to start it once more.
func (p *Process) Spec() Spec { return p.spec }

// Done is closed when the process has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err tells how a process that is done has ended, and where its log is.
func (p *Process) Err() error {
	<-p.done
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s); see %s", p.spec.Name, how, p.spec.Log)
}

// Stop asks the process to end and waits; after grace it is killed together
// with everything in its group.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// signal ignores a group that has gone: that is what it is sent for.
func (p *Process) signal(sig syscall.Signal) {
	select {
	case <-p.done: // the id may belong to somebody else by now
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// Lock holds an exclusive lock on a file until the process ends or Close.
type Lock struct{ file *os.File }

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Acquire takes the lock on path without waiting.
func Acquire(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return &Lock{file: file}, nil
}

// Close gives the lock back.
func (l *Lock) Close() error { return l.file.Close() }
