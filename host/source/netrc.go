package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// login is a user's name and password.
type login struct{ user, password string }

// maxNetrc bounds what is read of a .netrc file.
const maxNetrc = 1 << 20

// readNetrc reads the file that NETRC names, else .netrc in the home folder. None is no error.
func readNetrc() (netrc, error) {
	path := os.Getenv("NETRC")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil // nobody's home has no file
		}
		name := ".netrc"
		if runtime.GOOS == "windows" {
			name = "_netrc"
		}
		path = filepath.Join(home, name)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxNetrc))
	if err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	return parseNetrc(string(data)), nil
}

// netrc is what a .netrc file says, in its order. The host of its default entry is "".
type netrc []struct {
	host string
	login
}

// find returns the first entry for a host, or the default one if that may be used.
func (n netrc) find(host string, orDefault bool) (login, bool) {
	for _, entry := range n {
		if entry.host == host || entry.host == "" && orDefault {
			return entry.login, true
		}
	}
	return login{}, false
}

// parseNetrc reads the entries of a .netrc file: words in any arrangement of lines. Macros and
// comments are passed over, and so is what cannot be made sense of.
func parseNetrc(text string) netrc {
	var entries netrc
	inMacro := false
	var key string // whose value is the next word
	for line := range strings.Lines(text) {
		if inMacro {
			inMacro = strings.TrimSpace(line) != ""
			continue
		}
		for word := range strings.FieldsSeq(line) {
			if key == "" && strings.HasPrefix(word, "#") {
				break
			}
			if key != "" {
				entries = entries.set(key, word)
				inMacro = key == "macdef"
				key = ""
				if inMacro {
					break
				}
				continue
			}
			switch word {
			case "default":
				entries = entries.set("machine", "")
			case "machine", "login", "password", "account", "macdef":
				key = word
			}
		}
	}
	return entries
}

func (n netrc) set(key, value string) netrc {
	if key == "machine" {
		n = append(n, make(netrc, 1)...)
		n[len(n)-1].host = value
		return n
	}
	if len(n) == 0 {
		return n // of no machine
	}
	switch last := &n[len(n)-1]; key {
	case "login":
		last.user = value
	case "password":
		last.password = value
	}
	return n
}
