package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host/validate"
)

// Each flag that a config file can set has a key in the schema of config files.
func TestConfigFileSchemaHasEachFlag(t *testing.T) {
	v, err := validate.New()
	if err != nil {
		t.Fatal(err)
	}
	unknown := func(text string) string {
		for _, d := range v.FileOf(validate.ConfigFile, "zarf-config.yaml", []byte(text)).Errors() {
			if d.Rule == "unknown-key" {
				return d.String()
			}
		}
		return ""
	}
	command := (&root{}).command()
	checked := 0
	for _, name := range []string{"deploy", "remove", "create", "publish", "pull"} {
		var verb *cobra.Command
		for _, c := range command.Commands() {
			if c.Name() == name {
				verb = c
			}
		}
		if verb == nil {
			t.Fatalf("there is no command %q", name)
		}
		verb.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			checked++
			key := strings.ReplaceAll(f.Name, "-", "_")
			if fault := unknown("package: {" + name + ": {" + key + ": x}}"); fault != "" {
				t.Errorf("--%s of %s: %s", f.Name, name, fault)
			}
		})
	}
	command.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		checked++
		if fault := unknown(strings.ReplaceAll(f.Name, "-", "_") + ": x"); fault != "" {
			t.Errorf("--%s: %s", f.Name, fault)
		}
	})
	if checked < 60 {
		t.Errorf("only %d flags were checked", checked)
	}
	if unknown("package: {deploy: {componets: x}}") == "" {
		t.Error("a misspelt key passes")
	}
}
