package bundle_test

import (
	"testing"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/spec"
)

func TestFileName(t *testing.T) {
	for want, pkg := range map[string]spec.Package{
		"zarf-package-demo-amd64-0.1.0.tar.zst":     {Metadata: spec.Metadata{Name: "demo", Version: "0.1.0"}, Build: spec.Build{Architecture: "amd64"}},
		"zarf-package-demo-arm64.tar":               {Metadata: spec.Metadata{Name: "demo", Uncompressed: true}, Build: spec.Build{Architecture: "arm64"}},
		"zarf-package-demo-amd64-0.1.0-big.tar.zst": {Metadata: spec.Metadata{Name: "demo", Version: "0.1.0"}, Build: spec.Build{Architecture: "amd64", Flavor: "big"}},
		"zarf-init-amd64-1.tar.zst":                 {Kind: spec.KindInit, Metadata: spec.Metadata{Name: "init", Version: "1"}, Build: spec.Build{Architecture: "amd64"}},
		"zarf-package-demo-amd64-0.2.0-differential-0.1.0.tar.zst": {
			Metadata: spec.Metadata{Name: "demo", Version: "0.2.0"},
			Build:    spec.Build{Architecture: "amd64", Differential: true, DifferentialPackageVersion: "0.1.0"},
		},
	} {
		if got := bundle.FileName(&pkg); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
