package guests

import "slices"

// The value types.
const (
	I32 byte = 0x7f
	I64 byte = 0x7e
)

// The instructions that the hostile guests are made of.
const (
	Unreachable byte = 0x00
	Drop        byte = 0x1a
	End         byte = 0x0b
	Return      byte = 0x0f
	I32Add      byte = 0x6a
	I32Sub      byte = 0x6b
	I32Eqz      byte = 0x45
	I32LtS      byte = 0x48
	MemoryGrow  byte = 0x40 // followed by 0
	typeNone    byte = 0x40
)

// Builder writes a module. Imports come before functions, since they share one index space.
type Builder struct {
	types    [][]byte
	imports  [][]byte
	funcs    [][]byte
	tables   [][]byte
	memories [][]byte
	globals  [][]byte
	exports  [][]byte
	codes    [][]byte
	datas    [][]byte
	start    []byte
	imported uint32
}

// Import adds an imported function and returns its index.
func (b *Builder) Import(module, name string, params, results []byte) uint32 {
	if len(b.funcs) > 0 {
		panic("guests: an import after a function")
	}
	b.imports = append(b.imports, cat(str(module), str(name), []byte{0}, uleb(b.typeOf(params, results))))
	b.imported++
	return b.imported - 1
}

// ImportMemory adds an imported memory.
func (b *Builder) ImportMemory(module, name string) {
	b.imports = append(b.imports, cat(str(module), str(name), []byte{2, 0, 1}))
}

// Func adds a function of the given parameters, results and locals and returns its index. The code
// needs no closing end.
func (b *Builder) Func(params, results, locals []byte, code ...[]byte) uint32 {
	b.funcs = append(b.funcs, uleb(b.typeOf(params, results)))
	var decl [][]byte
	for _, l := range locals {
		decl = append(decl, []byte{1, l})
	}
	body := cat(vec(decl), cat(code...), []byte{End})
	b.codes = append(b.codes, cat(uleb(uint32(len(body))), body))
	return b.imported + uint32(len(b.funcs)) - 1
}

// Memory adds a memory of min pages; max below zero means none.
func (b *Builder) Memory(min uint32, max int) { b.memories = append(b.memories, bounds(min, max)) }

// Table adds a table of function references.
func (b *Builder) Table(min uint32, max int) {
	b.tables = append(b.tables, cat([]byte{0x70}, bounds(min, max)))
}

// Global adds a mutable i32 and returns its index.
func (b *Builder) Global(value int32) uint32 {
	b.globals = append(b.globals, cat([]byte{I32, 1}, Const(value), []byte{End}))
	return uint32(len(b.globals)) - 1
}

// Data puts bytes into the memory before the module starts.
func (b *Builder) Data(offset int32, data string) {
	b.datas = append(b.datas, cat([]byte{0}, Const(offset), []byte{End}, str(data)))
}

// Export offers a thing of a kind (0 function, 2 memory) by name.
func (b *Builder) Export(name string, kind byte, index uint32) {
	b.exports = append(b.exports, cat(str(name), []byte{kind}, uleb(index)))
}

// Start makes a function run when the module is instantiated, before _start is called.
func (b *Builder) Start(index uint32) { b.start = uleb(index) }

// Bytes returns the module.
func (b *Builder) Bytes() []byte {
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, items [][]byte) {
		if len(items) > 0 {
			body := vec(items)
			out = cat(out, []byte{id}, uleb(uint32(len(body))), body)
		}
	}
	section(1, b.types)
	section(2, b.imports)
	section(3, b.funcs)
	section(4, b.tables)
	section(5, b.memories)
	section(6, b.globals)
	section(7, b.exports)
	if b.start != nil {
		out = cat(out, []byte{8}, uleb(uint32(len(b.start))), b.start)
	}
	section(10, b.codes)
	section(11, b.datas)
	return out
}

func (b *Builder) typeOf(params, results []byte) uint32 {
	t := cat([]byte{0x60}, uleb(uint32(len(params))), params, uleb(uint32(len(results))), results)
	for i, known := range b.types {
		if slices.Equal(known, t) {
			return uint32(i)
		}
	}
	b.types = append(b.types, t)
	return uint32(len(b.types)) - 1
}

// Const pushes a number.
func Const(n int32) []byte { return cat([]byte{0x41}, sleb(int64(n))) }

// Const64 pushes a number.
func Const64(n int64) []byte { return cat([]byte{0x42}, sleb(n)) }

// Call calls a function.
func Call(index uint32) []byte { return cat([]byte{0x10}, uleb(index)) }

// Get pushes a local.
func Get(local uint32) []byte { return cat([]byte{0x20}, uleb(local)) }

// Set pops a local.
func Set(local uint32) []byte { return cat([]byte{0x21}, uleb(local)) }

// Op is instructions without operands.
func Op(ops ...byte) []byte { return ops }

// Forever repeats code without end.
func Forever(code ...[]byte) []byte {
	return cat([]byte{0x03, typeNone}, cat(code...), []byte{0x0c, 0, End})
}

// If runs code if the top of the stack is not zero.
func If(code ...[]byte) []byte {
	return cat([]byte{0x04, typeNone}, cat(code...), []byte{End})
}

// Repeat runs code as often as n says, counted in a local.
func Repeat(local uint32, n int32, code ...[]byte) []byte {
	return cat(Const(n), Set(local), []byte{0x03, typeNone}, cat(code...),
		Get(local), Const(1), Op(I32Sub), []byte{0x22}, uleb(local), []byte{0x0d, 0, End})
}

// Fill is memory.fill of the three numbers on the stack.
func Fill() []byte { return []byte{0xfc, 11, 0} }

// TableGrow grows table 0 by n and leaves the outcome on the stack.
func TableGrow(n int32) []byte {
	return cat([]byte{0xd0, 0x70}, Const(n), []byte{0xfc, 15, 0})
}

func bounds(min uint32, max int) []byte {
	if max < 0 {
		return cat([]byte{0}, uleb(min))
	}
	return cat([]byte{1}, uleb(min), uleb(uint32(max)))
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func vec(items [][]byte) []byte { return cat(uleb(uint32(len(items))), cat(items...)) }

func str(s string) []byte { return cat(uleb(uint32(len(s))), []byte(s)) }

func uleb(n uint32) []byte {
	var out []byte
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

func sleb(n int64) []byte {
	for out := []byte(nil); ; {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
