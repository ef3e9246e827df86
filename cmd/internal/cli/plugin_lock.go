package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plugin"
)

// pluginLockFlags say what is locked.
type pluginLockFlags struct {
	trusted pluginSourceFlags
	from    packageFlags
	plugins []string
	grants  []string
	update  bool
}

func (r *root) pluginLockCmd() *cobra.Command {
	var f pluginLockFlags
	cmd := &cobra.Command{
		Use:   "lock --plugin PLUGIN…",
		Short: "Write which plugins may run, by their digests, and what each may ask for",
		Long: "Write which plugins may run, by their digests, and what each may ask for, into a lock file. Where there\n" +
			"is one, deploy and remove take no other plugins, and grant them what it says. A plugin that has changed\n" +
			"is refused, here too without --update; one that asks for more than before is refused until that is\n" +
			"granted. Nothing of a plugin runs. Without --plugin those in the lock file are looked at again.",
		Example: "  zarf-host plugin lock --plugin oci://registry.example.com/plugins/guard:0.1.0\n" +
			"  zarf-host plugin lock --plugin package:stateful --package shop.tar.zst --grant stateful=k8s:list",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.pluginLock(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.plugins, "plugin", nil, "`plugin` to lock: a file, oci://HOST/PATH:TAG or package:NAME; repeatable")
	flags.StringArrayVar(&f.grants, "grant", nil, "what a plugin is granted, NAME=CAPABILITY, NAME=CAPABILITY@NAMESPACE or NAME=CAPABILITY@*; repeatable")
	flags.BoolVar(&f.update, "update", false, "take what has changed in place of what is locked")
	f.trusted.addKeys(flags)
	f.trusted.addLock(flags)
	f.from.add(cmd)
	return cmd
}

func (r *root) pluginLock(ctx context.Context, f pluginLockFlags) error {
	path := f.trusted.lockPath()
	lock, err := readLock(path)
	if errors.Is(err, fs.ErrNotExist) && len(f.plugins) > 0 {
		lock, err = plugin.NewLock(), nil
	}
	if err != nil {
		return err
	}
	refs, err := f.references(lock)
	if err != nil {
		return err
	}
	grants, err := hook.ParseGrantFlags(f.grants)
	if err != nil {
		return err
	}
	found, err := f.fetch(ctx, r, refs)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(grants)) {
		if !slices.ContainsFunc(found, func(p host.FetchedPlugin) bool { return p.Metadata.Name == name }) {
			return fmt.Errorf("--grant names plugin %q, which is not locked here", name)
		}
	}
	var lines []byte
	for _, p := range found {
		if lock, err = lock.Add(p.Facts(), grants[p.Metadata.Name], f.update); err != nil {
			return r.notLocked(err)
		}
		lines = append(lines, lockedLine(lock, p)...)
	}
	data, err := lock.Format()
	if err != nil {
		return err
	}
	if err := replaceFile(path, data); err != nil {
		return err
	}
	return r.show(fmt.Appendf(lines, "written to %s\n", path))
}

// notLocked gives its exit code to a plugin that is refused.
func (r *root) notLocked(err error) error {
	if errors.As(err, new(*plugin.LockError)) {
		return &codeError{code: exitDenied, err: err}
	}
	return err
}

// references are the plugins to lock: those of the flags, else those that are locked already. Of these a
// tag is looked at again, and not the digest that it had.
func (f pluginLockFlags) references(lock plugin.Lock) ([]plugin.Reference, error) {
	var out []plugin.Reference
	for _, text := range f.plugins {
		ref, err := plugin.ParseReference(text)
		if err != nil {
			return nil, fmt.Errorf("--plugin: %w", err)
		}
		out = append(out, ref)
	}
	if len(f.plugins) > 0 {
		return out, nil
	}
	for _, p := range lock.Plugins {
		ref, err := plugin.ParseReference(p.Source)
		if err != nil {
			return nil, fmt.Errorf("looking for plugin %q: %w", p.Name, err)
		}
		if ref.Tag != "" {
			ref.Digest = ""
		}
		out = append(out, ref)
	}
	if len(out) == 0 {
		return nil, errors.New("the lock file has no plugins: name one with --plugin")
	}
	return out, nil
}

func (f pluginLockFlags) fetch(ctx context.Context, r *root, refs []plugin.Reference) ([]host.FetchedPlugin, error) {
	source, err := f.trusted.source(r)
	if err != nil {
		return nil, err
	}
	pkg, done, err := f.from.open(ctx, r, refs...)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []host.FetchedPlugin
	for _, ref := range refs {
		p, err := host.FetchPlugin(ctx, ref, pkg, source)
		if err != nil {
			return nil, refusedOr(err)
		}
		if i := slices.IndexFunc(out, func(o host.FetchedPlugin) bool { return o.Metadata.Name == p.Metadata.Name }); i >= 0 {
			return nil, fmt.Errorf("%s and %s are both named %q: a lock file has one plugin of a name", out[i].Source, p.Source, p.Metadata.Name)
		}
		out = append(out, p)
	}
	return out, nil
}

func lockedLine(lock plugin.Lock, p host.FetchedPlugin) string {
	locked, _ := lock.Find(p.Metadata.Name) // it was added
	text := fmt.Sprintf("%s %s %s", locked.Name, locked.Version, locked.Digest)
	for _, c := range locked.Capabilities {
		granted := "not granted"
		for _, g := range locked.Grants {
			if parsed, err := hook.ParseGrant(g); err == nil && parsed.Capability == c {
				granted = "granted as " + g
			}
		}
		text += fmt.Sprintf(", asks for %s (%s)", c, granted)
	}
	return text + "\n"
}
