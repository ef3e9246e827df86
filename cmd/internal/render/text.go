package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names, messages and texts come from packages, records, plugins and clusters, which may be anybody's.
// What a terminal would obey rather than show (escape sequences, bells, carriage returns, marks that
// reverse the direction of writing, characters without a form) is shown as Go writes it: \x1b, \u202e.
// Everything that this program prints as text goes through one of the functions here.

// margin begins a line that goes on with a text of somebody else's, so that none of its lines can pass
// for one of ours.
const margin = "  | "

// Line returns a text as one line.
func Line(text string) string {
	if strings.IndexFunc(text, hidden) < 0 && utf8.ValidString(text) {
		return text
	}
	return escape(text, func(rune) bool { return false })
}

// Lines returns a text as one or more lines, of which each but the first begins with indent.
func Lines(text, indent string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = escape(line, func(r rune) bool { return r == '\t' })
	}
	return strings.Join(lines, "\n"+indent)
}

// Document writes a document as it is, but where a terminal shows it, what hides is shown.
func Document(w io.Writer, data []byte, terminal bool) error {
	if terminal {
		data = []byte(escape(strings.ReplaceAll(string(data), "\r\n", "\n"), func(r rune) bool { return r == '\n' || r == '\t' }))
	}
	_, err := w.Write(data)
	return err
}

// JSON returns a JSON document that says the same without a character that hides: they can only be in
// its strings, where JSON has a form for each.
func JSON(data []byte) []byte {
	if strings.IndexFunc(string(data), hiddenInJSON) < 0 {
		return data
	}
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case !hiddenInJSON(r):
			b.WriteRune(r)
		case r > 0xffff:
			const base, high, low, half = 0x10000, 0xd800, 0xdc00, 10
			fmt.Fprintf(&b, `\u%04x\u%04x`, high+(r-base)>>half, low+(r-base)&(1<<half-1))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

func hiddenInJSON(r rune) bool { return hidden(r) && r != '\n' && r != '\t' && r != '\r' }

// hidden reports whether a character has no form of its own.
func hidden(r rune) bool { return !unicode.IsGraphic(r) }

// escape shows what hides, except what passes.
func escape(text string, passes func(rune) bool) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case hidden(r) && !passes(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

// Error returns an error's text: lines after the first are indented, since one at the beginning of a
// line could pass for another message of ours.
func Error(text string) string {
	const indent = "  "
	lines := strings.Split(Lines(text, ""), "\n")
	for i, line := range lines[1:] {
		if !strings.HasPrefix(line, indent) {
			lines[i+1] = indent + line
		}
	}
	return strings.Join(lines, "\n")
}
