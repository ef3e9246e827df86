package value

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/spec"
)

// ForChart maps package values to the Helm values of a chart, in the order of the mappings: a later
// one wins where two meet, map by map. A source that is not there is an error, as a chart would else
// get its own default unnoticed.
func ForChart(values map[string]any, mappings []spec.ChartValue) (map[string]any, error) {
	out := map[string]any{}
	for _, m := range mappings {
		mapped, err := one(values, m)
		if err != nil {
			return nil, err
		}
		out = Merge(out, mapped)
	}
	return out, nil
}

func one(values map[string]any, m spec.ChartValue) (map[string]any, error) {
	source, err := ParsePath(m.SourcePath)
	if err != nil {
		return nil, fmt.Errorf("mapping values: sourcePath: %w", err)
	}
	target, err := ParsePath(m.TargetPath)
	if err != nil {
		return nil, fmt.Errorf("mapping values: targetPath: %w", err)
	}
	left := Merge(values, nil)
	for _, text := range m.ExcludePaths {
		exclude, err := ParsePath(text)
		if err != nil {
			return nil, fmt.Errorf("mapping values: excludePaths: %w", err)
		}
		if len(exclude) <= len(source) || !Overlap(exclude, source) {
			return nil, fmt.Errorf("mapping values: excludePaths: %q does not lie below sourcePath %q", text, m.SourcePath)
		}
		remove(left, exclude)
	}
	value, ok := Get(left, source)
	if !ok {
		return nil, &MissingError{Path: shown(source), Use: "sourcePath of a chart"}
	}
	out := map[string]any{}
	if err := Set(out, target, value); err != nil {
		return nil, fmt.Errorf("mapping values from %q to %q: %w", m.SourcePath, m.TargetPath, err)
	}
	return out, nil
}

// MissingError says that a package uses a value that nobody gave.
type MissingError struct {
	Path string
	Use  string // where it is used
}

// Error names the path.
func (e *MissingError) Error() string {
	return fmt.Sprintf("the value %s, %s, is given nowhere", e.Path, e.Use)
}

// Hint says how to give it.
func (e *MissingError) Hint() string {
	return fmt.Sprintf("give it with --set-values %s=VALUE or in a file with --values", e.Path[1:])
}
