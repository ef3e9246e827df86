package module

import (
	"fmt"
	"slices"
)

func (r *reader) valueType() (ValueType, error) {
	b, err := r.byte()
	if err != nil {
		return 0, err
	}
	switch v := ValueType(b); v {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
		return v, nil
	default:
		return 0, fmt.Errorf("unknown value type %#x", b)
	}
}

func (r *reader) table() (Table, error) {
	elem, err := r.byte()
	if err != nil {
		return Table{}, err
	}
	t := Table{Elem: ValueType(elem)}
	if t.Elem != FuncRef && t.Elem != ExternRef {
		return Table{}, fmt.Errorf("unknown table element type %#x", elem)
	}
	t.Limits, err = r.limits()
	return t, err
}

func (r *reader) limits() (Limits, error) {
	flags, err := r.byte()
	if err != nil {
		return Limits{}, err
	}
	if flags > 1 {
		return Limits{}, fmt.Errorf("limits with flags %#x: shared and 64-bit memories are not supported", flags)
	}
	var l Limits
	if l.Min, err = r.u32(); err != nil {
		return Limits{}, err
	}
	if flags == 1 {
		l.HasMax = true
		l.Max, err = r.u32()
	}
	return l, err
}

func (r *reader) global() (Global, error) {
	t, err := r.valueType()
	if err != nil {
		return Global{}, err
	}
	mut, err := r.byte()
	if err != nil {
		return Global{}, err
	}
	if mut > 1 {
		return Global{}, fmt.Errorf("global with mutability %d", mut)
	}
	return Global{Type: t, Mutable: mut == 1}, nil
}

// constExpr skips a constant expression up to and with its end.
func (r *reader) constExpr() error {
	for {
		if r.left() > 0 && r.data[r.pos] == byte(OpEnd) {
			r.pos++
			return nil
		}
		if err := r.constInstr(); err != nil {
			return err
		}
	}
}

func (r *reader) constInstr() error {
	op, err := r.byte()
	if err != nil {
		return err
	}
	switch op {
	case 0x41: // i32.const
		_, err = r.signed(32)
	case 0x42: // i64.const
		_, err = r.signed(64)
	case 0x43: // f32.const
		_, err = r.bytes(4)
	case 0x44: // f64.const
		_, err = r.bytes(8)
	case 0x23, 0xd2: // global.get, ref.func
		_, err = r.u32()
	case 0xd0: // ref.null
		_, err = r.valueType()
	case 0xfd: // v128.const
		var sub uint32
		if sub, err = r.u32(); err == nil && sub != 12 {
			err = fmt.Errorf("vector instruction %d in a constant", sub)
		}
		if err == nil {
			_, err = r.bytes(vectorLength)
		}
	default:
		err = fmt.Errorf("instruction %#x in a constant", op)
	}
	return err
}

// Equal says whether two signatures are the same.
func (t FuncType) Equal(other FuncType) bool {
	return slices.Equal(t.Params, other.Params) && slices.Equal(t.Results, other.Results)
}
