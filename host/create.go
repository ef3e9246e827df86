package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/signature"
	"github.com/zarf-host/zarf-host/host/spec"
)

// CreateOptions say which package is made, and how.
type CreateOptions struct {
	Common
	// Dir is the folder with the definition, zarf.yaml.
	Dir string
	// Output is the folder that the package is written into. Default: the current one.
	Output string
	// Architecture is that of the cluster which the package is for. Default: the definition's, else
	// this machine's.
	Architecture string
	// Flavor chooses among components that are for flavors.
	Flavor string
	// Differential is the base that the package is to be the difference to: a package as Open takes it,
	// cluster:NAME, or the file of an inventory. Empty makes the whole package.
	Differential string
	// Level is how fine the difference is. Default: LevelImage.
	Level Level
	// Set gives package templates their values.
	Set map[string]string
	// RegistryOverrides say where images are pulled from in place of where their references say.
	RegistryOverrides []create.Override
	// MaxBytes splits a package that is larger into parts of so many bytes; 0 never does.
	MaxBytes int64
	// BuildTime is recorded as the time of the build. Default: now. The same inputs with the same time
	// give the same bytes.
	BuildTime time.Time
	// Machine records the names of machine and user.
	Machine bool
	// CacheDir keeps what was fetched and compressed for the next time; empty keeps nothing.
	CacheDir string
	// Key, if not nil, signs the package.
	Key *signature.PrivateKey
	// Confirm is shown the composed definition and may say no; nil means yes.
	Confirm func(ctx context.Context, pkg spec.Package) (bool, error)
}

// Created is a package that was made.
type Created struct {
	// Files are what was written: the archive, or its parts with the one that describes them first.
	Files []string
	// Bytes is how large the archive is, in all its parts.
	Bytes int64
	// Digest is the package's, "sha256:…".
	Digest string
	// Definition is the one in the package.
	Definition spec.Package
	// Outcomes are what plugins said.
	Outcomes []hook.Outcome
}

// Create makes a package of the definition in a folder, with everything that it names. Nothing is
// written until all of it was gathered; a package of that name that was there is replaced then, as a
// whole. Errors that come from what the author wrote are *create.PlacedError.
func Create(ctx context.Context, o CreateOptions) (Created, error) {
	o.Common = o.defaulted()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	if err := errors.Join(o.checkTempDir(), isFolder(cmp.Or(o.Output, "."))); err != nil {
		return Created{}, err
	}
	work, err := os.MkdirTemp(o.TempDir, "zarf-host-create-")
	if err != nil {
		return Created{}, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(work); err != nil {
			o.say(event.Warn, "create", fmt.Sprintf("deleting temporary files: %v", err))
		}
	}()
	defer o.trimCache()
	made, err := o.assemble(ctx, work)
	if err != nil {
		return Created{}, err
	}
	return o.write(ctx, made)
}

// assembled is a package whose files are all there.
type assembled struct {
	pkg      spec.Package
	files    []bundle.Content
	outcomes []hook.Outcome
}

// assemble resolves and gathers a package, and asks whether it may be made.
func (o CreateOptions) assemble(ctx context.Context, work string) (assembled, error) {
	world, closeWorld, err := o.world(work)
	if err != nil {
		return assembled{}, err
	}
	defer closeWorld()
	resolved, err := create.Resolve(ctx, o.resolveOptions(work), world)
	if err != nil {
		return assembled{}, err
	}
	difference, err := o.difference(ctx, resolved)
	if err != nil {
		return assembled{}, err
	}
	if o.Confirm != nil {
		yes, err := o.Confirm(ctx, resolved.Definition())
		if err != nil {
			return assembled{}, err
		}
		if !yes {
			return assembled{}, ErrDeclined
		}
	}
	files, err := resolved.Assemble(ctx)
	if err != nil {
		return assembled{}, err
	}
	if files, err = difference.withoutBlobs(ctx, files, o.Level); err != nil {
		return assembled{}, err
	}
	var out assembled
	if out.pkg, out.files, err = resolved.Finish(files, o.stamp(), difference.edit); err != nil {
		return assembled{}, err
	}
	if o.Key != nil {
		if out.pkg, out.files, err = signFiles(out.pkg, out.files, *o.Key); err != nil {
			return assembled{}, err
		}
	}
	out.outcomes, err = o.askPreCreate(ctx, out.pkg)
	return out, err
}

