package selection

import (
	"slices"

	"github.com/zarf-host/zarf-host/host/spec"
)

// farthest is the edit distance up to which a name is worth suggesting (Zarf's).
const farthest = 5

// suggest returns the names of the components that are close to name, closest first.
func suggest(name string, components []spec.Component) []string {
	names := make([]string, len(components))
	for i, c := range components {
		names[i] = c.Name
	}
	return Near(name, names, farthest)
}

// Near returns those of some names that are at most so many edits away from name, closest first.
func Near(name string, among []string, edits int) []string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, other := range among {
		if d := distance(name, other); d <= edits {
			found = append(found, near{other, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	var names []string
	for _, f := range found {
		names = append(names, f.name)
	}
	return names
}

// distance is the Levenshtein distance of two strings, in runes, with two rows of memory.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	above := make([]int, len(to)+1)
	for j := range above {
		above[j] = j
	}
	for i, r := range from {
		row := make([]int, len(to)+1)
		row[0] = i + 1
		for j, s := range to {
			swap := above[j]
			if r != s {
				swap++
			}
			row[j+1] = min(swap, above[j+1]+1, row[j]+1)
		}
		above = row
	}
	return above[len(to)]
}
