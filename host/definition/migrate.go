package definition

import (
	"slices"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Zarf's names for its migrations, as build.migrations lists them.
const (
	scriptsToActions     = "scripts-to-actions"
	pluralizeSetVariable = "pluralize-set-variable"
)

// scriptRetries stands for "for ever" where the deprecated scripts.retry is true.
const scriptRetries = 10000

// migrate brings the deprecated forms into today's and records that it did. A definition that was
// migrated before carries both forms: there the deprecated one is dropped, as Zarf does, so that
// a second reading changes nothing more.
func migrate(pkg *spec.Package) {
	scriptsDone := slices.Contains(pkg.Build.Migrations, scriptsToActions)
	variablesDone := slices.Contains(pkg.Build.Migrations, pluralizeSetVariable)
	for i := range pkg.Components {
		c := &pkg.Components[i]
		if scriptsDone {
			c.Scripts = spec.Scripts{}
		} else {
			migrateScripts(c)
		}
		for _, action := range actionsOf(c) {
			switch {
			case variablesDone:
				action.SetVariable = ""
			case action.SetVariable != "" && len(action.SetVariables) == 0:
				action.SetVariables = []spec.Variable{{Name: action.SetVariable}}
			}
		}
	}
	pkg.Build.Migrations = []string{scriptsToActions, pluralizeSetVariable}
}

func migrateScripts(c *spec.Component) {
	defaults := spec.ActionDefaults{
		Mute:            !c.Scripts.ShowOutput,
		MaxTotalSeconds: c.Scripts.TimeoutSeconds,
	}
	if c.Scripts.Retry {
		defaults.MaxRetries = scriptRetries
	}
	run := func(set *spec.ActionSet, list *[]spec.Action, scripts []string) {
		if len(scripts) == 0 {
			return
		}
		set.Defaults = defaults
		for _, script := range scripts {
			*list = append(*list, spec.Action{Cmd: script})
		}
	}
	run(&c.Actions.OnCreate, &c.Actions.OnCreate.Before, c.Scripts.Prepare)
	run(&c.Actions.OnDeploy, &c.Actions.OnDeploy.Before, c.Scripts.Before)
	run(&c.Actions.OnDeploy, &c.Actions.OnDeploy.After, c.Scripts.After)
}

// actionsOf returns every action of a component, to be changed in place.
func actionsOf(c *spec.Component) []*spec.Action {
	var all []*spec.Action
	for _, set := range []*spec.ActionSet{&c.Actions.OnCreate, &c.Actions.OnDeploy, &c.Actions.OnRemove} {
		for _, list := range [][]spec.Action{set.Before, set.After, set.OnSuccess, set.OnFailure} {
			for i := range list {
				all = append(all, &list[i])
			}
		}
	}
	return all
}
