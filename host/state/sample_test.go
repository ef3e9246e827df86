package state

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// shared returns a path in the folder of shared facts beside the repository.
func shared(t *testing.T, elements ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
	path := filepath.Join(append([]string{dir, "..", "shared"}, elements...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the shared folder is needed beside the repository: %v", err)
	}
	return path
}

// samples returns every record that Zarf wrote, to the byte, by file name.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, path := range glob(t, "DeployedPackage-*.json") { // printed by a tool that does not escape
		var compact, escaped bytes.Buffer
		if err := json.Compact(&compact, read(t, path)); err != nil {
			t.Fatal(err)
		}
		json.HTMLEscape(&escaped, compact.Bytes())
		found[filepath.Base(path)] = escaped.Bytes()
	}
	key := regexp.MustCompile(`(?m)^ +data: (\S{100,})$`)
	for _, path := range append(glob(t, "cluster/*.secret.yaml"), glob(t, "after-zarf/*.records.yaml")...) {
		for i, match := range key.FindAllSubmatch(read(t, path), -1) {
			data, err := base64.StdEncoding.DecodeString(string(match[1]))
			if err != nil {
				t.Fatal(err)
			}
			found[fmt.Sprintf("%s-%d", filepath.Base(path), i)] = data
		}
	}
	return found
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(shared(t, "samples"), pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples match %s: %v", pattern, err)
	}
	return paths
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
