package chart

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"

	"helm.sh/helm/v3/pkg/chartutil"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

var yamlLine = regexp.MustCompile(`line \d+`)

// MergeValues merges the contents of values files in their order, the YAML documents of one file
// too, then the overlay (variables, then mapped values, then overrides, merged by the caller), a
// later one over an earlier one. Maps are merged key by key, everything else is replaced, and a
// null stays one: it takes a chart's default away. Numbers are float64, as charts get them from
// Helm: their templates compare and print them as such.
func MergeValues(files [][]byte, overlay map[string]any) (map[string]any, error) {
	merged := map[string]any{}
	for i, data := range files {
		docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			var values map[string]any
			if err == nil {
				err = yaml.Unmarshal(doc, &values)
			}
			if err != nil {
				// Only where: the parser may quote the line, and values hold secrets.
				where := cmp.Or(yamlLine.FindString(err.Error()), "it is no YAML map")
				return nil, fmt.Errorf("reading values file %d: %s", i, where)
			}
			merge(merged, values)
		}
	}
	merge(merged, overlay)
	return merged, nil
}

// merge merges from into into, which shares no map with it afterwards.
func merge(into, from map[string]any) {
	for key, value := range from {
		over, ok := asMap(value)
		if !ok {
			into[key] = value
			continue
		}
		under, ok := asMap(into[key])
		if !ok {
			under = map[string]any{}
		}
		merge(under, over)
		into[key] = under
	}
}

func asMap(value any) (map[string]any, bool) {
	switch m := value.(type) {
	case map[string]any:
		return m, m != nil
	case chartutil.Values:
		return m, m != nil
	}
	return nil, false
}
