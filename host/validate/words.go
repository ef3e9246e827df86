package validate

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// nearest returns the candidate that a misspelt word was most likely meant to be, or "".
func nearest(word string, candidates []string) string {
	lower := strings.ToLower(word)
	// A third of the letters may be wrong, so that short words match only what is very close.
	best, limit := "", max(1, utf8.RuneCountInString(word)/3)+1
	for _, candidate := range candidates {
		d := distance(lower, strings.ToLower(candidate), limit)
		if d < limit {
			best, limit = candidate, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a
// into b; it gives up at limit, where it returns limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if diff := len(x) - len(y); diff >= limit || -diff >= limit {
		return limit
	}
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		lowest := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			lowest = min(lowest, row[j])
		}
		if lowest >= limit {
			return limit
		}
		before, last = last, row
	}
	return min(last[len(y)], limit)
}

func unknownKey(key, suggestion string, s *shape) string {
	message := fmt.Sprintf("unknown key %q", shorten(key))
	if strings.HasPrefix(key, "\ufeff") {
		return message + ": the file starts with a byte order mark, which Zarf takes for a part of the first key; save it without one"
	}
	if suggestion != "" {
		return message + didYouMean(suggestion, true)
	}
	if len(s.order) == 0 {
		return message + ", no keys are allowed here"
	}
	message += ", allowed are " + strings.Join(s.order, ", ")
	if s.extensible {
		message += " and keys that start with x-"
	}
	return message
}

func didYouMean(suggestion string, several bool) string {
	if suggestion == "" || !several {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", suggestion)
}

// shorten keeps a value that is quoted in a message to a readable length.
func shorten(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
