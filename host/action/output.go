package action

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	longestLine   = 64 << 10 // a longer line is handed on in cut form
	longestOutput = 4 << 20  // what a variable may be set from
	tailLines     = 5        // of stderr, for the error of a failed command
)

// output hands on what a command writes, line by line, and keeps what is needed later: the
// standard output where a variable is set from it, and the end of the error output.
type output struct {
	mu       sync.Mutex
	emit     func(line string)
	capture  bool
	text     bytes.Buffer
	overflow bool
	last     []string
	out, err lines
}

// newOutput returns an output that calls emit for each line, never twice at the same time.
func newOutput(emit func(string), capture bool) *output {
	return &output{emit: emit, capture: capture}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (o *output) stdout() io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.capture {
			room := min(len(p), longestOutput-o.text.Len())
			o.text.Write(p[:room])
			o.overflow = o.overflow || room < len(p)
		}
		o.out.write(p, o.emit)
		return len(p), nil
	})
}

func (o *output) stderr() io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err.write(p, o.errLine)
		return len(p), nil
	})
}

func (o *output) errLine(line string) {
	o.last = append(o.last, line)
	if len(o.last) > tailLines {
		o.last = o.last[1:]
	}
	o.emit(line)
}

// flush hands on the last lines where they had no line end.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out.flush(o.emit)
	o.err.flush(o.errLine)
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(strings.Join(o.last, "\n"))
}

// captured returns the standard output without the white space around it.
func (o *output) captured() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.overflow {
		return "", fmt.Errorf("its output is over %d MiB, too much to set a variable or value from", longestOutput>>20)
	}
	return strings.TrimSpace(o.text.String()), nil
}

// lines cuts a stream into lines without their line ends.
type lines struct {
	buf bytes.Buffer
	cut bool
}

func (l *lines) write(p []byte, emit func(string)) {
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		room := min(len(line), longestLine-l.buf.Len())
		l.buf.Write(line[:room])
		l.cut = l.cut || room < len(line)
		if !found {
			return
		}
		l.send(emit)
		p = rest
	}
}

func (l *lines) flush(emit func(string)) {
	if l.buf.Len() > 0 {
		l.send(emit)
	}
}

func (l *lines) send(emit func(string)) {
	text := strings.TrimSuffix(l.buf.String(), "\r")
	if l.cut {
		// The cut may have split a secret, which masking would then miss: leave its surroundings out.
		text = fmt.Sprintf("(a line of more than %d KiB is not shown)", longestLine>>10)
	}
	emit(text)
	l.buf.Reset()
	l.cut = false
}
