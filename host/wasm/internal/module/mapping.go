package module

import (
	"errors"
	"fmt"
)

// Mapping says what becomes of the indexes in constant expressions and element segments.
type Mapping struct {
	// Func returns the new index of a function.
	Func func(uint32) (uint32, error)
	// Global refuses the index of a global that is not there.
	Global func(uint32) error
}

// MapElements returns the body of the element section with its indexes mapped.
func (m *Module) MapElements(to Mapping) ([]byte, error) {
	r := &reader{data: m.Elements}
	n, err := r.u32()
	if err != nil {
		return nil, err
	}
	if uint64(n) > uint64(r.left()) {
		return nil, errShort
	}
	out := AppendU32(nil, n)
	for range n {
		if out, err = r.mapElement(out, to); err != nil {
			return nil, err
		}
	}
	if r.left() > 0 {
		return nil, errors.New("bytes left over")
	}
	return out, nil
}

// mapElement copies one segment. Bit 0 of its flags says that it is not active, bit 1 that it names a
// table (or, where not active, that it is declarative), bit 2 that its items are expressions.
func (r *reader) mapElement(out []byte, to Mapping) ([]byte, error) {
	flags, err := r.u32()
	if err != nil {
		return nil, err
	}
	if flags > 7 {
		return nil, fmt.Errorf("element segment with flags %d", flags)
	}
	out = AppendU32(out, flags)
	active, named, expressions := flags&1 == 0, flags&2 != 0, flags&4 != 0
	if active && named {
		table, err := r.u32()
		if err != nil {
			return nil, err
		}
		out = AppendU32(out, table)
	}
	if active {
		if out, err = r.mapExpr(out, to); err != nil {
			return nil, err
		}
	}
	if !active || named { // then the kind or type of the items is written
		kind, err := r.byte()
		if err != nil {
			return nil, err
		}
		out = append(out, kind)
	}
	n, err := r.u32()
	if err != nil {
		return nil, err
	}
	if uint64(n) > uint64(r.left()) {
		return nil, errShort
	}
	out = AppendU32(out, n)
	for range n {
		if expressions {
			out, err = r.mapExpr(out, to)
		} else {
			var f uint32
			if f, err = r.u32(); err == nil {
				if f, err = to.Func(f); err == nil {
					out = AppendU32(out, f)
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mapExpr copies a constant expression.
func (r *reader) mapExpr(out []byte, to Mapping) ([]byte, error) {
	for {
		start := r.pos
		op, err := r.byte()
		if err != nil {
			return nil, err
		}
		switch op {
		case 0x0b:
			return append(out, op), nil
		case 0xd2:
			f, err := r.u32()
			if err != nil {
				return nil, err
			}
			if f, err = to.Func(f); err != nil {
				return nil, err
			}
			out = AppendU32(append(out, op), f)
			continue
		case 0x23:
			g, err := r.u32()
			if err != nil {
				return nil, err
			}
			if err := to.Global(g); err != nil {
				return nil, err
			}
		default:
			r.pos = start
			if err := r.constInstr(); err != nil {
				return nil, err
			}
		}
		out = append(out, r.data[start:r.pos]...)
	}
}

// MapGlobals returns the body of the global section with the indexes in its constants mapped and one
// more global, given as its bytes, at the end.
func (m *Module) MapGlobals(to Mapping, more []byte) ([]byte, error) {
	out := AppendU32(nil, uint32(len(m.Globals))+1)
	for i, g := range m.Globals {
		mutable := byte(0)
		if g.Mutable {
			mutable = 1
		}
		out = append(out, byte(g.Type), mutable)
		var err error
		if out, err = (&reader{data: m.globalInits[i]}).mapExpr(out, to); err != nil {
			return nil, err
		}
	}
	return append(out, more...), nil
}
