//go:build !wasip1

package sdk

import (
	"errors"
	"sync"
)

// native is the host of a program that runs natively.
var native struct {
	sync.Mutex
	answer func(request []byte) []byte
}

// UseHost has the host's answers made by a function until the test ends, for programs that run natively:
// both are JSON, as the host's own. The result puts back what was there.
//
//	t.Cleanup(sdk.UseHost(func(request []byte) []byte { return []byte(`{"items":[]}`) }))
func UseHost(answer func(request []byte) []byte) (restore func()) {
	native.Lock()
	defer native.Unlock()
	before := native.answer
	native.answer = answer
	return func() {
		native.Lock()
		defer native.Unlock()
		native.answer = before
	}
}

func callHost(request []byte) ([]byte, error) {
	native.Lock()
	answer := native.answer
	native.Unlock()
	if answer == nil {
		return nil, errors.New("there is no host natively: a test sets one with sdk.UseHost")
	}
	return answer(request), nil
}
