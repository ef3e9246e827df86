// Denies a prune that takes objects of protected namespaces: a plugin to begin with.
package main

import "github.com/zarf-host/zarf-host/plugins/sdk"

func main() { sdk.Main(judge) }
