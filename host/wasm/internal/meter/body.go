package meter

import (
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// What is paid beyond one unit an instruction.
const (
	costHostCall = 100
	costGrow     = 1000
)

// What weighs more than one block for whoever compiles it, as measured.
const (
	weightLoop      = 4
	labelsPerWeight = 16
)

// The instructions that are added, beside those that package module names.
const (
	opI64Const    = 0x42
	opI64LtS      = 0x53
	opI64Sub      = 0x7d
	opI64ShrU     = 0x88
	opI64ExtendU  = 0xad
	blockTypeNone = 0x40
)

// run is a straight run of instructions that is paid at one place: cost is written there once it is
// known.
type run struct {
	at    int  // where in the pieces its payment goes
	check bool // whether the payment may call tick
	cost  uint64
}

// block is one open block of a function.
type block struct {
	op      module.Op
	elsed   bool
	escapes bool // whether something inside may pass over its end
	outer   *run // the run around it
}

// piece is a copy of original bytes, or the payment of a run.
type piece struct {
	raw []byte
	run *run
}

// body rewrites the i-th function and appends it to the codes.
func (w *writer) body(i int) error {
	if len(w.m.Codes[i]) > w.limits.Body {
		return fmt.Errorf("%d bytes of code, at most %d are allowed", len(w.m.Codes[i]), w.limits.Body)
	}
	b, err := w.m.Body(i)
	if err != nil {
		return err
	}
	params := len(w.m.Types[w.m.Functions[i]].Params)
	f := &function{writer: w, locals: uint32(params) + b.Count}
	f.blocks = []block{{op: module.OpBlock}}
	f.begin(true)
	if err := w.m.Walk(b, f.instr); err != nil {
		return err
	}
	locals, declared := b.Locals, b.Declared
	if f.bulk {
		locals = append(append([]byte{}, locals...), 1, byte(module.I32))
		declared++
	}
	code := append(module.AppendU32(nil, declared), locals...)
	for _, p := range f.pieces {
		if p.run != nil {
			code = w.pay(code, *p.run)
		} else {
			code = append(code, p.raw...)
		}
	}
	w.codes = append(module.AppendU32(w.codes, uint32(len(code))), code...)
	return nil
}

// function is the state of one function's rewriting.
type function struct {
	*writer
	locals uint32 // with parameters; the index of the local that bulk instructions need
	bulk   bool
	weight int // of blocks and branches, for compilation
	blocks []block
	run    *run
	pieces []piece
}

// begin starts a run that is paid here.
func (f *function) begin(check bool) {
	f.run = &run{at: len(f.pieces), check: check}
	f.pieces = append(f.pieces, piece{run: f.run})
}

func (f *function) copy(raw []byte) {
	// Neighbours in the original stay one piece.
	if last := len(f.pieces) - 1; f.pieces[last].run == nil {
		if p := f.pieces[last].raw; cap(p) > len(p) && &p[:len(p)+1][len(p)] == &raw[0] {
			f.pieces[last].raw = p[:len(p)+len(raw)]
			return
		}
	}
	f.pieces = append(f.pieces, piece{raw: raw})
}

func (f *function) add(code ...byte) { f.pieces = append(f.pieces, piece{raw: code}) }

func (f *function) instr(in module.Instr) error {
	f.run.cost++
	if err := f.weigh(in); err != nil {
		return err
	}
	switch in.Op {
	case module.OpBlock, module.OpLoop, module.OpIf:
		f.open(in)
		return nil
	case module.OpElse:
		top := &f.blocks[len(f.blocks)-1]
		if top.op != module.OpIf || top.elsed {
			return errors.New("else outside an if")
		}
		top.elsed = true
		f.copy(in.Raw)
		f.begin(false)
		return nil
	case module.OpEnd:
		f.close(in)
		return nil
	case module.OpBr, module.OpBrIf, module.OpBrTable:
		f.leave(in.Index)
	case module.OpReturn:
		f.leave(uint32(len(f.blocks)))
	case module.OpCall:
		return f.call(in)
	case module.OpCallIndirect:
		if int64(in.Index) >= int64(len(f.m.Types)) {
			return fmt.Errorf("type %d of %d", in.Index, len(f.m.Types))
		}
	case module.OpLocalGet, module.OpLocalSet, module.OpLocalTee:
		if in.Index >= f.locals {
			return fmt.Errorf("local %d of %d", in.Index, f.locals)
		}
	case module.OpGlobalGet, module.OpGlobalSet:
		if err := f.checkGlobal(in.Index); err != nil {
			return err
		}
	case module.OpRefFunc:
		index, err := f.mapFunc(in.Index)
		if err != nil {
			return err
		}
		f.add(module.AppendU32([]byte{byte(module.OpRefFunc)}, index)...)
		return nil
	case module.OpMemoryGrow, module.OpTableGrow:
		f.run.cost += costGrow
	case module.OpMemoryFill, module.OpMemoryCopy, module.OpMemoryInit:
		f.payBulk(3)
	case module.OpTableFill, module.OpTableCopy, module.OpTableInit:
		f.payBulk(0)
	}
	f.copy(in.Raw)
	return nil
}

// leave marks the blocks whose ends a branch to a label passes over: those inside its target. The end
// of the target itself is where it goes, or for a loop where it comes to in the end.
func (f *function) leave(label uint32) {
	for i := range min(int64(label), int64(len(f.blocks))) {
		f.blocks[int64(len(f.blocks))-1-i].escapes = true
	}
}

// weigh refuses a function that would take an engine too long to compile.
func (f *function) weigh(in module.Instr) error {
	switch in.Op {
	case module.OpBlock, module.OpIf, module.OpBr, module.OpBrIf:
		f.weight++
	case module.OpLoop:
		f.weight += weightLoop
	case module.OpBrTable:
		f.weight += 1 + in.Labels/labelsPerWeight
	default:
		return nil
	}
	if f.weight > f.limits.Branches {
		return fmt.Errorf("it would take too long to compile: its blocks and branches weigh more than %d", f.limits.Branches)
	}
	if f.weight*int(f.locals+1) > f.limits.Work {
		return fmt.Errorf("it would take too long to compile: blocks and branches that weigh %d, with %d locals", f.weight, f.locals)
	}
	return nil
}

func (f *function) open(in module.Instr) {
	f.blocks = append(f.blocks, block{op: in.Op, outer: f.run})
	f.copy(in.Raw)
	switch in.Op {
	case module.OpLoop:
		f.begin(true)
	case module.OpIf:
		f.begin(false)
	}
}

// close ends a block. What follows is paid with what came before the block, if whoever came there also
// comes here; otherwise it is a run of its own.
func (f *function) close(in module.Instr) {
	f.copy(in.Raw)
	top := f.blocks[len(f.blocks)-1]
	f.blocks = f.blocks[:len(f.blocks)-1]
	if len(f.blocks) == 0 {
		return // the function's own end
	}
	if top.escapes {
		f.begin(false)
	} else {
		f.run = top.outer
	}
}

// call pays for a call of the host before it, and ticks after it: the host may have taken long.
func (f *function) call(in module.Instr) error {
	index, err := f.mapFunc(in.Index)
	if err != nil {
		return err
	}
	f.add(module.AppendU32([]byte{byte(module.OpCall)}, index)...)
	if in.Index < f.imported {
		f.run.cost += costHostCall
		f.add(f.tick(nil)...)
	}
	return nil
}

// payBulk pays for the number of bytes or elements on top of the stack, shifted right.
func (f *function) payBulk(shift byte) {
	f.bulk = true
	code := module.AppendU32([]byte{byte(module.OpLocalTee)}, f.locals)
	code = module.AppendU32(append(code, byte(module.OpGlobalGet)), f.globals)
	code = module.AppendU32(append(code, byte(module.OpLocalGet)), f.locals)
	code = append(code, opI64ExtendU, opI64Const, shift, opI64ShrU, opI64Sub)
	code = module.AppendU32(append(code, byte(module.OpGlobalSet)), f.globals)
	f.add(f.checked(code)...)
}

// pay writes the payment of a run.
func (w *writer) pay(code []byte, r run) []byte {
	if r.cost > 0 {
		code = module.AppendU32(append(code, byte(module.OpGlobalGet)), w.globals)
		code = module.AppendS64(append(code, opI64Const), int64(r.cost))
		code = module.AppendU32(append(code, opI64Sub, byte(module.OpGlobalSet)), w.globals)
	}
	if r.check {
		code = w.checked(code)
	}
	return code
}

// checked calls tick if the counter is below zero.
func (w *writer) checked(code []byte) []byte {
	code = module.AppendU32(append(code, byte(module.OpGlobalGet)), w.globals)
	code = append(code, opI64Const, 0, opI64LtS, byte(module.OpIf), blockTypeNone)
	return append(w.tick(code), byte(module.OpEnd))
}

// tick hands the counter to the host and takes back the new one.
func (w *writer) tick(code []byte) []byte {
	code = module.AppendU32(append(code, byte(module.OpGlobalGet)), w.globals)
	code = module.AppendU32(append(code, byte(module.OpCall)), w.imported)
	return module.AppendU32(append(code, byte(module.OpGlobalSet)), w.globals)
}
