package validate

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted diagnostics")

// Every archive holds a file, whose name says what it is, and the diagnostics that are wanted for
// it, one a line, in "want".
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	v := newValidator(t)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 2 || archive.Files[1].Name != "want" {
				t.Fatal("want two files, the second one named want")
			}
			input := archive.Files[0]
			kinds := map[string]Kind{
				"deploy-config.yaml": DeployConfig, "plugin.yaml": PluginMetadata,
				"request.json": HookRequest, "response.json": HookResponse,
			}
			var result Result
			switch kind, ok := kinds[input.Name]; {
			case ok:
				result = v.FileOf(kind, input.Name, input.Data)
			case strings.HasPrefix(input.Name, "built/"):
				result = v.File(input.Name, input.Data, Options{Built: true})
			default:
				result = v.File(input.Name, input.Data, Options{})
			}
			got := lines(result)
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(archive.Files[1].Data); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}
