package template

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zarf-host/zarf-host/host/spec"
)

// Loader returns the contents of the file that a variable of type file names.
// It is an alias so that effects can name it without importing this package.
type Loader = func(path string) ([]byte, error)

// opening begins every marker; longestMarker bounds what may follow, so that a stream need not be
// kept back for ever.
const (
	opening       = "###ZARF_"
	longestMarker = 1024
	chunkSize     = 256 << 10
)

func marker() *regexp.Regexp {
	return regexp.MustCompile(`###ZARF_[A-Z0-9_]+###`)
}

// IsText reports whether content may hold markers. Content with a NUL byte is binary and never
// changed.
func IsText(content []byte) bool {
	return bytes.IndexByte(content, 0) < 0
}

// Unknown returns the markers in content that nothing is known about, each once, in order of
// appearance. Fill leaves them as they are, as Zarf does, so somebody should be told.
func (v *Variables) Unknown(content []byte) []string {
	var out []string
	for _, m := range marker().FindAll(content, -1) {
		if _, ok := v.entries[string(bytes.Trim(m, "#"))]; !ok && !slices.Contains(out, string(m)) {
			out = append(out, string(m))
		}
	}
	return out
}

// Fill replaces the known markers in content and changes no other byte: line endings and a missing
// final newline stay. It does not tell text from binary; see IsText.
func (v *Variables) Fill(content []byte, load Loader) ([]byte, error) {
	var out bytes.Buffer
	if err := v.FillStream(&out, bytes.NewReader(content), load); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// FillStream is Fill for content of any size, in flat memory, whatever the length of its lines.
func (v *Variables) FillStream(w io.Writer, r io.Reader, load Loader) error {
	f := filler{variables: v, load: load, marker: marker(), out: w}
	buf := make([]byte, 0, chunkSize)
	for {
		n, readErr := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return readErr
		}
		done := readErr != nil
		if !done && len(buf) < cap(buf) {
			continue
		}
		rest, err := f.feed(buf, done)
		if err != nil {
			return err
		}
		if done {
			return nil
		}
		buf = buf[:copy(buf[:cap(buf)], rest)]
	}
}

// filler fills one stream. It remembers the column that it has reached, for autoIndent.
type filler struct {
	variables *Variables
	load      Loader
	marker    *regexp.Regexp
	out       io.Writer
	column    int
}

// feed writes what is certain of buf and returns the rest, which may be the beginning of a marker.
func (f *filler) feed(buf []byte, last bool) ([]byte, error) {
	done := 0
	for _, at := range f.marker.FindAllIndex(buf, -1) {
		if err := f.plain(buf[done:at[0]]); err != nil {
			return nil, err
		}
		if err := f.replace(buf[at[0]:at[1]]); err != nil {
			return nil, err
		}
		done = at[1]
	}
	rest := buf[done:]
	keep := 0
	if !last {
		keep = unfinished(rest)
	}
	return rest[len(rest)-keep:], f.plain(rest[:len(rest)-keep])
}

func (f *filler) plain(text []byte) error {
	f.advance(text)
	_, err := f.out.Write(text)
	return err
}

func (f *filler) replace(mark []byte) error {
	entry, ok := f.variables.entries[string(bytes.Trim(mark, "#"))]
	if !ok {
		return f.plain(mark)
	}
	value, err := f.value(string(bytes.Trim(mark, "#")), entry)
	if err != nil {
		return err
	}
	if entry.AutoIndent {
		value = strings.ReplaceAll(value, "\n", "\n"+strings.Repeat(" ", f.column))
	}
	f.advance(mark) // the column is that of the source, however long the value
	_, err = io.WriteString(f.out, value)
	return err
}

func (f *filler) value(name string, entry Entry) (string, error) {
	if entry.Type != spec.FileVariableType || entry.Value == "" {
		return entry.Value, nil
	}
	if f.load == nil {
		return "", fmt.Errorf("filling ###%s###: its variable is a file, and files cannot be read here", name)
	}
	content, err := f.load(entry.Value)
	if err != nil {
		return "", fmt.Errorf("filling ###%s### from the file that its variable names: %w", name, err)
	}
	if !IsText(content) {
		return "", fmt.Errorf("filling ###%s###: the file that its variable names is not a text file", name)
	}
	return string(content), nil
}

func (f *filler) advance(text []byte) {
	if at := bytes.LastIndexByte(text, '\n'); at >= 0 {
		f.column, text = 0, text[at+1:]
	}
	f.column += utf8.RuneCount(text)
}

// unfinished returns how many bytes at the end of text may be the beginning of a marker.
func unfinished(text []byte) int {
	if at := bytes.LastIndex(text, []byte(opening)); at >= 0 && len(text)-at <= longestMarker {
		name := bytes.TrimLeft(text[at+len(opening):], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
		if len(name) < 3 && len(bytes.Trim(name, "#")) == 0 {
			return len(text) - at
		}
	}
	for n := min(len(opening)-1, len(text)); n > 0; n-- {
		if bytes.HasSuffix(text, []byte(opening[:n])) {
			return n
		}
	}
	return 0
}
