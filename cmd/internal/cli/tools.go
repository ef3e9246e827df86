package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newToolsCmd holds what actions of packages call as "./zarf tools …". The tools work from their
// arguments, KUBECONFIG and the streams alone.
func newToolsCmd(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tools",
		Aliases: []string{"t"},
		Short:   "The tools that actions of packages call",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKubectlCmd(streams), newWaitForCmd())
	return cmd
}

// toolsCmd adds the tools that know about clusters and their registries.
func (r *root) toolsCmd() *cobra.Command {
	cmd := newToolsCmd(r.streams)
	cmd.AddCommand(r.registryCmd(), r.getCredsCmd(), newArchiverCmd())
	return cmd
}

// withoutGlobals drops those flags before the first operand that only zarf-host knows. The rest is
// the tool's own, among it the connection flags, which both know.
func withoutGlobals(args []string, ours, theirs *pflag.FlagSet) []string {
	var kept []string
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		flag, length := settingOf(args[0], ours)
		length = min(length, len(args))
		if flag == nil || theirs.Lookup(flag.Name) != nil {
			kept = append(kept, args[:length]...)
		}
		args = args[length:]
	}
	return append(kept, args...)
}

// settingOf finds the flag that an argument sets, and how many arguments it takes up.
func settingOf(arg string, flags *pflag.FlagSet) (*pflag.Flag, int) {
	name, inline := arg[1:], false
	if arg[1] == '-' {
		name = arg[2:]
	}
	for i, r := range name {
		if r == '=' {
			name, inline = name[:i], true
			break
		}
	}
	flag := flags.Lookup(name)
	if arg[1] != '-' {
		flag = flags.ShorthandLookup(name[:1])
		inline = inline || len(name) > 1
	}
	if flag == nil || inline || flag.NoOptDefVal != "" {
		return flag, 1
	}
	return flag, 2
}
