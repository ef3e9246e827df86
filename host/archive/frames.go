package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The zstd seekable format: a skippable frame at the end of the file lists the frames before it.
const (
	skippableMagic  = 0x184D2A5E
	seekableMagic   = 0x8F92EAB1
	seekEntryBytes  = 8
	seekFooterBytes = 9
)

// MaxFrame is the most that one frame of a FrameWriter holds, in bytes before compression.
const MaxFrame = 4 << 20

// FrameCache keeps compressed frames by what they hold, so that what was compressed once is copied.
// It may lose anything at any time. Its methods may be used by several goroutines at once.
type FrameCache interface {
	// Get returns a frame that was put, or nil.
	Get(key [sha256.Size]byte) []byte
	// Put keeps a frame, if it likes.
	Put(key [sha256.Size]byte, frame []byte)
}

// FrameWriter compresses a stream into independent zstd frames, each with at most MaxFrame bytes of
// it, by as many goroutines as there are processors, and ends it with a seek table. What it writes
// depends on what is written to it and on the calls of Cut alone. Any zstd reader reads it as a whole.
type FrameWriter struct {
	out   io.Writer
	cache FrameCache
	chunk []byte
	queue chan *frame // in order, for the goroutine that writes
	work  chan *frame
	done  chan struct{}
	wait  sync.WaitGroup

	mu  sync.Mutex
	err error

	table []byte // the entries so far
	count uint32
}

// frame is a piece of the stream on its way.
type frame struct {
	plain []byte
	ready chan []byte // its compressed form
}

// NewFrameWriter returns a writer to out. cache may be nil. Close it, also after an error.
func NewFrameWriter(out io.Writer, cache FrameCache) (*FrameWriter, error) {
	workers := runtime.GOMAXPROCS(0)
	w := &FrameWriter{
		out: out, cache: cache, chunk: make([]byte, 0, MaxFrame),
		queue: make(chan *frame, workers), work: make(chan *frame, workers), done: make(chan struct{}),
	}
	for range workers {
		// One goroutine each and no window from frame to frame: the same bytes give the same frame.
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(MaxFrame))
		if err != nil {
			close(w.work)
			return nil, fmt.Errorf("preparing compression: %w", err)
		}
		w.wait.Go(func() { w.compress(encoder) })
	}
	go w.write()
	return w, nil
}

// Write adds to the stream.
func (w *FrameWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := min(len(p), MaxFrame-len(w.chunk))
		w.chunk = append(w.chunk, p[:n]...)
		p, written = p[n:], written+n
		if len(w.chunk) == MaxFrame {
			if err := w.Cut(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// Buffered is how many bytes the frame has so far that the next Write goes on with.
func (w *FrameWriter) Buffered() int { return len(w.chunk) }

// Cut ends the frame: what is written next begins another one.
func (w *FrameWriter) Cut() error {
	if len(w.chunk) == 0 {
		return w.failed()
	}
	f := &frame{plain: w.chunk, ready: make(chan []byte, 1)}
	w.chunk = make([]byte, 0, MaxFrame)
	w.queue <- f
	w.work <- f
	return w.failed()
}

// Close ends the stream and writes the seek table. It does not close what is written to.
func (w *FrameWriter) Close() error {
	_ = w.Cut() // its error is returned below
	close(w.work)
	close(w.queue)
	<-w.done
	w.wait.Wait()
	if err := w.failed(); err != nil {
		return err
	}
	_, err := w.out.Write(w.seekTable())
	return err
}

func (w *FrameWriter) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *FrameWriter) compress(encoder *zstd.Encoder) {
	for f := range w.work {
		f.ready <- w.compressed(encoder, f.plain)
	}
}

func (w *FrameWriter) compressed(encoder *zstd.Encoder, plain []byte) []byte {
	if w.cache == nil {
		return encoder.EncodeAll(plain, nil)
	}
	key := sha256.Sum256(plain)
	if data := w.cache.Get(key); holds(data, plain) {
		return data
	}
	data := encoder.EncodeAll(plain, nil)
	if len(data) < len(plain)/32*31 { // what does not get smaller is compressed as fast as it is read
		w.cache.Put(key, data)
	}
	return data
}

// holds reports whether a frame from a cache, which anything may have happened to, is that of plain.
func holds(data, plain []byte) bool {
	if len(data) == 0 {
		return false
	}
	decoder, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*MaxFrame))
	if err != nil {
		return false
	}
	defer decoder.Close()
	got := make([]byte, len(plain)+1)
	n, err := io.ReadFull(decoder, got)
	return errors.Is(err, io.ErrUnexpectedEOF) && n == len(plain) && bytes.Equal(got[:n], plain)
}

// write writes frames in their order. After an error it only takes them away.
func (w *FrameWriter) write() {
	defer close(w.done)
	for f := range w.queue {
		data := <-f.ready
		if w.failed() != nil {
			continue
		}
		if _, err := w.out.Write(data); err != nil {
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
			continue
		}
		w.table = binary.LittleEndian.AppendUint32(w.table, uint32(len(data)))
		w.table = binary.LittleEndian.AppendUint32(w.table, uint32(len(f.plain)))
		w.count++
	}
}

// seekTable is the skippable frame that lists the others.
func (w *FrameWriter) seekTable() []byte {
	out := binary.LittleEndian.AppendUint32(nil, skippableMagic)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(w.table)+seekFooterBytes))
	out = append(out, w.table...)
	out = binary.LittleEndian.AppendUint32(out, w.count)
	out = append(out, 0) // no checksums: each frame has its own
	return binary.LittleEndian.AppendUint32(out, seekableMagic)
}
