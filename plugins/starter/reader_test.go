package starter_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// reader is the reader of c/hook.c, built natively.
type reader struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

// newReader builds and starts it, under the compiler's watch over memory where it has one.
func newReader(t testing.TB) *reader {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	program := filepath.Join(t.TempDir(), "reader")
	args := []string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-o", program, "testdata/reader.c", "c/hook.c"}
	if err := exec.Command(cc, append([]string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, args...)...).Run(); err != nil {
		t.Logf("the reader's memory is not watched: %v", err)
		if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(program)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = []string{"ASAN_OPTIONS=detect_leaks=0"} // nothing is freed, by design
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the reader ended with %v: %s", err, said.String())
		}
	})
	return &reader{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

func (r *reader) read(t *testing.T, document []byte) string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.in.Write(append(binary.NativeEndian.AppendUint32(nil, uint32(len(document))), document...))
	if err != nil {
		t.Fatal(err)
	}
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the reader died of %q: %v", document, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// maxDepth is that of c/hook.c.
const maxDepth = 200

// FuzzReader holds the reader of JSON that plugins in C are written with against encoding/json.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+10,true,false,null,"x"],"b":{"c":{}}}`, ` [ ] `, `{}`, `""`, `0`, `-0`, `"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac"`,
		`"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\udc00"`, `"é😀"`, `{"a":1,"a":2}`,
		``, ` `, `{`, `[`, `"`, `"\`, `"\u`, `"\u12`, `"\u12"`, `"\ud83d\u`, `"\ud83d\u1"`, `"\x"`, `"\u0000"`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{1:1}`,
		`01`, `1.`, `.5`, `1e`, `1e+`, `-`, `+1`, `nul`, `nulll`, `truefalse`, `[1 2]`, `{} {}`, `[}`, "\"\n\"", "\"\x00\"", "\x00", "\x000", "1\x001", "1.\x00", "1e\x001", "[1]\x00", "\"a", `tru`, "{\"\":0}",
		strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1), strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		strings.Repeat("[", 100000), strings.Repeat(`{"a":`, 100000),
	} {
		f.Add([]byte(seed))
	}
	r := newReader(f)
	f.Fuzz(func(t *testing.T, document []byte) {
		if !utf8.Valid(document) || len(document) > 1<<20 {
			t.Skip() // the host writes UTF-8
		}
		got := r.read(t, document)
		if fault, failed := strings.CutPrefix(got, "E "); failed {
			if fault == "" || strings.Contains(fault, "(null)") {
				t.Errorf("%q is refused without a reason", document)
			}
			if json.Valid(document) && !strings.Contains(fault, "\\u0000") && !strings.Contains(fault, "without end") {
				t.Errorf("%q is refused: %s", document, fault)
			}
			return
		}
		want, err := decode(document)
		if err != nil {
			t.Fatalf("%q is read as %s", document, got)
		}
		if back, err := decode([]byte(got)); err != nil || !reflect.DeepEqual(back, want) {
			t.Errorf("%q is read as %s: %v", document, got, err)
		}
	})
}

// The limits of the reader are its own: they are refused with their reason.
func TestReaderRefuses(t *testing.T) {
	r := newReader(t)
	for document, want := range map[string]string{
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): "E lists in lists without end",
		`{"a":"b\u0000c"}`: `E a string with \u0000`,
		`{"a":1} {}`:       "E more than one document",
		`{"a" 1}`:          "E a key without a value",
	} {
		if got := r.read(t, []byte(document)); got != want {
			t.Errorf("%.20s: it says %q, wanted %q", document, got, want)
		}
	}
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if got := r.read(t, []byte(deep)); got != deep {
		t.Errorf("the deepest document is read as %q", got)
	}
}

func decode(document []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	return v, nil
}
