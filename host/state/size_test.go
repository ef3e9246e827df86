package state

import (
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/spec"
)

// sized is a record of ours that takes about n bytes, most of them in the named part.
func sized(part string, n int) Record {
	var r Record
	r.Package.Name = "p"
	r.Package = r.Package.Begin(PackageEvent{Type: Deploy, Timestamp: at(1)})
	filler := strings.Repeat("x", n)
	switch part {
	case "the configuration":
		r.Package = r.Package.Finish(Succeeded, at(2), &DeployConfig{SetVariables: map[string]string{"A": filler}})
	case `the definition of component "big"`:
		r.Package.Data.Components = []spec.Component{{Name: "small"}, {Name: "big", Description: filler}}
	case `pushed of key "zarf-host"`:
		r.Own = r.Own.Push(PushedImage{Reference: filler})
	}
	return r
}

func TestSize_A17(t *testing.T) {
	for _, part := range []string{"the configuration", `the definition of component "big"`, `pushed of key "zarf-host"`} {
		for _, n := range []int{900_000, 1_200_000} {
			r := sized(part, n)
			total, parts, err := r.Size()
			if err != nil {
				t.Fatal(err)
			}
			data, own, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if total != len(data)+len(own) || total < n || total > n+3000 {
				t.Errorf("%s of %d bytes: measured %d, encoded %d and %d", part, n, total, len(data), len(own))
			}
			if parts[0].Name != part || parts[0].Bytes < n || len(parts) < 5 {
				t.Errorf("%s of %d bytes: largest is %+v", part, n, parts[0])
			}
		}
	}
}

// The copy of the configuration never makes a record too large that would fit without it.
func TestCopyOfTheConfigurationYields(t *testing.T) {
	for n, want := range map[int]bool{400_000: true, 600_000: false} {
		_, own, err := sized("the configuration", n).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(own), "deployConfig"); got != want {
			t.Errorf("%d bytes: copied %v, want %v", n, got, want)
		}
	}
}
