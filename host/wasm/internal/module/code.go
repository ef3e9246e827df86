package module

import (
	"errors"
	"fmt"
)

// Op is an instruction: its byte, or its prefix byte and number as 0xfc00 | n.
type Op uint32

// The instructions that somebody outside this package asks for by name.
const (
	OpUnreachable  Op = 0x00
	OpBlock        Op = 0x02
	OpLoop         Op = 0x03
	OpIf           Op = 0x04
	OpElse         Op = 0x05
	OpEnd          Op = 0x0b
	OpBr           Op = 0x0c
	OpBrIf         Op = 0x0d
	OpBrTable      Op = 0x0e
	OpReturn       Op = 0x0f
	OpCall         Op = 0x10
	OpCallIndirect Op = 0x11
	OpLocalGet     Op = 0x20
	OpLocalSet     Op = 0x21
	OpLocalTee     Op = 0x22
	OpGlobalGet    Op = 0x23
	OpGlobalSet    Op = 0x24
	OpMemoryGrow   Op = 0x40
	OpRefFunc      Op = 0xd2

	opBulk   Op = 0xfc00
	opVector Op = 0xfd00
)

// The bulk instructions.
const (
	OpMemoryInit Op = opBulk + 8
	OpMemoryCopy Op = opBulk + 10
	OpMemoryFill Op = opBulk + 11
	OpTableInit  Op = opBulk + 12
	OpTableCopy  Op = opBulk + 14
	OpTableGrow  Op = opBulk + 15
	OpTableFill  Op = opBulk + 17
)

const (
	maxBulk         = 17   // the last bulk instruction
	maxVector       = 0xff // the last vector instruction
	maxLabels       = 100_000
	maxLocals       = 50_000
	maxDeclarations = 10_000
	vectorLength    = 16
)

// Instr is one instruction of a body.
type Instr struct {
	Op Op
	// Raw are its bytes.
	Raw []byte
	// Index is its first operand where that is an index: of a label, function, local, global, type,
	// table or segment. Of several labels it is the outermost.
	Index uint32
	// Labels is how many labels a table of branches has.
	Labels int
}

// Body is the code of a function, split into what stands before the first instruction and the rest.
type Body struct {
	// Locals are the bytes of the declarations, without their count; Declared is that count.
	Locals   []byte
	Declared uint32
	// Count is how many locals there are, parameters not counted.
	Count uint32
	code  reader
}

// Body returns the i-th function body that the module defines.
func (m *Module) Body(i int) (Body, error) {
	r := reader{data: m.Codes[i], base: m.codeOffsets[i]}
	b := Body{}
	var err error
	if b.Declared, err = r.u32(); err != nil {
		return Body{}, err
	}
	if b.Declared > maxDeclarations {
		return Body{}, fmt.Errorf("%d declarations of locals, at most %d are allowed", b.Declared, maxDeclarations)
	}
	start := r.pos
	for range b.Declared {
		n, err := r.u32()
		if err != nil {
			return Body{}, err
		}
		if _, err := r.valueType(); err != nil {
			return Body{}, err
		}
		// Five bytes can ask for four billion locals, which an engine makes room for at once.
		if uint64(b.Count)+uint64(n) > maxLocals {
			return Body{}, fmt.Errorf("more than %d locals", maxLocals)
		}
		b.Count += n
	}
	b.Locals = r.data[start:r.pos]
	b.code = r
	return b, nil
}

// Walk calls visit for each instruction of a body in order, the closing end included. It refuses
// instructions that are not of the WebAssembly core specification 2.0 and blocks that do not nest.
func (m *Module) Walk(b Body, visit func(Instr) error) error {
	r := b.code
	depth := 1
	for r.left() > 0 {
		if depth == 0 {
			return fmt.Errorf("code after the end of the function at byte %d", r.at())
		}
		start := r.pos
		in, err := m.instr(&r)
		if err != nil {
			return fmt.Errorf("instruction at byte %d: %w", r.base+start, err)
		}
		in.Raw = r.data[start:r.pos]
		switch in.Op {
		case OpBlock, OpLoop, OpIf:
			depth++
		case OpEnd:
			depth--
		}
		if err := visit(in); err != nil {
			return fmt.Errorf("instruction at byte %d: %w", r.base+start, err)
		}
	}
	if depth != 0 {
		return fmt.Errorf("function ends inside a block at byte %d", r.at())
	}
	return nil
}

