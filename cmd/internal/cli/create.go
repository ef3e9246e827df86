package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/create"
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

// createFlags are the flags of create.
type createFlags struct {
	operationFlags
	output, flavor string
	set            map[string]string
	overrides      []string
	differential   string
	level          string
	maxSize        int64
	reproducible   bool
	machine        bool
	noCache        bool
	skipSBOM       bool
	signing        signingKeyFlags
}

func (r *root) createCmd() *cobra.Command {
	var f createFlags
	cmd := &cobra.Command{
		Use:     "create [DIRECTORY]",
		Aliases: []string{"c"},
		Short:   "Make a package of the zarf.yaml in a folder, with everything that it names",
		Long: "Make a package of the zarf.yaml in a folder, the current one if none is named, with everything that\n" +
			"it names: charts, manifests, images, files, git repositories. What was fetched and compressed is kept\n" +
			"for the next time in the folder of --cache.",
		Example: "  zarf-host create shop --set VERSION=1.2.3 -o packages --confirm\n" +
			"  SOURCE_DATE_EPOCH=1790000000 zarf-host create shop --reproducible --confirm",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.create(cmd.Context(), f, args) },
	}
	f.add(cmd)
	r.outputFormatFlag(cmd, "table", "json", "yaml", "name")
	return cmd
}

func (f *createFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.confirm, "confirm", "c", false, "go on without showing the definition and asking")
	flags.StringVarP(&f.output, "output", "o", ".", "`folder` that the package is written into")
	flags.StringVarP(&f.flavor, "flavor", "f", "", "`flavor` of the components to take, beside those without one")
	flags.StringToStringVar(&f.set, "set", nil, "value of a package template, `NAME=VALUE`; repeatable")
	flags.StringSliceVar(&f.overrides, "registry-override", nil, "where images are pulled from, `PREFIX=INSTEAD`; repeatable")
	flags.StringVar(&f.differential, "differential", "", "leave out what this `base` has: a package, also oci://, cluster:NAME, or an inventory's file")
	flags.StringVar(&f.level, "differential-level", string(host.LevelImage), "image: leave out whole images; blob: layers too, which Zarf cannot deploy")
	flags.Int64VarP(&f.maxSize, "max-package-size", "m", 0, "split a package that is larger into parts of so many `megabytes`; 0 never does")
	flags.IntVar(&f.concurrency, "oci-concurrency", 6, "how many files are fetched from a registry at once")
	flags.BoolVar(&f.reproducible, "reproducible", false, "the same inputs give the same bytes: the time is that of SOURCE_DATE_EPOCH, or 1970")
	flags.BoolVar(&f.machine, "with-build-machine-info", false, "record the names of this machine and user in the package")
	flags.BoolVar(&f.noCache, "no-cache", false, "neither use nor keep what was fetched and compressed")
	flags.BoolVar(&f.skipSBOM, "skip-sbom", false, "accepted for scripts that give it: no SBOM is made in any case")
	f.signing.add(flags)
	flags.StringArrayVar(&f.plugins, "plugin", nil, "WASM `module` to ask at the hooks that it declares; repeatable")
	flags.StringArrayVar(&f.pluginConfigs, "plugin-config", nil, "configuration of a plugin, NAME=FILE or NAME.key=value; repeatable")
	flags.StringArrayVar(&f.grants, "grant", nil, "what a plugin may ask for, NAME=CAPABILITY; repeatable")
	flags.StringVar(&f.sandbox, "plugin-sandbox", "child", "child: each plugin runs in a process that can do nothing else; in-process: leave that wall out")
	flags.DurationVar(&f.deadline, "deadline", 0, "limit of the whole operation; 0 is none")
}

