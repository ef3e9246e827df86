package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// schemaTime is how long a plugin's schema may take. A schema is the plugin's own text, so that its
// evaluation is as little to be trusted as its code.
const schemaTime = 10 * time.Second

// schema checks one configuration.
type schema func(config map[string]any) error

// checkSchema says whether a configSchema can be read.
func checkSchema(raw json.RawMessage) error {
	_, err := parseSchema(raw)
	return err
}

// parseSchema reads a configSchema: CUE where it is a string, JSON schema where it is an object. No
// schema accepts no configuration at all, since nothing would read it.
func parseSchema(raw json.RawMessage) (schema, error) {
	trimmed := bytes.TrimSpace(raw)
	switch {
	case len(trimmed) == 0 || string(trimmed) == "null":
		return func(config map[string]any) error {
			if len(config) > 0 {
				return errors.New("the plugin takes no configuration: its metadata has no configSchema")
			}
			return nil
		}, nil
	case trimmed[0] == '"':
		var source string
		if err := json.Unmarshal(trimmed, &source); err != nil {
			return nil, fmt.Errorf("reading configSchema: %w", err)
		}
		return cueSchema(source)
	default:
		return jsonSchema(trimmed)
	}
}

// noLoader refuses to fetch what a schema refers to: a plugin's schema must not make the host read
// files or talk to servers.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a configSchema refers to nothing outside itself, this one to %s", url)
}

func jsonSchema(source []byte) (schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, fmt.Errorf("reading configSchema: %w", err)
	}
	const self = "plugin:config"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(self, doc); err != nil {
		return nil, fmt.Errorf("reading configSchema: %w", err)
	}
	compiled, err := compiler.Compile(self)
	if err != nil {
		return nil, fmt.Errorf("reading configSchema: %w", err)
	}
	return func(config map[string]any) error {
		var invalid *jsonschema.ValidationError
		switch err := compiled.Validate(config); {
		case err == nil:
			return nil
		case !errors.As(err, &invalid):
			return err
		}
		var faults []string
		for _, unit := range invalid.BasicOutput().Errors {
			if unit.Error != nil {
				faults = append(faults, dotted(unit.InstanceLocation)+unit.Error.String())
			}
		}
		return errors.New(strings.Join(faults, "; "))
	}, nil
}

// dotted makes "a.b: " of the pointer /a/b.
func dotted(pointer string) string {
	if pointer == "" {
		return ""
	}
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".") + ": "
}

func cueSchema(source string) (schema, error) {
	build := func() (cue.Value, error) {
		v := cuecontext.New().CompileString(source, cue.Filename("configSchema"))
		if err := v.Err(); err != nil {
			return cue.Value{}, fmt.Errorf("reading configSchema: %w", cueError(err))
		}
		// A definition closes the schema, so that misspelt keys are found.
		if d := v.LookupPath(cue.ParsePath("#Config")); d.Exists() {
			return d, nil
		}
		return v, nil
	}
	if _, err := build(); err != nil {
		return nil, err
	}
	return func(config map[string]any) error {
		v, err := build() // a context of its own: CUE's grow with every value that they see
		if err != nil {
			return err
		}
		data, err := json.Marshal(config)
		if err != nil {
			return fmt.Errorf("writing the configuration: %w", err)
		}
		// JSON is CUE; encoding the Go values instead would make floats of all numbers.
		v = v.Unify(v.Context().CompileBytes(data)) //nolint:staticcheck // there is one context here, build's own
		if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
			return cueError(err)
		}
		return nil
	}, nil
}

func cueError(err error) error {
	var faults []string
	for _, e := range cueerrors.Errors(err) {
		format, args := e.Msg()
		fault := fmt.Sprintf(format, args...)
		if path := strings.Join(e.Path(), "."); path != "" {
			fault = strings.TrimPrefix(path, "#Config.") + ": " + fault
		}
		faults = append(faults, fault)
	}
	return errors.New(strings.Join(faults, "; "))
}

// checkConfig returns the configuration as JSON types if the plugin's schema accepts it.
func checkConfig(ctx context.Context, raw json.RawMessage, config map[string]any) (map[string]any, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var plain map[string]any
	if err := dec.Decode(&plain); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if plain == nil {
		plain = map[string]any{}
	}
	ctx, cancel := context.WithTimeout(ctx, schemaTime)
	defer cancel()
	done := make(chan error, 1)
	// Neither library can be interrupted; a schema that does not end keeps its goroutine until the
	// process ends, which a refused operation soon does.
	go func() {
		check, err := parseSchema(raw)
		if err == nil {
			err = check(plain)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return plain, err
	case <-ctx.Done():
		return nil, fmt.Errorf("checking the configuration against the plugin's schema: %w", ctx.Err())
	}
}

// ParseConfigFlags reads the values of --plugin-config, each NAME=FILE or NAME.key=value, in order:
// later ones win, files replace what was there, dots in a key go deeper. Values are YAML.
func ParseConfigFlags(flags []string, read func(file string) ([]byte, error)) (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	for _, flag := range flags {
		left, value, ok := strings.Cut(flag, "=")
		name, key, nested := strings.Cut(left, ".")
		if !ok || name == "" || nested && slices.Contains(strings.Split(key, "."), "") {
			return nil, fmt.Errorf("--plugin-config %q is neither NAME=FILE nor NAME.key=value", flag)
		}
		if nested {
			if out[name] == nil {
				out[name] = map[string]any{}
			}
			var v any
			if err := yaml.Unmarshal([]byte(value), &v); err != nil {
				return nil, fmt.Errorf("reading the value of --plugin-config %s: %w", left, err)
			}
			if err := setKey(out[name], strings.Split(key, "."), v); err != nil {
				return nil, fmt.Errorf("--plugin-config %s: %w", left, err)
			}
			continue
		}
		data, err := read(value)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration of plugin %q: %w", name, err)
		}
		config := map[string]any{}
		if err := yaml.UnmarshalStrict(data, &config); err != nil {
			return nil, fmt.Errorf("reading the configuration of plugin %q from %s: %w", name, value, err)
		}
		out[name] = config
	}
	return out, nil
}

func setKey(config map[string]any, path []string, value any) error {
	if len(path) == 1 {
		config[path[0]] = value
		return nil
	}
	below, ok := config[path[0]].(map[string]any)
	if !ok {
		if config[path[0]] != nil {
			return fmt.Errorf("%s is a value and has no keys", path[0])
		}
		below = map[string]any{}
		config[path[0]] = below
	}
	return setKey(below, path[1:], value)
}
