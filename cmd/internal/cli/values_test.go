package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host/config"
)

// The order is that of Zarf: files, then assignments; config file, then environment, then flags.
func TestValuesFromEverywhere(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inConfig := write("config.yaml", "from: {config: file}\nwins: config")
	inEnv := write("env.yaml", "from: {env: file}\nwins: env")
	first := write("first.yaml", "from: {flag: first}\nwins: first\nreplicas: 1")
	second := write("second.yaml", "from: {flag: second}\nwins: second")
	file, err := parseConfigFile(write("zarf-config.yaml",
		"package: {deploy: {values: ["+inConfig+"], set_values: {a.b: 1, a: {c: true}, set: config}}}"))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"ZARF_PACKAGE_DEPLOY_VALUES": inEnv, "ZARF_HOST_PACKAGE_DEPLOY_SET_VALUES": "set=env,e='1'"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }

	var flags valuesFlags
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.add(set)
	if err := set.Parse([]string{"-v", first + "," + second, "--set-values", "replicas=2,set=flag", "--set-values", "text=a,b"}); err != nil {
		t.Fatal(err)
	}
	layers, err := flags.layers("package.deploy", file, lookup)
	if err != nil {
		t.Fatal(err)
	}
	got := config.Resolve(layers...)
	want := map[string]any{
		"from": map[string]any{"config": "file", "env": "file", "flag": "second"},
		"wins": "second", "replicas": json.Number("2"), "set": "flag", "text": "a,b", "e": "1",
		"a": map[string]any{"b": json.Number("1"), "c": true},
	}
	if diff := cmp.Diff(want, map[string]any(got.Config.Values)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, origin := range map[string]string{
		"values.from.config": config.OriginFile, "values.from.env": config.OriginEnvironment,
		"values.from.flag": config.OriginFlag, "values.set": config.OriginFlag, "values.e": config.OriginEnvironment,
	} {
		if got.Origins[key] != origin {
			t.Errorf("%s comes from %q, want %q in %v", key, got.Origins[key], origin, maps.Clone(got.Origins))
		}
	}
}

func TestValuesThatCannotBeRead(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("a: 1\npassword: hunter2: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	for _, tc := range []struct {
		flags valuesFlags
		env   string
		want  string
	}{
		{flags: valuesFlags{files: []string{bad}}, want: `bad.yaml": line 2: it is not YAML`},
		{flags: valuesFlags{files: []string{bad + ".no"}}, want: "no such file"},
		{flags: valuesFlags{set: []string{"hunter2"}}, want: "KEY.PATH=VALUE"},
		{env: "hunter2", want: "environment: setting values"},
	} {
		env := none
		if tc.env != "" {
			env = func(name string) (string, bool) { return tc.env, name == "ZARF_PACKAGE_REMOVE_SET_VALUES" }
		}
		_, err := tc.flags.layers("package.remove", configFile{}, env)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want %q in it and no value", err, tc.want)
		}
	}
}
