package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// ABI is the process contract of a plugin: how it is started, what it reads and writes.
const ABI = "v1"

// MaxMetadata is the size up to which metadata is read.
const MaxMetadata = 256 << 10

// Capability is something that a plugin asks to be granted.
type Capability string

// The capabilities.
const (
	K8sGet      Capability = "k8s:get"
	K8sList     Capability = "k8s:list"
	PackageFile Capability = "package:file"
	ConfigRead  Capability = "config:read"
	SecretsRead Capability = "secrets:read"
)

func capabilities() []Capability {
	return []Capability{K8sGet, K8sList, PackageFile, ConfigRead, SecretsRead}
}

// Metadata is what a plugin says about itself, read without running it.
type Metadata struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	ABI     []string `json:"abi"`
	Hooks   []Use    `json:"hooks"`
	// Capabilities are those that it asks for.
	Capabilities []Capability `json:"capabilities,omitempty"`
	// ConfigSchema is a JSON schema (an object) or CUE (a string).
	ConfigSchema json.RawMessage `json:"configSchema,omitempty"`
	// Fuel is how much its author thinks a call takes at most; it lowers the limit.
	Fuel uint64 `json:"fuel,omitempty"`
}

// Use is one hook that a plugin answers, with the fields that it reads there.
type Use struct {
	Name   Name   `json:"name"`
	Inputs Inputs `json:"inputs,omitempty"`
}

// ParseMetadata reads and checks the JSON of a metadata section.
func ParseMetadata(data []byte) (Metadata, error) {
	var m Metadata
	if len(data) > MaxMetadata {
		return m, fmt.Errorf("metadata has %d bytes, at most %d are allowed", len(data), MaxMetadata)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Metadata{}, fmt.Errorf("reading metadata: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Metadata{}, errors.New("metadata has more than one document")
	}
	if err := m.Validate(); err != nil {
		return Metadata{}, err
	}
	return m, nil
}

// Validate says what is wrong with the metadata.
func (m Metadata) Validate() error {
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(m.Name) {
		return fmt.Errorf("metadata name %q is not lower-case letters, digits and dashes, at most 63", clip(m.Name))
	}
	if !regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`).MatchString(m.Version) {
		return fmt.Errorf("metadata version %q is not a version", clip(m.Version))
	}
	if !slices.Contains(m.ABI, ABI) {
		return fmt.Errorf("the module speaks abi %q, this host speaks %q", m.ABI, ABI)
	}
	if len(m.Hooks) == 0 {
		return errors.New("metadata names no hook, so that the plugin would never be asked")
	}
	seen := map[Name]bool{}
	for _, h := range m.Hooks {
		if _, err := Find(h.Name); err != nil {
			return fmt.Errorf("metadata hooks: %w", err)
		}
		if seen[h.Name] {
			return fmt.Errorf("metadata hooks: %s is named twice", h.Name)
		}
		seen[h.Name] = true
		if err := h.Inputs.Validate(); err != nil {
			return fmt.Errorf("metadata hooks: %s: %w", h.Name, err)
		}
	}
	for i, c := range m.Capabilities {
		if !slices.Contains(capabilities(), c) {
			return fmt.Errorf("metadata capability %q is unknown: they are %v", clip(string(c)), capabilities())
		}
		if slices.Contains(m.Capabilities[:i], c) {
			return fmt.Errorf("metadata capability %q is named twice", c)
		}
	}
	if s := strings.TrimSpace(string(m.ConfigSchema)); s != "" && s != "null" && s[0] != '{' && s[0] != '"' {
		return errors.New("metadata configSchema is neither a JSON schema (an object) nor CUE (a string)")
	}
	return nil
}

// Use returns how the plugin uses a hook, and whether it does.
func (m Metadata) Use(name Name) (Use, bool) {
	i := slices.IndexFunc(m.Hooks, func(u Use) bool { return u.Name == name })
	if i < 0 {
		return Use{}, false
	}
	return m.Hooks[i], true
}
