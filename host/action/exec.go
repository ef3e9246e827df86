package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

const (
	defaultGrace = 3 * time.Second
	// lingering is how long output is still read after the shell ended. A child that the command
	// left in the background on purpose keeps the pipe open and must not hold up the deployment.
	lingering = 2 * time.Second
)

// exec runs one script in its own process group. When ctx is done the whole group is ended, gently
// first, and nothing of it is left running when exec returns.
func (r *Runner) exec(ctx context.Context, s settings, script string, out *output) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	shell, args := shellCommand(s.shell)
	if r.Self != "" {
		script = rewrite(script, r.Self, isPOSIX(shell))
	}
	cmd := exec.Command(shell, append(args, script)...)
	cmd.Dir = filepath.Join(r.Dir, s.dir)
	if info, err := os.Stat(cmd.Dir); cmd.Dir != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("its dir %q is not a folder below %q", s.dir, r.Dir)
	}
	cmd.Env = slices.Concat(r.environ(), s.env, r.Variables.Environ())
	cmd.Stdout, cmd.Stderr = out.stdout(), out.stderr()
	cmd.WaitDelay = lingering
	ownGroup(cmd)
	defer out.flush()

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the shell: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return describe(err)
	case <-ctx.Done():
		r.stop(cmd, ended)
		return context.Cause(ctx)
	}
}

// stop ends a process group: a request first, after the grace period by force. The force is also
// needed when the shell has obeyed, for children that have not.
func (r *Runner) stop(cmd *exec.Cmd, ended <-chan error) {
	grace := r.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()

	terminate(cmd)
	var reaped bool
	for groupLives(cmd) || !reaped {
		select {
		case <-ended: //nolint:errcheck // how it ended is known: it was terminated
			reaped, ended = true, nil
		case <-look.C:
		case <-deadline.C:
			kill(cmd)
			if !reaped {
				<-ended //nolint:errcheck // as above
			}
			return
		}
	}
}

func (r *Runner) environ() []string {
	if r.Env != nil {
		return r.Env
	}
	return os.Environ()
}

// describe turns the result of a command into a sentence of ours.
func describe(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return fmt.Errorf("the command ended with exit code %d", exit.ExitCode())
	case errors.As(err, &exit):
		return fmt.Errorf("the command was ended by a signal: %s", exit.ProcessState)
	default:
		return fmt.Errorf("running the shell: %w", err)
	}
}
