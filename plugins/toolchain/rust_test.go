package toolchain

import (
	"strings"
	"testing"
)

func TestRustModule(t *testing.T) {
	artifact := func(files string) string { return `{"reason":"compiler-artifact","filenames":[` + files + "]}\n" }
	for name, tt := range map[string]struct{ messages, want, err string }{
		"one":              {artifact(`"/t/libserde.rlib"`) + "printed by a build script\n" + artifact(`"/t/guard.wasm"`) + `{"reason":"build-finished"}`, "/t/guard.wasm", ""},
		"none":             {artifact(`"/t/libguard.rlib"`), "", "binary crate"},
		"two":              {artifact(`"/t/a.wasm","/t/b.wasm"`), "", "2 modules"},
		"of a dependency":  {`{"reason":"compiler-message","filenames":["/t/x.wasm"]}` + "\n" + artifact(`"/t/a.wasm"`), "/t/a.wasm", ""},
		"nothing, at last": {"", "", "no module"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rustModule([]byte(tt.messages))
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("found %q, %v", got, err)
			}
		})
	}
}
