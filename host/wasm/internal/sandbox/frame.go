package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// kind says what a frame is.
type kind byte

const (
	kindSetup   kind = 'S' // parent: Setup, and the module
	kindLoaded  kind = 'L' // child: loaded
	kindJob     kind = 'J' // parent: Job, and the input
	kindOutcome kind = 'O' // child: Outcome, and the output
	kindCall    kind = 'C' // child: nothing, and the request
	kindAnswer  kind = 'A' // parent: answer, and its bytes
)

// frame is a JSON head and bytes beside it, which JSON would make larger.
type frame struct {
	kind kind
	head json.RawMessage
	body []byte
}

func (f frame) decode(want kind, head any) error {
	if f.kind != want {
		return fmt.Errorf("a frame of kind %q came, wanted is %q", f.kind, want)
	}
	if err := json.Unmarshal(f.head, head); err != nil {
		return fmt.Errorf("reading a frame of kind %q: %w", f.kind, err)
	}
	return nil
}

// frameHeader is the kind, the length of the head and that of the body.
const frameHeader = 1 + 4 + 4

func writeFrame(w io.Writer, k kind, head any, body []byte) error {
	data, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("writing a frame of kind %q: %w", k, err)
	}
	buf := make([]byte, 0, frameHeader+len(data))
	buf = append(buf, byte(k))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(data)))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(body)))
	buf = append(buf, data...)
	if _, err := w.Write(buf); err != nil {
		return fmt.Errorf("writing a frame of kind %q: %w", k, err)
	}
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("writing a frame of kind %q: %w", k, err)
	}
	return nil
}

var errFrameTooLarge = errors.New("a frame is larger than anything that may be said")

// readFrame reads a frame whose head and body together have at most that many bytes.
func readFrame(r io.Reader, most int64) (frame, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	head, body := binary.LittleEndian.Uint32(header[1:]), binary.LittleEndian.Uint32(header[5:])
	if int64(head)+int64(body) > most {
		return frame{}, errFrameTooLarge
	}
	f := frame{kind: kind(header[0]), head: make([]byte, head), body: make([]byte, body)}
	if _, err := io.ReadFull(r, f.head); err != nil {
		return frame{}, noEOF(err)
	}
	if _, err := io.ReadFull(r, f.body); err != nil {
		return frame{}, noEOF(err)
	}
	return f, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
