package wasm_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/zarf-host/zarf-host/host/wasm"
)

func TestMain(m *testing.M) {
	wasm.ChildMain()
	goleak.VerifyTestMain(m)
}
