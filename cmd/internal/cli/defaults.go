package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// applyDefaults gives flags that were not given their value from the environment, else from the
// config file. Keys are Zarf's: `package.deploy.components` and ZARF_PACKAGE_DEPLOY_COMPONENTS; the
// prefix ZARF_HOST_ works too and wins. Flags with layers of their own (variables) are left alone.
func applyDefaults(cmd *cobra.Command, env func(string) (string, bool)) error {
	file, err := readConfigFile(env)
	if err != nil {
		return err
	}
	section := configSection(cmd)
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil || f.Annotations[layered] != nil {
			return
		}
		name := strings.ReplaceAll(f.Name, "-", "_")
		keys := []string{name}
		if section != "" {
			keys = []string{section + "." + name, "package." + name, name}
		}
		for _, key := range keys {
			value, from, ok := lookUp(key, env, file)
			if !ok {
				continue
			}
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				failed = fmt.Errorf("%s sets --%s to %q: %w", from, f.Name, value, err)
			}
			return
		}
	})
	return failed
}

// layered marks a flag whose config file and environment are layers of the DeployConfig.
const layered = "zarf-host-layered"

// configSection returns the section of the config file that a command reads: Zarf's for its verbs.
func configSection(cmd *cobra.Command) string {
	switch cmd.Name() {
	case "deploy", "remove", "list", "inspect", "plan", "create", "publish", "pull":
		name := cmd.Name()
		if name == "plan" {
			name = "deploy" // a plan is a plan of what deploy would do
		}
		return "package." + name
	default:
		return ""
	}
}

func lookUp(key string, env func(string) (string, bool), file configFile) (value, from string, ok bool) {
	upper := strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
	for _, prefix := range []string{"ZARF_HOST_", "ZARF_"} {
		if value, ok := env(prefix + upper); ok {
			return value, "environment variable " + prefix + upper, true
		}
	}
	if found, ok := file.get(key); ok {
		switch v := found.(type) {
		case map[string]any:
			return "", "", false
		case []any:
			words := make([]string, len(v))
			for i, w := range v {
				words[i] = fmt.Sprint(w)
			}
			return strings.Join(words, ","), file.path, true
		default:
			return fmt.Sprint(v), file.path, true
		}
	}
	return "", "", false
}

// configFile is a zarf-config file.
type configFile struct {
	path   string
	values map[string]any
}

// get returns the value at a dotted key.
func (c configFile) get(key string) (any, bool) {
	var at any = c.values
	for word := range strings.SplitSeq(key, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[word]; !ok {
			return nil, false
		}
	}
	return at, true
}

// variables returns the deploy variables of the file, under Zarf's two names for them.
func (c configFile) variables() map[string]string {
	out := map[string]string{}
	for _, key := range []string{"package.deploy.set", "package.deploy.set_variables"} {
		found, _ := c.get(key)
		if m, ok := found.(map[string]any); ok {
			for name, value := range m {
				out[name] = fmt.Sprint(value)
			}
		}
	}
	return out
}

// readConfigFile reads the file that ZARF_HOST_CONFIG or ZARF_CONFIG names, else zarf-config.toml,
// .yaml or .json in the current folder or in ~/.zarf; none is no error.
func readConfigFile(env func(string) (string, bool)) (configFile, error) {
	for _, name := range []string{"ZARF_HOST_CONFIG", "ZARF_CONFIG"} {
		if path, ok := env(name); ok && path != "" {
			return parseConfigFile(path)
		}
	}
	dirs := []string{"."}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".zarf"))
	}
	for _, dir := range dirs {
		for _, ext := range []string{"toml", "yaml", "json"} {
			c, err := parseConfigFile(filepath.Join(dir, "zarf-config."+ext))
			if err == nil || !errors.Is(err, fs.ErrNotExist) {
				return c, err
			}
		}
	}
	return configFile{}, nil
}

func parseConfigFile(path string) (configFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return configFile{}, fmt.Errorf("reading the config file: %w", err)
	}
	c := configFile{path: path, values: map[string]any{}}
	switch filepath.Ext(path) {
	case ".toml":
		err = toml.Unmarshal(data, &c.values)
	case ".json":
		err = json.Unmarshal(data, &c.values)
	default:
		err = yaml.Unmarshal(data, &c.values)
	}
	if err != nil {
		return configFile{}, fmt.Errorf("reading config file %q: %w", path, err)
	}
	return c, nil
}

// words returns the texts of a list in the file; a single text is a list of one.
func (c configFile) words(key string) []string {
	found, _ := c.get(key)
	switch v := found.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, w := range v {
			out = append(out, fmt.Sprint(w))
		}
		return out
	}
	return nil
}
