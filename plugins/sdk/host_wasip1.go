package sdk

import (
	"fmt"
	"runtime"
	"unsafe"
)

//go:wasmimport zarf_host call
func zarfHostCall(request unsafe.Pointer, length uint32) int64

//go:wasmimport zarf_host read
func zarfHostRead(into unsafe.Pointer, length uint32) int32

// callHost asks the host. Programs that do not call it import nothing of it.
func callHost(request []byte) ([]byte, error) {
	n := zarfHostCall(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	runtime.KeepAlive(request)
	if n < 0 {
		return nil, fmt.Errorf("calling the host: error number %d", -n)
	}
	answer := make([]byte, n)
	if n == 0 {
		return answer, nil
	}
	got := zarfHostRead(unsafe.Pointer(unsafe.SliceData(answer)), uint32(n))
	runtime.KeepAlive(answer)
	if int64(got) != n {
		return nil, fmt.Errorf("reading the host's answer: %d of %d bytes", got, n)
	}
	return answer, nil
}
