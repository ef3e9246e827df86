package wasm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/wasm/internal/module"
)

// Info is what can be told of a module without compiling or running it.
type Info struct {
	Metadata hook.Metadata `json:"metadata"`
	Digest   string        `json:"digest"`
	Size     int           `json:"size"`
	// Imports are the functions that it uses, as module.name.
	Imports []string `json:"imports,omitempty"`
	// Functions is how many it defines, Largest the bytes of the longest.
	Functions int `json:"functions"`
	Largest   int `json:"largestFunction"`
	// Memory is what it wants to begin with, in bytes.
	Memory uint64 `json:"memory"`
	// Refused is why it would not be loaded; empty if it would.
	Refused string `json:"refused,omitempty"`
}

// Inspect looks at a module under the given limits; zero ones mean the defaults. The error is for what
// is no module or has no metadata; what is wrong beyond that is in the result.
func Inspect(wasm []byte, limits Limits) (Info, error) {
	if most := limits.withDefaults().Module; len(wasm) > most {
		return Info{}, fmt.Errorf("inspecting the module: it has more than %s", size(most))
	}
	m, err := module.Parse(wasm)
	if err != nil {
		return Info{}, fmt.Errorf("inspecting the module: %w", err)
	}
	meta, err := readMetadata(m.Sections)
	if err != nil {
		return Info{}, fmt.Errorf("inspecting the module: %w", err)
	}
	sum := sha256.Sum256(wasm)
	info := Info{Metadata: meta, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(wasm), Functions: len(m.Codes)}
	for _, i := range m.Imports {
		info.Imports = append(info.Imports, i.Module+"."+i.Name)
	}
	for _, body := range m.Codes {
		info.Largest = max(info.Largest, len(body))
	}
	for _, l := range m.Memories {
		info.Memory += uint64(l.Min) * pageSize
	}
	if err := check(m, meta, limits.withDefaults()); err != nil {
		info.Refused = err.Error()
	} else if err := checkSchema(meta.ConfigSchema); err != nil {
		info.Refused = err.Error()
	}
	return info, nil
}
