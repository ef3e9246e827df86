package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxBytes is the largest values file that is read. A record that holds values is limited to 1 MiB.
	maxBytes = 4 << 20
	// maxNodes bounds what a file holds once its aliases are expanded.
	maxNodes = 1_000_000
	maxDepth = 1000
)

// Parse reads a values file: one YAML (or JSON) document whose top is a map, or nothing. Words such
// as yes and on are text, as in YAML 1.2 and in Zarf.
func Parse(data []byte) (map[string]any, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("it has %d bytes, more than the %d that values may have", len(data), maxBytes)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc, second yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return map[string]any{}, nil
	} else if err != nil {
		return nil, withoutContents(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document begins, and values are one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, withoutContents(err)
	}
	r := reader{}
	value, err := r.value(&doc, 0)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	default:
		return nil, fmt.Errorf("line %d: the top of the values must be a map", doc.Line)
	}
}

// withoutContents keeps the place of a syntax error: the parser may quote the line, and values hold
// secrets.
func withoutContents(err error) error {
	if where := regexp.MustCompile(`line \d+`).FindString(err.Error()); where != "" {
		return fmt.Errorf("%s: it is not YAML", where)
	}
	return errors.New("it is not YAML")
}

// reader turns nodes into values, within limits.
type reader struct{ nodes int }

func (r *reader) value(n *yaml.Node, depth int) (any, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, fmt.Errorf("line %d: the aliases expand to more than the %d nodes that values may have", n.Line, maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: it is nested deeper than %d, or an alias contains itself", n.Line, maxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0], depth)
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if out[i], err = r.value(item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.ScalarNode:
		return scalar(n)
	default:
		return nil, nil // an empty document
	}
}

func (r *reader) mapping(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	merged := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, node := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key must be a word", key.Line)
		}
		value, err := r.value(node, depth+1)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			if err := merge(merged, value, key.Line); err != nil {
				return nil, err
			}
			continue
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the key %q is there twice", key.Line, key.Value)
		}
		out[key.Value] = value
	}
	for key, value := range merged {
		if _, own := out[key]; !own {
			out[key] = value
		}
	}
	return out, nil
}

// merge takes over the maps of a merge key, the first one that has a key decides.
func merge(into map[string]any, value any, line int) error {
	maps, ok := value.([]any)
	if !ok {
		maps = []any{value}
	}
	for _, item := range maps {
		m, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("line %d: a merge key takes maps", line)
		}
		for key, v := range m {
			if _, has := into[key]; !has {
				into[key] = clone(v)
			}
		}
	}
	return nil
}

// scalar reads a scalar. Integers keep every digit; other numbers get the form that JSON has for
// them.
func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	case "!!int":
		plain := strings.ReplaceAll(n.Value, "_", "")
		i, ok := new(big.Int).SetString(strings.TrimPrefix(plain, "+"), 0)
		if !ok {
			return nil, fmt.Errorf("line %d: it is not the integer that it claims to be", n.Line)
		}
		return json.Number(i.String()), nil
	case "!!float":
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("line %d: values cannot hold this number", n.Line)
		}
		if i, ok := new(big.Int).SetString(n.Value, 10); ok {
			return json.Number(i.String()), nil // an integer too large for the parser to know it as one
		}
		data, err := json.Marshal(f)
		return json.Number(data), err
	default:
		return n.Value, nil
	}
}
