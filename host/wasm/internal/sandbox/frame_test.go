package sandbox

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzReadFrame: whatever a child writes is a frame that is written the same, or an error; never more
// memory than a frame may have.
func FuzzReadFrame(f *testing.F) {
	var good bytes.Buffer
	if err := writeFrame(&good, kindOutcome, Outcome{Fuel: 7}, []byte("answer")); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()-1])
	f.Add([]byte("O\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 16
		fr, err := readFrame(bytes.NewReader(data), most)
		if err != nil {
			return
		}
		if len(fr.head)+len(fr.body) > most {
			t.Fatalf("a frame has %d bytes", len(fr.head)+len(fr.body))
		}
		var outcome Outcome
		if err := fr.decode(kindOutcome, &outcome); err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, fr.kind, outcome, fr.body); err != nil {
			t.Fatal(err)
		}
		back, err := readFrame(&again, 16*most)
		if err != nil || !bytes.Equal(back.body, fr.body) {
			t.Errorf("written again it is %q, %v", back.body, err)
		}
	})
}

func TestFrameTooLarge(t *testing.T) {
	// Both lengths are added as they are: their sum must not wrap.
	if _, err := readFrame(bytes.NewReader([]byte("O\xff\xff\xff\xff\x02\x00\x00\x00{}")), 100); !errors.Is(err, errFrameTooLarge) {
		t.Errorf("error is %v", err)
	}
}
