package packagetest

import (
	"github.com/zarf-host/zarf-host/host/definition"
	"github.com/zarf-host/zarf-host/host/spec"
)

// Marshal is zarf.yaml as Zarf writes a definition into a package.
func Marshal(pkg *spec.Package) ([]byte, error) { return definition.Marshal(pkg) }
