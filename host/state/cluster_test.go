package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readSample(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	data, err := os.ReadFile(filepath.Join(dir, "..", "shared", "samples", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestClusterStateOfZarfSurvives(t *testing.T) {
	read := readSample(t, "zarf-state.json")
	c, err := DecodeCluster(read)
	if err != nil {
		t.Fatal(err)
	}
	if c.RegistryInfo.Address != "127.0.0.1:5002" || c.RegistryInfo.Mode != RegistryExternal || c.HasAgent() {
		t.Errorf("registry %q in mode %q, agent %v", c.RegistryInfo.Address, c.RegistryInfo.Mode, c.HasAgent())
	}
	written, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, read); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(compact.Bytes(), written) {
		t.Errorf("written:\n%s\nread:\n%s", written, compact.Bytes())
	}
}

func TestClusterStateKeepsWhatItDoesNotKnow(t *testing.T) {
	c, err := DecodeCluster([]byte(`{"zarfAppliance":false,"future":{"a":1},"registryInfo":{"address":"r:5000","new":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	c.StorageClass = "fast"
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"future":{"a":1}`, `"new":true`, `"storageClass":"fast"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is missing from %s", want, data)
		}
	}
}

func TestClusterStateWithoutRegistryMode(t *testing.T) {
	for state, want := range map[string]RegistryMode{
		`{"registryInfo":{"address":"127.0.0.1:31999","nodePort":31999}}`:        RegistryNodePort,
		`{"registryInfo":{"address":"[::1]:31999","nodePort":31999}}`:            RegistryNodePort,
		`{"registryInfo":{"address":"registry.example:5000","nodePort":0}}`:      RegistryExternal,
		`{"registryInfo":{"address":"127.0.0.1:5002","nodePort":0}}`:             RegistryExternal,
		`{"registryInfo":{"address":"r:1","nodePort":1,"registryMode":"proxy"}}`: RegistryProxy,
		`{}`: "",
	} {
		c, err := DecodeCluster([]byte(state))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.RegistryInfo.Mode; got != want {
			t.Errorf("%s: mode %q, want %q", state, got, want)
		}
	}
}

func TestClusterStatePrintsNoCredentials(t *testing.T) {
	c := Cluster{RegistryInfo: Registry{PushPassword: "canary"}, GitServer: GitServer{PullPassword: "canary"}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(verb, c); strings.Contains(text, "canary") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}
