package plan

import (
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// describeWidth is the number of characters of a command that a plan shows.
const describeWidth = 72

// describe returns an action's description, or the first line of what it does.
func describe(a spec.Action) string {
	switch {
	case a.Description != "":
		return a.Description
	case a.Wait != nil && a.Wait.Cluster != nil:
		w := a.Wait.Cluster
		condition := w.Condition
		if condition == "" {
			condition = "exists"
		}
		return strings.TrimSpace("wait for " + w.Kind + " " + w.Name + " " + condition)
	case a.Wait != nil && a.Wait.Network != nil:
		return "wait for " + a.Wait.Network.Protocol + " " + a.Wait.Network.Address
	}
	for line := range strings.Lines(a.Cmd) {
		if line = strings.TrimSpace(line); line != "" {
			return shorten(line)
		}
	}
	return "(empty)"
}

func shorten(line string) string {
	runes := []rune(line)
	if len(runes) <= describeWidth {
		return line
	}
	return string(runes[:describeWidth-1]) + "…"
}
