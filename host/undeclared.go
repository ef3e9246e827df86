package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/selection"
)

// undeclared warns of variables that were set by flag and that the package does not declare: that is
// allowed, as in Zarf, and most often a slip. What a configuration file or the environment sets may be
// meant for other packages.
func (d *deployment) undeclared() []string {
	declared := map[string]bool{}
	for _, v := range d.definition.Variables {
		declared[strings.ToUpper(v.Name)] = true
	}
	maps.Copy(declared, d.settable.Variables)
	names := slices.Sorted(maps.Keys(declared))
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(d.resolved.Config.SetVariables)) {
		if declared[name] || d.resolved.Origins["setVariables."+name] != config.OriginFlag {
			continue
		}
		text := fmt.Sprintf("variable %s was set, and the package declares none of that name", name)
		if near := selection.Near(name, names, max(2, len(name)/3)); len(near) > 0 {
			text += fmt.Sprintf("; did you mean %s?", near[0])
		}
		warnings = append(warnings, text)
	}
	return warnings
}
