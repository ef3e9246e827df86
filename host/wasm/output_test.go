package wasm

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestLogWriterKeepsHeadAndTail(t *testing.T) {
	for _, chunk := range []int{1, 3, 7, 100, 1000} {
		w := &logWriter{limit: 20}
		all := []byte("0123456789" + strings.Repeat("x", 500) + "abcdefghij")
		for rest := all; len(rest) > 0; {
			n := min(chunk, len(rest))
			if wrote, err := w.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("wrote %d, %v", wrote, err)
			}
			rest = rest[n:]
		}
		if got, want := w.String(), "0123456789\n… 500 bytes left out …\nabcdefghij"; got != want {
			t.Errorf("in chunks of %d it keeps %q, wanted %q", chunk, got, want)
		}
	}
}

func TestLogWriterShort(t *testing.T) {
	w := &logWriter{limit: 20}
	w.Write([]byte("one\n\x1b[2Jtwo\n"))
	if got, want := w.String(), "one\n\\x1b[2Jtwo\n"; got != want {
		t.Errorf("it shows %q, wanted %q", got, want)
	}
	if got := w.lastLine(); got != `\x1b[2Jtwo` {
		t.Errorf("last line is %q", got)
	}
}

func TestAnswerWriterStopsTheGuest(t *testing.T) {
	var cause error
	w := &answerWriter{limit: 10, stop: func(err error) { cause = err }}
	w.Write([]byte("0123456789"))
	if w.over || cause != nil {
		t.Fatal("stopped at the limit")
	}
	if _, err := w.Write([]byte("x")); err == nil || !w.over || !errors.Is(cause, errTooMuch) {
		t.Errorf("over is %v, cause %v, error %v", w.over, cause, err)
	}
	if !bytes.Equal(w.buf, []byte("0123456789")) {
		t.Errorf("kept %q", w.buf)
	}
}

func TestClock(t *testing.T) {
	c := newClock(time.Unix(100, 7))
	if c.monotonic() == 0 {
		t.Error("the monotonic clock begins at zero, which Go's runtime takes for a broken one")
	}
	before := c.monotonic()
	c.sleep(int64(time.Minute))
	c.sleep(-5)
	if wall := c.wall(); wall != 160e9+7 || c.monotonic()-before != int64(time.Minute) {
		t.Errorf("the clock shows %d", wall)
	}
	for range 3 {
		c.sleep(math.MaxInt64)
	}
	if c.monotonic() < before {
		t.Error("the clock went backwards")
	}
}
