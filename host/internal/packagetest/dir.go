package packagetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxSource is how much an author's folder may hold; its files are held in memory.
const maxSource = 256 << 20

// WriteDir packs the package whose zarf.yaml, charts, manifests and files lie in srcDir into an
// archive in outDir and returns its path.
func WriteDir(srcDir, outDir string, o Options) (string, error) {
	p := Package{Files: map[string]string{}}
	var total int64
	src := os.DirFS(srcDir)
	err := fs.WalkDir(src, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if total += info.Size(); total > maxSource {
			return fmt.Errorf("the folder holds more than %d bytes", maxSource)
		}
		data, err := fs.ReadFile(src, name)
		p.Files[name] = string(data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the package's folder %q: %w", srcDir, err)
	}
	def, ok := p.Files["zarf.yaml"]
	if !ok {
		return "", fmt.Errorf("packing %q: it has no zarf.yaml", srcDir)
	}
	p.Definition = def
	path, err := Write(outDir, p, o)
	if err != nil {
		return "", fmt.Errorf("packing %q: %w", filepath.Join(srcDir, "zarf.yaml"), err)
	}
	return path, nil
}
