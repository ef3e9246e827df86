package wasm

import (
	"crypto/sha256"
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// clock is the only time that a guest sees: it stands still at the request's time and moves when the
// guest sleeps, so that no verdict depends on how fast a machine is.
type clock struct {
	start int64 // nanoseconds since 1970
	slept int64
}

func newClock(now time.Time) *clock {
	if now.IsZero() {
		now = time.Unix(0, 0)
	}
	return &clock{start: now.UnixNano()}
}

func (c *clock) wall() int64 { return c.add(c.start) }

// monotonic begins at a second: Go's runtime takes a monotonic clock of zero for a broken one.
func (c *clock) monotonic() int64 { return c.add(int64(time.Second)) }

func (c *clock) add(to int64) int64 {
	if c.slept > math.MaxInt64-to {
		return math.MaxInt64
	}
	return to + c.slept
}

func (c *clock) sleep(ns int64) {
	if ns > 0 {
		c.slept = c.add(ns)
	}
}

// randomness returns the bytes that a guest takes for random: the same for the same module and
// request.
func randomness(digest string, request []byte) io.Reader {
	h := sha256.New()
	h.Write([]byte(digest))
	h.Write([]byte{0})
	h.Write(request)
	return rand.NewChaCha8([32]byte(h.Sum(nil)))
}
