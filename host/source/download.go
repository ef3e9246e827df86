package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
)

// download reads what a server has at an address, and goes on where a connection broke. Its bytes
// are not to be believed until they are verified.
type download struct {
	ctx  context.Context
	opts Options
	name string // of the address, without credentials
	// file is what the server has there, if a manifest says so.
	file string
	// known is whether the server was there before: then it is worth waiting for.
	known bool
	// persistent is whether get tries again itself when the server refuses for the moment.
	persistent bool
	// get asks for the bytes from an offset on. An answer with status 200 has all of them.
	get func(ctx context.Context, offset int64) (*http.Response, error)
	// size is how many bytes there are, -1 until it is known.
	size int64

	offset   int64
	failures int   // since there was progress
	mark     int64 // the offset from which that is counted
	body     io.ReadCloser
	cancel   context.CancelCauseFunc // of the connection
	watchdog *time.Timer
}

// progress is how much has to arrive for a connection not to count as another failure: less, and a
// server that breaks each connection after a few bytes would keep us busy for ever.
const progress = 256 << 10

// open starts, so that an address without anything behind it is an error at once.
func (d *download) open() error {
	for d.body == nil {
		if err := d.connect(); err != nil {
			if err := d.again(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read reads on, over as many connections as it takes.
func (d *download) Read(p []byte) (int, error) {
	for {
		if d.body == nil && d.size >= 0 && d.offset > 0 && d.offset >= d.size {
			return 0, io.EOF // the connection broke after the last byte
		}
		if err := d.open(); err != nil {
			return 0, err
		}
		n, err := d.readSome(p)
		d.offset += int64(n)
		if d.offset-d.mark >= progress {
			d.failures, d.mark = 0, d.offset
		}
		switch {
		case err == nil:
			return n, nil
		case err == io.EOF && (d.size < 0 || d.offset >= d.size):
			return n, io.EOF
		}
		d.hangUp()
		if n > 0 {
			return n, nil // the next Read connects again
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err := d.again(err); err != nil {
			return 0, err
		}
	}
}

// readSome reads from the connection that there is, which may not be silent for too long.
func (d *download) readSome(p []byte) (int, error) {
	d.watchdog.Reset(d.opts.StallLimit)
	n, err := d.body.Read(p)
	d.watchdog.Stop()
	return n, err
}

// Close ends the connection.
func (d *download) Close() error {
	d.hangUp()
	return nil
}

func (d *download) hangUp() {
	if d.body != nil {
		_ = d.body.Close() // only read from
		d.cancel(nil)
		d.body = nil
	}
}

// again waits before another attempt, or returns why there is none.
func (d *download) again(err error) error {
	if ctxErr := d.ctx.Err(); ctxErr != nil {
		return context.Cause(d.ctx)
	}
	err = fetchError(d.name, err)
	var network *net.OpError
	unreachable := errors.As(err, &network) && network.Op == "dial" && !d.known
	if !transient(err) || unreachable || d.persistent && statusOf(err) != 0 {
		return err
	}
	if d.failures >= d.opts.Retries {
		return fmt.Errorf("gave up after %d attempts without progress: %w", d.failures+1, err)
	}
	pause := d.opts.pause(d.failures)
	d.failures++
	d.opts.warn(fmt.Sprintf("%v; trying again in %v (%d of %d)", err, pause, d.failures, d.opts.Retries))
	return sleep(d.ctx, pause)
}

// connect asks for what is still missing.
func (d *download) connect() error {
	ctx, cancel := context.WithCancelCause(d.ctx)
	stall := &stallError{d.opts.StallLimit}
	watchdog := time.AfterFunc(d.opts.StallLimit, func() { cancel(stall) })
	response, err := d.get(ctx, d.offset)
	watchdog.Stop()
	if err == nil {
		err = d.accept(response)
		if err != nil {
			_ = response.Body.Close() // the answer is of no use
		}
	}
	if err != nil {
		cancel(nil)
		if context.Cause(ctx) == error(stall) {
			return stall
		}
		return err
	}
	d.cancel, d.watchdog, d.known = cancel, watchdog, true
	d.body = &stalledBody{ReadCloser: response.Body, ctx: ctx}
	if d.offset > 0 && response.StatusCode == http.StatusOK {
		return d.skip()
	}
	return nil
}

// accept looks at an answer. What it says of the size has to stay the same.
func (d *download) accept(response *http.Response) error {
	size := response.ContentLength
	switch {
	case response.StatusCode == http.StatusPartialContent && d.offset > 0:
		start, total, ok := parseContentRange(response.Header.Get("Content-Range"))
		if !ok || start != d.offset {
			return fmt.Errorf("the server answers a request for the bytes from %d on with the range %q", d.offset, response.Header.Get("Content-Range"))
		}
		size = total
	case response.StatusCode != http.StatusOK:
		return refusal(response)
	}
	if d.size >= 0 && size >= 0 && size != d.size {
		if d.file != "" {
			return &bundle.RefusedError{File: d.file, Reason: fmt.Sprintf("the registry has %d bytes of it, the manifest declares %d", size, d.size)}
		}
		return fmt.Errorf("the server has %d bytes, there should be %d", size, d.size)
	}
	if d.size < 0 {
		d.size = size
	}
	return nil
}

// skip passes over what was read before, from a server that starts from the beginning.
func (d *download) skip() error {
	buf := make([]byte, 64<<10)
	for left := d.offset; left > 0; {
		n, err := d.readSome(buf[:min(int64(len(buf)), left)])
		left -= int64(n)
		if err != nil && left > 0 {
			d.hangUp()
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// stalledBody tells that it was ended for its silence.
type stalledBody struct {
	io.ReadCloser
	ctx context.Context
}

func (s *stalledBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	var stall *stallError
	if err != nil && errors.As(context.Cause(s.ctx), &stall) {
		return n, stall
	}
	return n, err
}

// parseContentRange reads "bytes 5-9/10"; total is -1 where the server does not tell.
func parseContentRange(text string) (start, total int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, all, slash := strings.Cut(text, "/")
	first, _, dash := strings.Cut(span, "-")
	if !ok || !slash || !dash {
		return 0, 0, false
	}
	start, err := strconv.ParseInt(first, 10, 64)
	if err != nil || start < 0 {
		return 0, 0, false
	}
	if all == "*" {
		return start, -1, true
	}
	total, err = strconv.ParseInt(all, 10, 64)
	return start, total, err == nil && total >= start
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
