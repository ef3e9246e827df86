package module

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// errShort says that the bytes end where more must follow.
var errShort = errors.New("unexpected end")

// reader walks over bytes; pos is relative to base, so that errors name places in the file.
type reader struct {
	data []byte
	pos  int
	base int
}

func (r *reader) left() int { return len(r.data) - r.pos }

func (r *reader) at() int { return r.base + r.pos }

func (r *reader) byte() (byte, error) {
	if r.pos >= len(r.data) {
		return 0, errShort
	}
	b := r.data[r.pos]
	r.pos++
	return b, nil
}

func (r *reader) bytes(n uint32) ([]byte, error) {
	if uint64(n) > uint64(r.left()) {
		return nil, errShort
	}
	out := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return out, nil
}

// unsigned reads a LEB128 number of at most that many bits, in no more bytes than those need.
func (r *reader) unsigned(bits uint) (uint64, error) {
	var value uint64
	for shift := uint(0); ; shift += 7 {
		b, err := r.byte()
		if err != nil {
			return 0, err
		}
		if rest := bits - shift; rest < 7 && b>>rest != 0 {
			return 0, fmt.Errorf("number of more than %d bits", bits)
		}
		value |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return value, nil
		}
	}
}

func (r *reader) u32() (uint32, error) {
	v, err := r.unsigned(32)
	return uint32(v), err
}

// signed reads a signed LEB128 number of at most that many bits.
func (r *reader) signed(bits uint) (int64, error) {
	var value int64
	for shift := uint(0); ; shift += 7 {
		b, err := r.byte()
		if err != nil {
			return 0, err
		}
		if rest := bits - shift; rest <= 7 {
			// The last byte: whatever lies above the number's bits must repeat its sign.
			top := int8(b<<1) >> rest
			if b&0x80 != 0 || (top != 0 && top != -1) {
				return 0, fmt.Errorf("number of more than %d bits", bits)
			}
		}
		value |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if used := shift + 7; used < 64 && b&0x40 != 0 {
				value |= -1 << used
			}
			return value, nil
		}
	}
}

func (r *reader) name() (string, error) {
	n, err := r.u32()
	if err != nil {
		return "", err
	}
	b, err := r.bytes(n)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", errors.New("name is not UTF-8")
	}
	return string(b), nil
}

// vector reads a count and then calls each for every element. A small module can hold millions of
// tiny elements that are large once read, so that every list has its most.
func (r *reader) vector(most uint32, each func(i int) error) error {
	n, err := r.u32()
	if err != nil {
		return err
	}
	if n > most {
		return fmt.Errorf("list of %d elements, at most %d are allowed", n, most)
	}
	if uint64(n) > uint64(r.left()) {
		return errShort
	}
	for i := range int(n) {
		if err := each(i); err != nil {
			return err
		}
	}
	return nil
}

// AppendU32 appends n as unsigned LEB128.
func AppendU32(dst []byte, n uint32) []byte { return AppendU64(dst, uint64(n)) }

// AppendU64 appends n as unsigned LEB128.
func AppendU64(dst []byte, n uint64) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// AppendS64 appends n as signed LEB128.
func AppendS64(dst []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}

// AppendName appends a length and the bytes of s.
func AppendName(dst []byte, s string) []byte {
	return append(AppendU32(dst, uint32(len(s))), s...)
}