func (m *Module) instr(r *reader) (Instr, error) {
	op, err := r.byte()
	if err != nil {
		return Instr{}, err
	}
	in := Instr{Op: Op(op)}
	switch {
	case op == 0x00, op == 0x01, op == 0x05, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, op == 0xd1,
		op >= 0x45 && op <= 0xc4: // nothing follows
	case op >= 0x02 && op <= 0x04:
		err = m.blockType(r)
	case op == 0x0c, op == 0x0d, op == 0x10, op >= 0x20 && op <= 0x26, op == 0xd2:
		in.Index, err = r.u32()
	case op == 0x0e:
		label := func(int) error {
			v, err := r.u32()
			in.Index = max(in.Index, v)
			in.Labels++
			return err
		}
		if err = r.vector(maxLabels, label); err == nil {
			err = label(0)
		}
	case op == 0x11:
		if in.Index, err = r.u32(); err == nil {
			_, err = r.u32()
		}
	case op == 0x1c:
		err = r.vector(maxParams, func(int) error { _, err := r.valueType(); return err })
	case op >= 0x28 && op <= 0x3e:
		err = r.memArg()
	case op == 0x3f, op == 0x40:
		_, err = r.byte()
	case op == 0x41:
		_, err = r.signed(32)
	case op == 0x42:
		_, err = r.signed(64)
	case op == 0x43:
		_, err = r.bytes(4)
	case op == 0x44:
		_, err = r.bytes(8)
	case op == 0xd0:
		_, err = r.valueType()
	case op == 0xfc:
		err = r.bulk(&in)
	case op == 0xfd:
		err = r.vectorOp(&in)
	default:
		err = fmt.Errorf("%#x is no instruction of WebAssembly 2.0 (no threads, exceptions or tail calls)", op)
	}
	return in, err
}

func (m *Module) blockType(r *reader) error {
	v, err := r.signed(33)
	if err != nil {
		return err
	}
	if v >= int64(len(m.Types)) {
		return fmt.Errorf("block of type %d of %d", v, len(m.Types))
	}
	if v < 0 && v != -64 { // -64 is the byte 0x40, no result
		if _, err := (&reader{data: []byte{byte(v) & 0x7f}}).valueType(); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) memArg() error {
	align, err := r.u32()
	if err != nil {
		return err
	}
	if align >= 32 {
		return errors.New("alignment out of range, or a second memory")
	}
	_, err = r.u32()
	return err
}

func (r *reader) bulk(in *Instr) error {
	n, err := r.u32()
	if err != nil {
		return err
	}
	if n > maxBulk {
		return fmt.Errorf("0xfc %d is no instruction of WebAssembly 2.0", n)
	}
	in.Op = opBulk + Op(n)
	operands := 1
	switch {
	case n <= 7: // saturating conversions
		return nil
	case n == 8, n == 10, n == 12, n == 14: // init and copy have two
		operands = 2
	}
	for i := range operands {
		v, err := r.u32()
		if err != nil {
			return err
		}
		if i == 0 {
			in.Index = v
		}
	}
	return nil
}

func (r *reader) vectorOp(in *Instr) error {
	n, err := r.u32()
	if err != nil {
		return err
	}
	if n > maxVector {
		return fmt.Errorf("0xfd %d is no instruction of WebAssembly 2.0", n)
	}
	in.Op = opVector + Op(n)
	switch {
	case n <= 11, n == 92, n == 93:
		return r.memArg()
	case n == 12, n == 13:
		_, err = r.bytes(vectorLength)
		return err
	case n >= 21 && n <= 34:
		_, err = r.byte()
		return err
	case n >= 84 && n <= 91:
		if err := r.memArg(); err != nil {
			return err
		}
		_, err = r.byte()
		return err
	}
	return nil
}
