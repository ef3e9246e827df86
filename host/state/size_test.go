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

// A17: a record that nearly fills its Secret, as one of Zarf's may, can be removed: what a removal adds
// never keeps it from beginning.
func TestRemovalOfFullRecordFits_A17(t *testing.T) {
	zarfs := func(n int) []byte {
		return []byte(`{"name":"p","data":{"kind":"ZarfPackageConfig","metadata":{"name":"p","description":"` +
			strings.Repeat("x", n) + `"}},"cliVersion":"v0.84.0","deployedComponents":[{"name":"a","status":"Succeeded"}]}`)
	}
	small, err := Decode(zarfs(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	as, _, err := small.Encode() // with the fields that every record has
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(zarfs(MaxSize-len(as)-10), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Package = r.Package.Begin(PackageEvent{Type: Remove, Timestamp: at(1)}).BeginComponent("a", Remove, at(1))
	r.Own = r.Own.Push(PushedImage{Reference: strings.Repeat("r", 200)})
	written, own, err := r.Encode()
	if err != nil || len(written)+len(own) > MaxSize {
		t.Fatalf("%d and %d bytes, %v", len(written), len(own), err)
	}
	if !strings.Contains(string(written), `"Removing"`) {
		t.Error("that the component is being removed is not recorded")
	}
	// A deployment that does not fit is refused instead: see Size.
	r.Package = r.Package.Begin(PackageEvent{Type: Deploy, Timestamp: at(2)})
	if total, _, err := r.Size(); err != nil || total <= MaxSize {
		t.Errorf("%d bytes, %v", total, err)
	}
}

// Old events go before a record is refused, but never the latest and the last success.
func TestOldEventsYield(t *testing.T) {
	r := sized("the configuration", MaxSize-3500)
	for i := range 9 {
		r.Package = r.Package.Begin(PackageEvent{Type: Deploy, Timestamp: at(3 + i), Version: strings.Repeat("1", 200)}).Finish(Failed, at(3+i), nil)
	}
	data, own, err := r.Encode()
	if err != nil || len(data)+len(own) > MaxSize {
		t.Fatalf("%d bytes, %v", len(data)+len(own), err)
	}
	got, err := Decode(data, own)
	if err != nil || len(got.Package.Events) != 2 {
		t.Fatalf("%d events, %v", len(got.Package.Events), err)
	}
	if _, ok := got.Package.LastSuccessfulDeploy(); !ok {
		t.Error("the last success is gone")
	}
}
