// Command packagedir packs a folder with a zarf.yaml into an archive, for the demo and for people
// who try zarf-host before they have a package: packagedir FOLDER OUTPUT-FOLDER.
package main

import (
	"fmt"
	"os"

	"github.com/zarf-host/zarf-host/host/internal/packagetest"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: packagedir FOLDER OUTPUT-FOLDER")
		os.Exit(1)
	}
	if err := os.MkdirAll(os.Args[2], 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	path, err := packagetest.WriteDir(os.Args[1], os.Args[2], packagetest.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
