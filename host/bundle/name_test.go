package bundle

import (
	"fmt"
	"strings"
	"testing"
)

func TestLinkReason(t *testing.T) {
	for _, c := range []struct {
		path, target string
		stays        bool
	}{
		{"l", "x", true},
		{"l", "./x", true},
		{"l", "a/b/c", true},
		{"a/l", "../x", true},
		{"a/b/l", "../../x/y", true},
		{"l", "..", false},
		{"l", "../x", false},
		{"a/l", "../../x", false},
		{"a/l", "x/../../..", false},
		{"a/l", "x/../y", false}, // x may be a link
		{"a/l", `..\..\x`, false},
		{"l", "/x", false},
		{"l", `\x`, false},
		{"l", `c:\x`, false},
		{"l", "", false},
		{"l", "a\x00b", false},
	} {
		if got := linkReason(c.path, c.target) == ""; got != c.stays {
			t.Errorf("link %q -> %q stays: %v, want %v", c.path, c.target, got, c.stays)
		}
	}
}

// Names cannot take more memory than allowed, however few, long or deep they are.
func TestNamesAreBounded(t *testing.T) {
	for kind, name := range map[string]func(n int) string{
		"long": func(n int) string { return fmt.Sprintf("%07d%s", n, strings.Repeat("x", 4000)) },
		"deep": func(n int) string { return fmt.Sprintf("%07d/%s", n, strings.Repeat("xxxxxxxxx/", 190)) },
	} {
		seen := newNames(Limits{}.withDefaults(), "")
		n := 0
		for ; n < 100_000; n++ {
			if _, reason := seen.add(name(n), false); reason != "" {
				if !strings.Contains(reason, "memory") {
					t.Errorf("%s: reason is %q", kind, reason)
				}
				break
			}
		}
		if n == 100_000 || seen.bytes > maxNameBytes+5000 {
			t.Errorf("%s: %d names with %d bytes were taken", kind, n, seen.bytes)
		}
	}
}

func TestFold(t *testing.T) {
	for _, twins := range [][]string{{"k", "K", "\u212a"}, {"s", "S", "ſ"}, {"é", "É"}, {"Straße", "STRAẞE"}} {
		for _, twin := range twins[1:] {
			if fold(twin) != fold(twins[0]) {
				t.Errorf("%q and %q are taken for two names", twins[0], twin)
			}
		}
	}
	if fold("a") == fold("b") {
		t.Error("a and b are taken for one name")
	}
}
