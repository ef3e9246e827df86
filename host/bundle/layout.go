package bundle

import (
	"fmt"
	"hash/crc32"
	"path"
	"strings"

	"github.com/zarf-host/zarf-host/host/spec"
)

// The files at the root of a package.
const (
	DefinitionPath      = "zarf.yaml"
	ChecksumsPath       = "checksums.txt"
	SignaturePath       = "zarf.bundle.sig"
	LegacySignaturePath = "zarf.yaml.sig"
	ValuesYAMLPath      = "values.yaml"
	ValuesSchemaPath    = "values.schema.json"
	DocumentationPath   = "documentation.tar"
	SBOMPath            = "sboms.tar"
	ImagesDir           = "images"
	ComponentsDir       = "components"
)

// The folders in a component's tar.
const (
	chartsDir    = "charts"
	valuesDir    = "values"
	manifestsDir = "manifests"
	filesDir     = "files"
	dataDir      = "data"
	reposDir     = "repos"
)

// ComponentPath is where a package keeps the content of a component.
func ComponentPath(component string) string {
	return path.Join(ComponentsDir, component+".tar")
}

// ChartPath is where a component keeps a chart.
func ChartPath(c spec.Chart) string {
	return chartsDir + "/" + chartStem(c) + ".tgz"
}

// ValuesPath is where a component keeps the values file of a chart with an index that counts the
// chart's valuesFiles, then its templatedValuesFiles.
func ValuesPath(c spec.Chart, index int) string {
	return fmt.Sprintf("%s/%s-%d", valuesDir, chartStem(c), index)
}

// ManifestPath is where a component keeps the file with that index of a manifest.
func ManifestPath(m spec.Manifest, index int) string {
	return fmt.Sprintf("%s/%s-%d.yaml", manifestsDir, m.Name, index)
}

// KustomizationPath is where a component keeps what the kustomization with that index of a
// manifest was rendered to.
func KustomizationPath(m spec.Manifest, index int) string {
	return fmt.Sprintf("%s/kustomization-%s-%d.yaml", manifestsDir, m.Name, index)
}

// FilePath is where a component keeps the file, or folder, with that index among its files.
func FilePath(f spec.File, index int) string {
	return fmt.Sprintf("%s/%d/%s", filesDir, index, path.Base(f.Target))
}

// DataPath is where a component keeps the data injection with that index.
func DataPath(d spec.DataInjection, index int) string {
	return fmt.Sprintf("%s/%d/%s", dataDir, index, path.Base(d.Target.Path))
}

// chartStem is the chart's name and version: two charts of one name lie side by side by version.
func chartStem(c spec.Chart) string {
	if c.Version == "" {
		return c.Name
	}
	return c.Name + "-" + c.Version
}

// componentOf is the component whose content a path of a package is, or "".
func componentOf(p string) string {
	dir, file := path.Split(p)
	name, isTar := strings.CutSuffix(file, ".tar")
	if dir != ComponentsDir+"/" || !isTar {
		return ""
	}
	return name
}

// RepoPath is where a component keeps the clone of a git repository, by the URL that the definition
// names it by, with the reference at its end.
func RepoPath(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	_, inside, _ := strings.Cut(rest, "/")  // what stands before an @ in the host is no path
	inside, _, _ = strings.Cut(inside, "@") // a reference may have slashes of its own
	name := strings.TrimSuffix(path.Base(inside), ".git")
	return fmt.Sprintf("%s/%s-%d", reposDir, name, crc32.ChecksumIEEE([]byte(url)))
}
