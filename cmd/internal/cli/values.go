package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host/config"
	"github.com/zarf-host/zarf-host/host/state"
	"github.com/zarf-host/zarf-host/host/value"
)

// valuesFlags are the flags that supply package values.
type valuesFlags struct {
	files []string
	set   []string
}

func (v *valuesFlags) add(f *pflag.FlagSet) {
	f.StringSliceVarP(&v.files, "values", "v", nil, "`file` with values for the package; repeatable, later ones win")
	f.StringArrayVar(&v.set, "set-values", nil, "values for the package, `KEY.PATH=value`, over those of files; repeatable.\n"+
		"true, false and whole numbers are taken for what they are, everything else for text;\n"+
		"single quotes make text of them too: KEY='1'")
	for _, name := range []string{"values", "set-values"} {
		_ = f.SetAnnotation(name, layered, []string{"true"}) // it exists, so this cannot fail
	}
}

// read merges files and assignments, which win.
func (v valuesFlags) read() (map[string]any, error) {
	var out map[string]any
	for _, path := range v.files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading the values file: %w", err)
		}
		values, err := value.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("reading the values file %q: %w", path, err)
		}
		out = value.Merge(out, values)
	}
	for _, text := range v.set {
		made, err := value.ParseAssignments(text)
		if err != nil {
			return nil, err
		}
		if out, err = value.Assign(out, made); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// layers are the values of config file, environment and flags, the weakest first. section is the
// command's in the config file.
func (v valuesFlags) layers(section string, file configFile, env func(string) (string, bool)) ([]config.Layer, error) {
	sources := []struct {
		origin, from string
		flags        valuesFlags
	}{
		{config.OriginFile, "config file " + file.path + ": ", file.valuesFlags(section)},
		{config.OriginEnvironment, "environment: ", environmentValues(section, env)},
		{config.OriginFlag, "", v},
	}
	var out []config.Layer
	for _, s := range sources {
		values, err := s.flags.read()
		if err != nil {
			if s.from != "" {
				err = fmt.Errorf("%s%w", s.from, err)
			}
			return nil, err
		}
		out = append(out, config.Layer{Origin: s.origin, Config: state.DeployConfig{Values: values}})
	}
	return out, nil
}

// valuesFlags returns what a config file says of values: a list of files, and assignments as a map
// or as the flag's text.
func (c configFile) valuesFlags(section string) valuesFlags {
	var out valuesFlags
	files, _ := c.get(section + ".values")
	switch f := files.(type) {
	case string:
		out.files = strings.Split(f, ",")
	case []any:
		for _, path := range f {
			out.files = append(out.files, fmt.Sprint(path))
		}
	}
	set, _ := c.get(section + ".set_values")
	switch s := set.(type) {
	case string:
		out.set = []string{s}
	case map[string]any:
		out.set = assignments("", s)
	}
	return out
}

// assignments writes a map out as the flag has it. Its keys may be paths themselves.
func assignments(prefix string, m map[string]any) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if below, ok := m[key].(map[string]any); ok {
			out = append(out, assignments(prefix+key+".", below)...)
			continue
		}
		out = append(out, fmt.Sprintf("%s%s=%v", prefix, key, m[key]))
	}
	return out
}

func environmentValues(section string, env func(string) (string, bool)) valuesFlags {
	var out valuesFlags
	name := strings.ToUpper(strings.ReplaceAll(section, ".", "_"))
	for _, prefix := range []string{"ZARF_HOST_", "ZARF_"} {
		if files, ok := env(prefix + name + "_VALUES"); ok && files != "" && out.files == nil {
			out.files = strings.Split(files, ",")
		}
		if set, ok := env(prefix + name + "_SET_VALUES"); ok && set != "" && out.set == nil {
			out.set = []string{set}
		}
	}
	return out
}
