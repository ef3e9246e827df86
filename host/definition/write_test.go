package definition_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/definition"
)

// What Zarf wrote, read and written again is what it was, to the byte.
func TestMarshalWritesAsZarfDoes(t *testing.T) {
	for _, name := range []string{"demo-0.1.0.zarf.yaml", "demo-0.2.0-differential.zarf.yaml", "demo-0.2.0-full.zarf.yaml", "signed.zarf.yaml"} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "samples", name))
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := definition.Parse(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := definition.Marshal(pkg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("differs (-Zarf +ours):\n%s", diff)
			}
		})
	}
}
