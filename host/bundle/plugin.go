package bundle

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// PluginsDir is where a package carries plugins, beside what Zarf has there: files like all others,
// vouched for by checksums.txt, that Zarf keeps and does not look at.
const PluginsDir = "plugins"

const pluginExtension = ".wasm"

// PluginPath is where a package keeps the module of a plugin that it carries.
func PluginPath(name string) string { return path.Join(PluginsDir, name+pluginExtension) }

// PluginOf is the name of the plugin whose module a path of a package is.
func PluginOf(p string) (name string, ok bool) {
	dir, file := path.Split(p)
	name, ok = strings.CutSuffix(file, pluginExtension)
	return name, ok && dir == PluginsDir+"/" && name != ""
}

// Size is how many bytes a file of the package has; fs.ErrNotExist where there is none.
func (b *Bundle) Size(path string) (int64, error) {
	i, ok := b.index[path]
	if !ok {
		return 0, fmt.Errorf("looking for %q in the package: %w", path, fs.ErrNotExist)
	}
	return b.files[i].Size, nil
}