func (r *root) create(ctx context.Context, f createFlags, args []string) error {
	o := host.CreateOptions{
		Dir: ".", Output: f.output, Architecture: r.remote.architecture, Flavor: f.flavor, Set: f.set,
		Machine: f.machine, CacheDir: r.remote.packageCache(f.noCache), MaxBytes: f.maxSize * 1000 * 1000,
		Confirm: r.confirmCreate(f.confirm),
	}
	if len(args) > 0 {
		o.Dir = args[0]
	}
	var err error
	if o.RegistryOverrides, err = parseOverrides(f.overrides); err != nil {
		return err
	}
	if o.Level, err = host.ParseLevel(f.level); err != nil {
		return fmt.Errorf("--differential-level: %w", err)
	}
	if o.Differential = f.differential; o.Level != host.LevelImage && o.Differential == "" {
		return errors.New("--differential-level goes with --differential")
	}
	if f.maxSize < 0 {
		return fmt.Errorf("--max-package-size is %d, want 0 or more megabytes", f.maxSize)
	}
	if o.BuildTime, err = buildTime(f.reproducible, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	if o.Key, err = f.signing.read(ctx, r); err != nil {
		return err
	}
	common, closePlugins, err := r.common(ctx, f.operationFlags, 0)
	if err != nil {
		return err
	}
	defer closePlugins()
	o.Common = common
	made, err := host.Create(ctx, o)
	if err != nil {
		return err
	}
	return r.showCreated(made)
}

// buildTime is when a package claims to have been built; the zero time means now.
func buildTime(reproducible bool, epoch string) (time.Time, error) {
	if !reproducible {
		return time.Time{}, nil
	}
	if epoch == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, want seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func parseOverrides(flags []string) ([]create.Override, error) {
	var out []create.Override
	for _, flag := range flags {
		source, override, ok := strings.Cut(flag, "=")
		if !ok || source == "" || override == "" {
			return nil, fmt.Errorf("--registry-override %q is not PREFIX=INSTEAD", flag)
		}
		for _, before := range out {
			if before.Source == source {
				return nil, fmt.Errorf("--registry-override names %q twice", source)
			}
		}
		out = append(out, create.Override{Source: source, Override: override})
	}
	return out, nil
}

// confirmCreate shows the definition and asks.
func (r *root) confirmCreate(confirmed bool) func(context.Context, spec.Package) (bool, error) {
	if confirmed {
		return nil
	}
	return func(ctx context.Context, pkg spec.Package) (bool, error) {
		text, err := definition.Marshal(&pkg)
		if err != nil {
			return false, err
		}
		if err := render.Document(r.streams.Err, text, isTerminal(r.streams.Err)); err != nil {
			return false, err
		}
		return r.prompts().ask(ctx, "create this package?", false)
	}
}

// createdDocument is the JSON of a package that was made.
type createdDocument struct {
	Files   []string `json:"files"`
	Bytes   int64    `json:"bytes"`
	Digest  string   `json:"digest"`
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	Flavor  string   `json:"flavor,omitempty"`

	Architecture string `json:"architecture"`
}

func (r *root) showCreated(made host.Created) error {
	if len(made.Files) == 0 {
		return errors.New("nothing was written")
	}
	doc := createdDocument{
		Files: made.Files, Bytes: made.Bytes, Digest: made.Digest, Name: made.Definition.Metadata.Name,
		Version: made.Definition.Metadata.Version, Flavor: made.Definition.Build.Flavor, Architecture: made.Definition.Build.Architecture,
	}
	switch r.format {
	case "json", "yaml":
		return r.writeDocument(doc)
	case "name":
		return r.write([]byte(render.Line(made.Files[0]) + "\n"))
	}
	text := fmt.Sprintf("%s\n  %d bytes, digest %s\n", render.Line(made.Files[0]), made.Bytes, made.Digest)
	if parts := len(made.Files) - 1; parts > 0 {
		text = fmt.Sprintf("%s\n  %d bytes in %s, digest %s\n", render.Line(made.Files[0]), made.Bytes, count(parts, "part"), made.Digest)
	}
	return r.write([]byte(text))
}
