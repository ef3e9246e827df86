package template

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/spec"
)

func sample(t testing.TB) *Variables {
	t.Helper()
	v, err := Resolve(spec.Package{
		Variables: []spec.InteractiveVariable{
			{Variable: spec.Variable{Name: "NAME"}, Default: "podinfo"},
			{Variable: spec.Variable{Name: "EMPTY"}},
			{Variable: spec.Variable{Name: "CERT", AutoIndent: true}, Default: "one\ntwo"},
			{Variable: spec.Variable{Name: "FLAT"}, Default: "one\ntwo"},
			{Variable: spec.Variable{Name: "FILE", Type: spec.FileVariableType, AutoIndent: true}, Default: "some/file"},
			{Variable: spec.Variable{Name: "BINARY", Type: spec.FileVariableType}, Default: "some/binary"},
			{Variable: spec.Variable{Name: "GONE", Type: spec.FileVariableType}, Default: "not/there"},
			{Variable: spec.Variable{Name: "NESTED"}, Default: "###ZARF_VAR_NAME###"},
		},
		Constants: []spec.Constant{{Name: "C", Value: "constant"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.SetBuiltins(map[string]Entry{"REGISTRY": {Value: "127.0.0.1:31999"}})
	return v
}

func load(path string) ([]byte, error) {
	switch path {
	case "some/file":
		return []byte("three\nfour"), nil
	case "some/binary":
		return []byte{'a', 0}, nil
	}
	return nil, errors.New("no such file")
}

func TestFill(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for _, tc := range []struct{ name, in, want, wantErr string }{
		{name: "variable", in: "name: ###ZARF_VAR_NAME###\n", want: "name: podinfo\n"},
		{name: "constant and built-in", in: "###ZARF_CONST_C### ###ZARF_REGISTRY###", want: "constant 127.0.0.1:31999"},
		{name: "empty value", in: "a###ZARF_VAR_EMPTY###b", want: "ab"},
		{name: "unknown stays", in: "###ZARF_VAR_TYPO###", want: "###ZARF_VAR_TYPO###"},
		{name: "lower case is no marker", in: "###ZARF_VAR_name###", want: "###ZARF_VAR_name###"},
		{name: "package templates stay", in: "###ZARF_PKG_TMPL_X###", want: "###ZARF_PKG_TMPL_X###"},
		{name: "values are not filled again", in: "###ZARF_VAR_NESTED###", want: "###ZARF_VAR_NAME###"},
		{name: "more hashes around", in: "#####ZARF_VAR_NAME#####", want: "##podinfo##"},
		{name: "shared hashes", in: "###ZARF_VAR_NAME###ZARF_VAR_NAME###", want: "podinfoZARF_VAR_NAME###"},
		{name: "CRLF and no final newline stay", in: "a\r\n###ZARF_VAR_NAME###\r\nb", want: "a\r\npodinfo\r\nb"},
		{name: "autoIndent", in: "x: |\n    ###ZARF_VAR_CERT###\ny", want: "x: |\n    one\n    two\ny"},
		{name: "autoIndent counts characters", in: "é ###ZARF_VAR_CERT###", want: "é one\n  two"},
		{name: "no autoIndent", in: "    ###ZARF_VAR_FLAT###", want: "    one\ntwo"},
		{name: "file", in: "  ###ZARF_VAR_FILE###", want: "  three\n  four"},
		{name: "binary file", in: "###ZARF_VAR_BINARY###", wantErr: "not a text file"},
		{name: "missing file", in: "###ZARF_VAR_GONE###", wantErr: "filling ###ZARF_VAR_GONE### from the file"},
		{name: "a line over 1 MiB is not cut", in: long + "###ZARF_VAR_NAME###" + long, want: long + "podinfo" + long},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := sample(t).Fill([]byte(tc.in), load)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want %q in it", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got %.200q, want %.200q", got, tc.want)
			}
		})
	}
}

// A marker may lie across any boundary of the chunks that FillStream reads.
func TestFillStreamAcrossChunks(t *testing.T) {
	v := sample(t)
	const mark = "###ZARF_VAR_NAME###"
	for shift := range len(mark) + 4 {
		in := strings.Repeat("#", chunkSize-shift) + "-" + mark + "\n  ###ZARF_VAR_CERT###" + strings.Repeat("A", chunkSize) + mark
		want := strings.NewReplacer(mark, "podinfo", "###ZARF_VAR_CERT###", "one\n  two").Replace(in)
		var out bytes.Buffer
		if err := v.FillStream(&out, strings.NewReader(in), nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("shift %d: wrong output of %d bytes, want %d", shift, out.Len(), len(want))
		}
	}
}

func TestFillStreamPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	if err := sample(t).FillStream(io.Discard, iotest.ErrReader(broken), nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := sample(t).FillStream(io.Discard, strings.NewReader("###ZARF_VAR_FILE###"), nil); err == nil {
		t.Error("a file variable was filled without a loader")
	}
}

func TestUnknown(t *testing.T) {
	got := sample(t).Unknown([]byte("###ZARF_VAR_NAME### ###ZARF_VAR_B### ###ZARF_A### ###ZARF_VAR_B###"))
	if diff := cmp.Diff([]string{"###ZARF_VAR_B###", "###ZARF_A###"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestIsText(t *testing.T) {
	for in, want := range map[string]bool{"": true, "a\r\n": true, "gr\xfc\xdfe": true, "a\x00b": false} {
		if got := IsText([]byte(in)); got != want {
			t.Errorf("IsText(%q) = %v", in, got)
		}
	}
}

func FuzzFill(f *testing.F) {
	f.Add([]byte("a ###ZARF_VAR_NAME### ##########ZARF_VAR_CERT###"), uint8(3))
	f.Add([]byte("\n  ###ZARF_VAR_CERT######ZARF_VAR_EMPTY###"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		v := sample(t)
		whole, err := v.Fill(in, load)
		if err != nil {
			return
		}
		// The reference: no stream, every chunk boundary possible.
		fill := filler{variables: v, load: load, marker: marker(), out: new(bytes.Buffer)}
		var rest []byte
		for at := 0; at < len(in); at += int(size) + 1 {
			end := min(at+int(size)+1, len(in))
			next, err := fill.feed(append(bytes.Clone(rest), in[at:end]...), end == len(in))
			if err != nil {
				t.Fatal(err)
			}
			rest = next
		}
		if got := fill.out.(*bytes.Buffer).Bytes(); !bytes.Equal(got, whole) {
			t.Errorf("in pieces of %d: %q, whole: %q", int(size)+1, got, whole)
		}
	})
}
