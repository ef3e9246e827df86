package host

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/zarf-host/zarf-host/host/chart"
	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/selection"
	"github.com/zarf-host/zarf-host/host/spec"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/template"
	"github.com/zarf-host/zarf-host/host/validate"
)

// open opens, validates and selects.
func (d *deployment) open(ctx context.Context) (err error) {
	d.say(event.Info, "open", "reading the package and verifying its checksums")
	if d.pkg, err = Open(ctx, d.Source, d.openOptions()); err != nil {
		return err
	}
	if d.validator, err = validate.New(); err != nil {
		return err
	}
	if err := validateDefinition(d.validator, d.pkg); err != nil {
		return err
	}
	integrity := d.pkg.Integrity()
	if !integrity.OK {
		return &PreflightError{Problems: []string{fmt.Sprintf("the package cannot be verified: %s; it may be inspected, not deployed", integrity.Reason)}}
	}
	checked := "verified %d files, package digest %s"
	if integrity.OnDemand {
		checked = "checked what the registry declares of %d files, each of which is verified when it is fetched; package digest %s"
	}
	d.say(event.Info, "open", fmt.Sprintf(checked, integrity.Files, integrity.Digest))
	switch {
	case d.pkg.Signer() != "":
		d.say(event.Info, "open", "verified the signature: the key is "+d.pkg.Signer())
	case d.pkg.Signed():
		d.say(event.Warn, "open", "the package is signed, and its signature was not verified")
	}
	d.complete()
	d.rename()
	return nil
}

// resolve merges the configuration and applies it: components, namespace, variables.
func (d *deployment) resolve(ctx context.Context) (err error) {
	choices, err := selection.ForDeploy(d.definition.Components, selection.Options{
		Request: d.Components, OS: runtime.GOOS, Interactive: d.Interactive && d.Choose != nil,
	})
	if err != nil {
		return fmt.Errorf("selecting components: %w", err)
	}
	if choices, err = d.choose(ctx, choices); err != nil {
		return err
	}
	d.resolved = config.Resolve(d.Layers...)
	if err := validateConfig(d.validator, d.resolved.Config); err != nil {
		return err
	}
	if err := d.prompt(ctx); err != nil {
		return err
	}
	d.secrets.add(d.resolved.Config) // with what was stored and what was asked for
	if d.digest, err = d.resolved.Config.Digest(); err != nil {
		return fmt.Errorf("computing the digest of the configuration: %w", err)
	}
	if ns := d.resolved.Config.NamespaceOverride; ns != "" {
		if err := d.definition.OverrideNamespace(ns); err != nil {
			return fmt.Errorf("deploying into namespace %q: %w", ns, err)
		}
	}
	for _, choice := range choices {
		if choice.Selected {
			i := slices.IndexFunc(d.definition.Components, func(c spec.Component) bool { return c.Name == choice.Component.Name })
			d.selected = append(d.selected, d.definition.Components[i])
		}
	}
	if d.variables, err = template.Resolve(d.definition, d.resolved.Config.SetVariables); err != nil {
		return fmt.Errorf("resolving variables: %w", err)
	}
	if err := d.resolveValues(ctx); err != nil {
		return err
	}
	d.settable = settable(d.selected)
	d.contents = map[string]content{}
	build := d.builder()
	for _, c := range d.selected {
		has, err := readContent(ctx, d.pkg.bundle, c)
		if err != nil {
			return err
		}
		d.contents[c.Name] = has
		d.wanted = append(d.wanted, build.releases(c, has)...)
		d.secrets.allow(c.Name)
	}
	d.secrets.allow(d.resolved.Config.NamespaceOverride)
	for _, r := range d.wanted {
		d.secrets.allow(r.Namespace, r.Name, r.chart)
	}
	return d.preflight()
}

func (d *deployment) choose(ctx context.Context, choices []selection.Choice) ([]selection.Choice, error) {
	asked := slices.ContainsFunc(choices, func(c selection.Choice) bool { return c.Ask })
	if !asked || d.Choose == nil {
		return choices, nil
	}
	names, err := d.Choose(ctx, choices)
	if err != nil {
		return nil, fmt.Errorf("choosing components: %w", err)
	}
	for i, c := range choices {
		if c.Ask {
			choices[i].Selected = slices.Contains(names, c.Component.Name)
		}
	}
	return choices, nil
}

// prompt asks for variables that the package wants to be asked for.
func (d *deployment) prompt(ctx context.Context) error {
	if !d.Interactive || d.Prompt == nil {
		return nil
	}
	answers := map[string]string{}
	for _, v := range template.Prompts(d.definition, d.resolved.Config.SetVariables) {
		value, err := d.Prompt(ctx, v)
		if err != nil {
			return fmt.Errorf("asking for variable %s: %w", v.Name, err)
		}
		answers[v.Name] = value
	}
	if len(answers) > 0 {
		d.Layers = append(d.Layers, config.Layer{Origin: "prompt", Config: state.DeployConfig{SetVariables: answers}})
		d.resolved = config.Resolve(d.Layers...)
	}
	return nil
}

func (d *deployment) builder() *builder {
	return &builder{
		pkg: d.definition, name: d.definition.Metadata.Name, templates: d.templates,
		config: d.resolved.Config, loader: os.ReadFile, start: d.start, common: d.Common, takeOver: d.TakeOwnership,
		prepare: func(w *chart.Wanted) error { return d.services.prepare(w, d.connected()) },
	}
}
