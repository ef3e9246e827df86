package compose

import (
	"maps"
	"slices"
)

// WithoutImages is the component without the images for which drop returns true.
func (c Component) WithoutImages(drop func(index int, image string) bool) Component {
	c.Images, c.places = without(c.Images, c.places, "images", drop)
	return c
}

// WithoutRepos is the component without the repositories for which drop returns true.
func (c Component) WithoutRepos(drop func(index int, repo string) bool) Component {
	c.Repos, c.places = without(c.Repos, c.places, "repos", drop)
	return c
}

// without leaves items out of a list and moves up the places of those behind them.
func without(list []string, places map[string]Place, name string, drop func(int, string) bool) ([]string, map[string]Place) {
	var kept []string
	moved := maps.Clone(places)
	for i := range list {
		delete(moved, key([]any{name, i}))
	}
	for i, item := range slices.Clone(list) {
		if drop(i, item) {
			continue
		}
		if at, ok := places[key([]any{name, i})]; ok {
			moved[key([]any{name, len(kept)})] = at
		}
		kept = append(kept, item)
	}
	return kept, moved
}
