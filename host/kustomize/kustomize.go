// Package kustomize renders kustomizations. It is an effect: it reads what a kustomization refers to,
// and runs git for bases at an address.
package kustomize

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Options say what a kustomization may do. The zero value is the careful one.
type Options struct {
	// AnyDirectory lets it read files outside of its folder.
	AnyDirectory bool
	// Plugins lets it run the programs that it names.
	Plugins bool
}

// Render returns the objects that the kustomization in a folder, or at an address, comes to, as YAML.
func Render(ctx context.Context, at string, o Options) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	options := krusty.MakeDefaultOptions()
	if o.AnyDirectory {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	if o.Plugins {
		options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
		options.PluginConfig.FnpLoadingOptions.EnableExec = true
	}
	objects, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), at)
	if err != nil {
		return nil, fmt.Errorf("rendering the kustomization: %w", err)
	}
	data, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("writing what the kustomization comes to: %w", err)
	}
	return data, nil
}
