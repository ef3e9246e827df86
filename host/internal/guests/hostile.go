package guests

import "encoding/binary"

// Answer is a valid response to the request of that id.
func Answer(id, verdict string) string {
	return `{"apiVersion":"hooks.zarf-host.dev/v1","kind":"HookResponse","id":"` + id + `","verdict":"` + verdict + `"}`
}

// Command builds a module that is a plugin in every outward respect: it exports _start, which runs
// the code, and a memory of that many pages.
func Command(pages uint32, code func(*Program) []byte) []byte {
	return command(&Program{Builder: &Builder{}}, pages, code)
}

// Asking is a Command that imports the host's functions as well.
func Asking(pages uint32, code func(*Program) []byte) []byte {
	p := &Program{Builder: &Builder{}}
	p.call = p.Import("zarf_host", "call", []byte{I32, I32}, []byte{I64})
	p.read = p.Import("zarf_host", "read", []byte{I32, I32}, []byte{I32})
	return command(p, pages, code)
}

func command(p *Program, pages uint32, code func(*Program) []byte) []byte {
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
	call, read                uint32
	top                       int32
}

// Ask asks the host with a text and leaves the length of the answer, an i64.
func (p *Program) Ask(text string) []byte {
	at := p.text(text)
	return cat(Const(at), Const(int32(len(text))), Call(p.call))
}

// AskAt asks the host with whatever lies in memory there.
func (p *Program) AskAt(at, length int32) []byte { return cat(Const(at), Const(length), Call(p.call)) }

// ReadAnswer reads as much of the answer into memory and leaves how much it was, an i32.
func (p *Program) ReadAnswer(at, length int32) []byte {
	return cat(Const(at), Const(length), Call(p.read))
}

// text puts a text into memory and returns where.
func (p *Program) text(text string) int32 {
	if p.top == 0 {
		p.top = 1024
	}
	at := p.top
	p.Data(at, text)
	p.top += (int32(len(text)) + 15) &^ 15
	return at
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
