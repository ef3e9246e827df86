package wasm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/internal/guests"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// BenchmarkGuard asks the shipped guard about prunes of three sizes.
func BenchmarkGuard(b *testing.B) {
	p, err := load(b, guard(b), wasm.Options{CacheDir: guests.CompiledDir()})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			req := prune()
			object := `{"apiVersion":"v1","kind":"ConfigMap","namespace":"web","name":"settings","labels":{"app.kubernetes.io/name":"web"},"annotations":{"meta.helm.sh/release-name":"web"},"holdsData":false}`
			req.Plan = json.RawMessage(`{"prune":{"objects":[` + strings.Repeat(object+",", n-1) + object + `]}}`)
			var fuel uint64
			for b.Loop() {
				res, err := p.Call(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				fuel = res.Fuel
			}
			b.ReportMetric(float64(fuel), "fuel/op")
		})
	}
}
