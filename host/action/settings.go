package action

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/spec"
)

// settings are an action's own ones on top of its list's defaults.
type settings struct {
	mute  bool
	limit time.Duration // 0 means none
	tries int
	dir   string
	env   []string
	shell spec.Shell
}

// merge lets an action override each default by itself; only env adds to it.
func merge(d spec.ActionDefaults, a spec.Action) settings {
	override(&d.Mute, a.Mute)
	override(&d.MaxTotalSeconds, a.MaxTotalSeconds)
	override(&d.MaxRetries, a.MaxRetries)
	override(&d.Dir, a.Dir)
	override(&d.Shell, a.Shell)
	return settings{
		mute:  d.Mute,
		limit: time.Duration(max(d.MaxTotalSeconds, 0)) * time.Second,
		tries: max(d.MaxRetries, 0) + 1,
		dir:   d.Dir,
		env:   slices.Concat(d.Env, a.Env),
		shell: d.Shell,
	}
}

func override[T any](value *T, by *T) {
	if by != nil {
		*value = *by
	}
}

// shellCommand returns the program and its arguments before the script.
func shellCommand(s spec.Shell) (string, []string) {
	name := "sh"
	switch runtime.GOOS {
	case "windows":
		name = "powershell"
		override(&name, set(s.Windows))
	case "darwin":
		override(&name, set(s.Darwin))
	default:
		override(&name, set(s.Linux))
	}
	switch {
	case isPowerShell(name):
		return name, []string{"-Command", "$ErrorActionPreference = 'Stop';"}
	case name == "cmd":
		return name, []string{"/c"}
	default:
		return name, []string{"-e", "-c"}
	}
}

func set(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func isPowerShell(name string) bool {
	name = strings.TrimSuffix(name, ".exe")
	return name == "powershell" || name == "pwsh"
}

// isPOSIX reports whether the shell reads the language that mvdan.cc/sh parses.
func isPOSIX(name string) bool { return !isPowerShell(name) && name != "cmd" && name != "fish" }