func (o CreateOptions) resolveOptions(work string) create.Options {
	out := create.Options{
		Dir: cmp.Or(o.Dir, "."), Architecture: cmp.Or(o.Architecture, runtime.GOARCH), ArchitectureDefault: o.Architecture == "",
		Flavor: o.Flavor, Set: o.Set, RegistryOverrides: o.RegistryOverrides, Work: work, Sink: o.Sink,
	}
	if o.CacheDir != "" {
		out.Store = filepath.Join(o.CacheDir, "blobs")
	}
	return out
}

func (o CreateOptions) stamp() create.Stamp {
	s := create.Stamp{Time: o.BuildTime, Version: o.cliVersion()}
	if s.Time.IsZero() {
		s.Time = o.Now()
	}
	if o.Machine {
		s.User = o.User
		s.Terminal, _ = os.Hostname() // a machine without a name is none
	}
	return s
}

// askPreCreate asks the plugins about a package before it is written.
func (o CreateOptions) askPreCreate(ctx context.Context, pkg spec.Package) ([]hook.Outcome, error) {
	point, err := hook.Find(hook.PreCreate)
	if err != nil {
		return nil, err
	}
	shown := hookPackage(pkg, "", "")
	operation := hook.Operation{Name: hook.OperationCreate, Flags: map[string]string{}}
	if o.Flavor != "" {
		operation.Flags["flavor"] = o.Flavor
	}
	var answers []hook.Answer
	for _, plugin := range o.Plugins {
		if !declares(plugin, hook.PreCreate) {
			o.say(event.Warn, "hook", fmt.Sprintf("plugin %q declares no hook of create: it is not asked", plugin.Name()))
			continue
		}
		response, err := plugin.Ask(ctx, hook.Request{
			ID: requestID(), Hook: hook.PreCreate, Time: o.Now(), Operation: operation, Package: &shown, User: o.User,
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		answers = append(answers, hook.Answer{Plugin: plugin.Name(), Response: response, Err: err})
	}
	outcome := hook.Fold(point, answers)
	for _, f := range outcome.Findings {
		level := event.Warn
		if f.Severity == hook.SeverityInfo {
			level = event.Info
		}
		o.say(level, "hook", fmt.Sprintf("plugin %q: %s", f.Plugin, f.Message))
	}
	return []hook.Outcome{outcome}, outcome.Err()
}

func declares(p Plugin, name hook.Name) bool {
	for _, h := range p.Hooks() {
		if h == name {
			return true
		}
	}
	return false
}

// write writes the archive, or its parts, beside where it is to be, and then puts it there.
func (o CreateOptions) write(ctx context.Context, made assembled) (Created, error) {
	out := Created{Definition: made.pkg, Outcomes: made.outcomes}
	folder := cmp.Or(o.Output, ".")
	target := filepath.Join(folder, bundle.FileName(&made.pkg))
	f, err := os.CreateTemp(folder, ".zarf-host-*")
	if err != nil {
		return out, fmt.Errorf("writing the package: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone where all went well
	err = bundle.WriteArchive(ctx, f, made.files, made.pkg.Metadata.Uncompressed, o.frames())
	if err == nil {
		out.Bytes, err = f.Seek(0, io.SeekEnd)
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return out, fmt.Errorf("writing package %q: %w", target, err)
	}
	if out.Digest, err = bundle.Digest(made.files); err != nil {
		return out, fmt.Errorf("computing the package's digest: %w", err)
	}
	if o.MaxBytes > 0 && out.Bytes > o.MaxBytes {
		out.Files, err = o.split(f.Name(), target, out.Bytes)
		return out, err
	}
	out.Files = []string{target}
	if err := os.Rename(f.Name(), target); err != nil {
		return out, fmt.Errorf("writing the package: %w", err)
	}
	return out, nil
}

func isFolder(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("looking for the output folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder to write a package into", name)
	}
	return nil
}

// split puts the parts of an archive where they are to be. Where that fails nothing is left of them.
func (o CreateOptions) split(archive, target string, size int64) ([]string, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("splitting the package: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	written, err := bundle.Split(f, size, target, o.MaxBytes)
	if err != nil {
		for _, name := range written {
			_ = os.Remove(name) // the error says enough
		}
		return nil, fmt.Errorf("splitting the package: %w", err)
	}
	last := len(written) - 1
	return append([]string{written[last]}, written[:last]...), nil
}
