package guests

import "encoding/binary"

// Answer is a valid response to the request of that id.
func Answer(id, verdict string) string {
	return `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"` + id + `","verdict":"` + verdict + `"}`
}

// Command builds a module that is a plugin in every outward respect: it exports _start, which runs
// the code, and a memory of that many pages.
func Command(pages uint32, code func(*Program) []byte) []byte {
	p := &Program{Builder: &Builder{}}
	p.write = p.Import("wasi_snapshot_preview1", "fd_write", []byte{I32, I32, I32, I32}, []byte{I32})
	p.exit = p.Import("wasi_snapshot_preview1", "proc_exit", []byte{I32}, nil)
	p.poll = p.Import("wasi_snapshot_preview1", "poll_oneoff", []byte{I32, I32, I32, I32}, []byte{I32})
	p.random = p.Import("wasi_snapshot_preview1", "random_get", []byte{I32, I32}, []byte{I32})
	p.Memory(pages, -1)
	body := code(p)
	start := p.Func(nil, nil, []byte{I32}, body)
	p.Export("_start", 0, start)
	p.Export("memory", 2, 0)
	return p.Bytes()
}

// Program is a command under construction. Its _start has one local, an i32 of index 0; the memory
// below 1024 is its own, texts lie above.
type Program struct {
	*Builder
	write, exit, poll, random uint32
	top                       int32
}

// Print writes text to a file descriptor, once each time that it runs.
func (p *Program) Print(fd int32, text string) []byte {
	if p.top == 0 {
		p.top = 1024
	}
	// Each text has its iovec before it.
	at := p.top
	iovec := binary.LittleEndian.AppendUint32(nil, uint32(at+8))
	iovec = binary.LittleEndian.AppendUint32(iovec, uint32(len(text)))
	p.Data(at, string(iovec)+text)
	p.top += (8 + int32(len(text)) + 15) &^ 15
	return cat(Const(fd), Const(at), Const(1), Const(0), Call(p.write), Op(Drop))
}

// Exit ends the program with a code.
func (p *Program) Exit(code int32) []byte { return cat(Const(code), Call(p.exit)) }

// Random fills memory with random bytes.
func (p *Program) Random(at, n int32) []byte {
	return cat(Const(at), Const(n), Call(p.random), Op(Drop))
}

// Sleep waits that many nanoseconds.
func (p *Program) Sleep(ns uint64) []byte {
	subscription := make([]byte, 48) // a relative clock event
	binary.LittleEndian.PutUint64(subscription[24:], ns)
	p.Data(128, string(subscription))
	return cat(Const(128), Const(256), Const(1), Const(320), Call(p.poll), Op(Drop))
}
