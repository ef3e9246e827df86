package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/plan"
)

// The files of a call.
const (
	requestFile  = "request.json"
	answersFile  = "answers.json"
	responseFile = "response.json"
	summaryFile  = "call.json"
)

// maxFile bounds each file of a call: more than any request, answers or response may have.
const maxFile = 256 << 20

// Call is one request that a plugin was asked, with what came of it.
type Call struct {
	// Request is the whole document, of which a plugin is given what its metadata names.
	Request []byte
	// Answers are what the plugin was answered when it asked, in its order.
	Answers []hook.Exchange
	// Response is what the plugin wrote; nil where it failed, or where nobody has asked it yet.
	Response []byte
	Summary
}

// Summary is what a call's call.json holds.
type Summary struct {
	// Plugin is the module that was asked; absent in tests written by hand.
	Plugin *plan.Plugin `json:"plugin,omitempty"`
	// Fuel is what it took.
	Fuel uint64 `json:"fuel,omitempty"`
	// MaxFuel is the most that it may take; nothing is no ceiling. For tests.
	MaxFuel uint64 `json:"maxFuel,omitempty"`
	// Error is the kind of failure, where it failed.
	Error string `json:"error,omitempty"`
	// Hidden is true where configuration or Secrets that the plugin was shown are not in the files, so
	// that its answer cannot be had again from them.
	Hidden bool `json:"hidden,omitempty"`
}

// Find returns the folders of the calls in a folder: itself, or those below it, in their order. It is an
// error if there is none: tests that do not run must not look like tests that pass.
func Find(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == requestFile {
			found = append(found, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for calls: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q holds no call: a call is a folder with a %s", dir, requestFile)
	}
	slices.Sort(found)
	return found, nil
}

// Read reads the call in a folder.
func Read(dir string) (Call, error) {
	c, err := read(dir)
	if err != nil {
		return Call{}, fmt.Errorf("reading the call in %q: %w", dir, err)
	}
	return c, nil
}

func read(dir string) (c Call, err error) {
	if c.Request, err = readFile(dir, requestFile); err != nil {
		return c, err
	}
	if _, err := hook.ParseRequest(c.Request); err != nil {
		return c, err
	}
	answers, err := readFile(dir, answersFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return c, err
	default:
		if c.Answers, err = ParseAnswers(answers); err != nil {
			return c, err
		}
	}
	if c.Response, err = readFile(dir, responseFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	summary, err := readFile(dir, summaryFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, err
	}
	dec := json.NewDecoder(bytes.NewReader(summary))
	dec.DisallowUnknownFields() // a misspelt ceiling is none
	if err := dec.Decode(&c.Summary); err != nil {
		return c, fmt.Errorf("%s: %w", summaryFile, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%s has more than one document", summaryFile)
	}
	return c, nil
}

// ParseAnswers reads what a plugin is to be answered.
func ParseAnswers(data []byte) ([]hook.Exchange, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var out []hook.Exchange
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("the answers are no list of {request, answer}: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the answers have more than one document")
	}
	for i, e := range out {
		if e.Request == nil || e.Answer == nil {
			return nil, fmt.Errorf("answer %d lacks its request or its answer", i+1)
		}
		out[i] = hook.NewExchange(e.Request, e.Answer) // space for people is not what the plugin was given
	}
	return out, nil
}

func readFile(dir, name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return data, nil
}

// Write writes the call into a folder, which is made if need be, for this user alone. Files that the call
// lacks are taken away.
func (c Call) Write(dir string) error {
	if err := c.write(dir); err != nil {
		return fmt.Errorf("writing the call in %q: %w", dir, err)
	}
	return nil
}

func (c Call) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	summary, err := indented(c.Summary)
	if err != nil {
		return err
	}
	files := map[string][]byte{requestFile: c.Request, responseFile: c.Response, answersFile: nil, summaryFile: summary}
	if len(c.Answers) > 0 {
		if files[answersFile], err = indented(c.Answers); err != nil {
			return err
		}
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if data == nil {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Same says whether two responses are the same to the byte, but for space around them.
func Same(a, b []byte) bool { return bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b)) }

// Equal says whether two responses say the same, however they are written: with other space, or with
// their keys in another order.
func Equal(a, b []byte) bool { return canonical(a) == canonical(b) }

func canonical(doc []byte) string {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(doc)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(doc)
	}
	return strings.TrimSpace(string(out))
}
