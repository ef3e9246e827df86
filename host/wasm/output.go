package wasm

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

var errTooMuch = errors.New("it wrote more")

// answerWriter keeps what a guest writes to stdout. A guest may ignore that a write failed, so that
// overstepping the limit also stops the guest.
type answerWriter struct {
	limit int
	stop  func(error)
	buf   []byte
	over  bool
}

func (w *answerWriter) Write(p []byte) (int, error) {
	if w.over || len(p) > w.limit-len(w.buf) {
		w.over = true
		w.stop(errTooMuch)
		return 0, errTooMuch
	}
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// logWriter keeps the beginning and the end of what a guest writes to stderr.
type logWriter struct {
	limit int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring is written next
	lost  int64
}

func (w *logWriter) Write(p []byte) (int, error) {
	n := len(p)
	half := w.limit / 2
	if room := half - len(w.head); room > 0 {
		take := min(room, len(p))
		w.head = append(w.head, p[:take]...)
		p = p[take:]
	}
	if over := len(p) - half; over > 0 {
		w.lost += int64(over)
		p = p[over:]
	}
	if room := half - len(w.tail); room > 0 {
		take := min(room, len(p))
		w.tail = append(w.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		took := copy(w.tail[w.next:], p)
		w.lost += int64(took)
		w.next = (w.next + took) % len(w.tail)
		p = p[took:]
	}
	return n, nil
}

// String returns the log with what would command a terminal made visible.
func (w *logWriter) String() string {
	var b strings.Builder
	b.WriteString(printable(w.head))
	if w.lost > 0 {
		fmt.Fprintf(&b, "\n… %d bytes left out …\n", w.lost)
	}
	b.WriteString(printable(w.tail[w.next:]))
	b.WriteString(printable(w.tail[:w.next]))
	return b.String()
}

// lastLine returns the end of the log for an error message.
func (w *logWriter) lastLine() string {
	const most = 200
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > most {
		last = strings.ToValidUTF8(last[:most], "") + "…"
	}
	return last
}

// oneLine is the beginning of a text, as printable as a log.
func oneLine(text string) string {
	const most = 1000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.ReplaceAll(printable([]byte(text)), "\n", " ")
}

func printable(data []byte) string {
	var b strings.Builder
	for _, r := range string(data) {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, "\\x%02x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
