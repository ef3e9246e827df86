package bundle

import (
	"context"
	"io"
)

// How much of a file is fetched before it is asked for: aheadChunks chunks and those at either end.
const (
	chunkBytes  = 64 << 10
	aheadChunks = 14
)

// ahead reads a file before it is asked for, up to a bound, in a goroutine that ends with the
// context or at the end of the file.
type ahead struct {
	chunks chan []byte
	free   chan []byte // chunks that were read from, to be filled again
	err    error       // how the file ended; set before chunks is closed
	chunk  []byte      // that is being read from
	rest   []byte      // of it
}

// readAhead begins to read what open opens.
func readAhead(ctx context.Context, f File, open func(context.Context) (io.ReadCloser, error)) *ahead {
	a := &ahead{chunks: make(chan []byte, aheadChunks), free: make(chan []byte, aheadChunks)}
	go func() {
		defer close(a.chunks)
		a.err = a.fill(ctx, f, open)
	}()
	return a
}

func (a *ahead) fill(ctx context.Context, f File, open func(context.Context) (io.ReadCloser, error)) error {
	rc, err := open(ctx)
	if err != nil {
		return err
	}
	defer rc.Close()
	body := &exactReader{ctx: ctx, r: rc, name: f.Path, left: f.Size}
	for {
		// One byte more than there should be, so that one too many is noticed.
		chunk := a.take(min(chunkBytes, body.left+1))
		n, err := io.ReadFull(body, chunk)
		if n > 0 {
			select {
			case a.chunks <- chunk[:n]:
			case <-ctx.Done():
				return &sourceError{context.Cause(ctx)}
			}
		}
		switch {
		case err == io.ErrUnexpectedEOF:
			return io.EOF // of the chunk; of the file, body would have told
		case err != nil:
			return err
		}
	}
}

// take returns a buffer, a used one if there is one.
func (a *ahead) take(size int64) []byte {
	select {
	case chunk := <-a.free:
		if int64(cap(chunk)) >= size {
			return chunk[:size]
		}
	default:
	}
	return make([]byte, size)
}

// Read reads what was fetched, and waits for it.
func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.chunk != nil {
			select {
			case a.free <- a.chunk:
			default:
			}
		}
		var ok bool
		if a.chunk, ok = <-a.chunks; !ok {
			return 0, a.err
		}
		a.rest = a.chunk
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
