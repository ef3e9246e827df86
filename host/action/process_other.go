//go:build !unix

package action

import "os/exec"

// Where there are no process groups only the shell itself can be ended.
func ownGroup(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func groupLives(*exec.Cmd) bool { return false }
