package registry_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if anything goes on after the clients are closed.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
