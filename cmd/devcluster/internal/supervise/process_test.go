package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	spawner := NewSpawner()
	tests := []struct {
		name   string
		script string
		grace  time.Duration
	}{
		{"a process that obeys", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done", 10 * time.Second},
		{"a process that does not", "trap '' TERM; echo up; while :; do sleep 0.05; done", 100 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			p, err := spawner.Start(Spec{
				Name: "test", Path: "/bin/sh", Args: []string{"-c", tt.script}, Env: os.Environ(), Dir: dir,
				Log: filepath.Join(dir, "logs", "test.log"), PIDFile: filepath.Join(dir, "run", "test.pid"),
			})
			if err != nil {
				t.Fatal(err)
			}
			waitFor(t, p.Spec().Log, "up")
			if _, err := os.Stat(p.Spec().PIDFile); err != nil {
				t.Errorf("no PID file while the process lives: %v", err)
			}
			p.Stop(tt.grace)
			select {
			case <-p.Done():
			default:
				t.Fatal("the process outlived Stop")
			}
			if _, err := os.Stat(p.Spec().PIDFile); err == nil {
				t.Error("the PID file outlived its process")
			}
			p.Stop(tt.grace) // once more does nothing
		})
	}
}

func TestProcessErrNamesTheLog(t *testing.T) {
	dir := t.TempDir()
	p, err := NewSpawner().Start(Spec{
		Name: "brief", Path: "/bin/sh", Args: []string{"-c", "exit 3"}, Dir: dir,
		Log: filepath.Join(dir, "brief.log"), PIDFile: filepath.Join(dir, "brief.pid"),
	})
	if err != nil {
		t.Fatal(err)
	}
	message := p.Err().Error()
	for _, want := range []string{"brief", "exit status 3", "brief.log"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q does not tell %q", message, want)
		}
	}
}

func TestAcquire(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second lock: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func waitFor(t *testing.T, path, text string) {
	t.Helper()
	for range 200 {
		if data, _ := os.ReadFile(path); strings.Contains(string(data), text) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s never held %q", path, text)
}
