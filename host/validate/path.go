package validate

import (
	"strconv"
	"strings"
)

// path is the way from the document to a node: string keys and int indexes.
type path []any

// with returns a path that is one step longer and shares nothing with p that could change.
func (p path) with(steps ...any) path {
	return append(p[:len(p):len(p)], steps...)
}

func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case !plainKey(step):
				b.WriteString("[" + strconv.Quote(step) + "]")
			case b.Len() > 0:
				b.WriteString("." + step)
			default:
				b.WriteString(step)
			}
		}
	}
	return b.String()
}

// pointer is the path as RFC 6901 writes it.
func (p path) pointer() string {
	var b strings.Builder
	for _, step := range p {
		b.WriteByte('/')
		switch step := step.(type) {
		case int:
			b.WriteString(strconv.Itoa(step))
		case string:
			b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
		}
	}
	return b.String()
}

// plainKey reports whether a key reads well without quotes between dots.
func plainKey(key string) bool {
	for _, r := range key {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return key != ""
}
