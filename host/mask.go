package host

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/zarf-host/zarf-host/host/event"
	"github.com/zarf-host/zarf-host/host/state"
)

const (
	// maskedValue stands where a supplied value was.
	maskedValue = "**sanitized**"
	// shortestSecret is the length from which on a supplied value is looked for everywhere. Shorter
	// ones, such as "true", are words that any text has.
	shortestSecret = 6
)

// echoedValue is how the API server quotes what it refuses.
var echoedValue = regexp.MustCompile(`( value: )("(?:[^"\\]|\\.)*"|\S+?)([:,;]|\s|$)`)

// mask takes what was supplied to an operation out of whatever comes out of it: API servers, charts
// and programs that actions run may quote what they were given. A nil mask masks nothing.
type mask struct {
	mu      sync.RWMutex
	secrets []string        // that are looked for everywhere, the longest first
	short   map[string]bool // that are looked for where an API server says what it was given
	names   map[string]bool // that the plan shows anyway
}

// add makes the mask know the values of a configuration.
func (m *mask) add(c state.DeployConfig) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, value := range c.SetVariables {
		m.learn(value)
	}
	m.learnAll(map[string]any(c.Values))
	for _, charts := range c.ValuesOverridesMap {
		for _, values := range charts {
			m.learnAll(values)
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	m.secrets = slices.Compact(m.secrets)
}

func (m *mask) learnAll(value any) {
	switch v := value.(type) {
	case string:
		m.learn(v)
	case map[string]any:
		for _, inner := range v {
			m.learnAll(inner)
		}
	case []any:
		for _, inner := range v {
			m.learnAll(inner)
		}
	}
}

// learn notes a value, and the lines of one that has several: output comes by lines.
func (m *mask) learn(value string) {
	if m.short == nil {
		m.short = map[string]bool{}
	}
	m.short[value] = true
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= shortestSecret {
			m.secrets = append(m.secrets, line)
		}
	}
}

// allow lets words be shown although they were supplied: names that the plan shows anyway.
func (m *mask) allow(words ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = map[string]bool{}
	}
	for _, word := range words {
		m.names[word] = true
	}
}

// text returns a text without what was supplied.
func (m *mask) text(text string) string {
	if m == nil {
		return text
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, secret := range m.secrets {
		if !m.names[secret] {
			text = replaceWord(text, secret)
		}
	}
	return echoedValue.ReplaceAllStringFunc(text, func(echo string) string {
		parts := echoedValue.FindStringSubmatch(echo)
		given := parts[2]
		if plain, err := strconv.Unquote(given); err == nil {
			given = plain
		}
		if !m.short[given] || m.names[given] {
			return echo
		}
		return parts[1] + maskedValue + parts[3]
	})
}

// replaceWord masks a value where it is not a part of a longer word.
func replaceWord(text, word string) string {
	var out strings.Builder
	done := 0
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	for {
		at := strings.Index(text[done:], word)
		if at < 0 {
			out.WriteString(text[done:])
			return out.String()
		}
		at += done
		end := at + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		out.WriteString(text[done:at])
		if inWord(before) && inWord(first) || inWord(last) && inWord(after) {
			out.WriteString(word)
		} else {
			out.WriteString(maskedValue)
		}
		done = end
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// sink returns a sink whose events hold nothing that was supplied.
func (m *mask) sink(next event.Sink) event.Sink {
	if next == nil {
		next = event.Discard
	}
	return event.Func(func(e event.Event) {
		e.Message = m.text(e.Message)
		next.Emit(e)
	})
}

// error returns an error that says the same without what was supplied. What it wraps stays.
func (m *mask) error(err error) error {
	if err == nil {
		return nil
	}
	text := m.text(err.Error())
	if text == err.Error() {
		return err
	}
	return &maskedError{err: err, text: text}
}

// maskedError is an error with another text.
type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }
