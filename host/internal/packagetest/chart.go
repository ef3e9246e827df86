package packagetest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
)

// chartArchive packs the chart in a folder of the author's as helm package does: everything in one
// folder with the chart's name, Chart.yaml first.
func chartArchive(dir string, files authored) ([]byte, error) {
	if strings.HasSuffix(dir, ".tgz") {
		return files.file(dir)
	}
	metadata, err := files.file(path.Join(dir, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var chart struct {
		Name string `yaml:"name"`
	}
	if err := yaml.Unmarshal(metadata, &chart); err != nil {
		return nil, fmt.Errorf("reading Chart.yaml: %w", err)
	}
	if chart.Name == "" {
		return nil, fmt.Errorf("%s/Chart.yaml has no name", dir)
	}
	entries := []Entry{{Name: chart.Name + "/Chart.yaml", Mode: 0o644, Body: metadata}}
	for _, name := range files.below(dir) {
		if name != "Chart.yaml" {
			entries = append(entries, Entry{Name: path.Join(chart.Name, name), Mode: 0o644, Body: files[path.Join(dir, name)]})
		}
	}
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	if err := writeTar(zw, entries); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
