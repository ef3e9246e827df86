package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// redacted is all that printing or logging a configuration shows.
const redacted = "(redacted)"

// DeployConfig is what was supplied to a deployment, never the package's own defaults. It holds
// secrets: printing or logging it in any way shows that it is there and nothing else. Only its JSON
// has the contents, and belongs nowhere but in the record.
type DeployConfig struct {
	SetVariables      map[string]string `json:"setVariables,omitempty"`
	Values            Values            `json:"values,omitempty"`
	NamespaceOverride string            `json:"namespaceOverride,omitempty"`
	// ValuesOverridesMap is component → chart → values.
	ValuesOverridesMap ValuesOverrides `json:"valuesOverridesMap,omitempty"`
}

// RemoveConfig is what was supplied to a removal, and as secret as a DeployConfig.
type RemoveConfig struct {
	Values            Values `json:"values,omitempty"`
	NamespaceOverride string `json:"namespaceOverride,omitempty"`
}

// Values are package values. Numbers in them that were read by this package are json.Number, so
// that no integer changes.
type Values map[string]any

// ValuesOverrides are Helm values by component and chart.
type ValuesOverrides map[string]map[string]map[string]any

// Digest returns "sha256:" and the SHA-256 of the configuration's JSON, the rule that ZEP-0026 has
// for Zarf. It fails for what JSON cannot express, so call it before anything changes.
func (c DeployConfig) Digest() (string, error) { return digest(c) }

// Digest is DeployConfig's.
func (c RemoveConfig) Digest() (string, error) { return digest(c) }

// UnmarshalJSON reads numbers as they are written.
func (c *DeployConfig) UnmarshalJSON(data []byte) error {
	type plain DeployConfig // without this method
	return unmarshalSecret(data, (*plain)(c))
}

// UnmarshalJSON reads numbers as they are written.
func (c *RemoveConfig) UnmarshalJSON(data []byte) error {
	type plain RemoveConfig // without this method
	return unmarshalSecret(data, (*plain)(c))
}

// Format prints no contents, whatever the verb.
func (c DeployConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// String prints no contents.
func (c DeployConfig) String() string { return "DeployConfig" + redacted }

// GoString prints no contents.
func (c DeployConfig) GoString() string { return c.String() }

// LogValue logs no contents.
func (c DeployConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Format prints no contents, whatever the verb.
func (c RemoveConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// String prints no contents.
func (c RemoveConfig) String() string { return "RemoveConfig" + redacted }

// GoString prints no contents.
func (c RemoveConfig) GoString() string { return c.String() }

// LogValue logs no contents.
func (c RemoveConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Format prints no contents, whatever the verb.
func (v Values) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "Values"+redacted) }

// LogValue logs no contents.
func (v Values) LogValue() slog.Value { return slog.StringValue("Values" + redacted) }

// Format prints no contents, whatever the verb.
func (v ValuesOverrides) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "ValuesOverrides"+redacted)
}

// LogValue logs no contents.
func (v ValuesOverrides) LogValue() slog.Value { return slog.StringValue("ValuesOverrides" + redacted) }

func digest(config any) (string, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("computing the digest of the configuration: %w", withoutContents(err))
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func unmarshalSecret(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return withoutContents(decoder.Decode(into))
}

// withoutContents replaces errors of encoding/json, which quote the value that they trip over.
func withoutContents(err error) error {
	var mismatch *json.UnmarshalTypeError
	var kind *json.UnsupportedTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		return fmt.Errorf("the field %q has another type than %s", mismatch.Field, mismatch.Type)
	case errors.As(err, &kind):
		return fmt.Errorf("it holds a %s, which JSON cannot express", kind.Type)
	default:
		return errors.New("it holds something that JSON cannot express")
	}
}
