package bundle

import "path"

// DocumentationNames are the names that the files of a package's documentation have in its tar, by
// their key: their own, but with the key before it where two have the same.
func DocumentationNames(docs map[string]string) map[string]string {
	count := map[string]int{}
	for _, file := range docs {
		count[path.Base(file)]++
	}
	out := map[string]string{}
	for key, file := range docs {
		out[key] = path.Base(file)
		if count[out[key]] > 1 {
			out[key] = key + "-" + out[key]
		}
	}
	return out
}
