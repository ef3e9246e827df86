package bundle_test

import (
	"context"
	"fmt"
	"os"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/internal/packagetest"
)

// Open a package and read the manifests of a component.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path, err := packagetest.Write(dir, packagetest.Package{Definition: plainDefinition, Files: plainFiles}, packagetest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	b, err := bundle.Open(ctx, path, bundle.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println("files checked:", b.Integrity().Files)

	component := b.Definition().Components[0]
	manifest := bundle.ManifestPath(component.Manifests[0], 0)
	files, err := b.ReadComponent(ctx, component.Name, func(path string) bool { return path == manifest })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s", manifest, files[manifest])
	// Output:
	// files checked: 1
	// manifests/maps-0.yaml: kind: ConfigMap
}
