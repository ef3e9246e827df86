// Command stateful is a plugin that asks the cluster, before a prune, which claims would go and who
// still uses them.
package main

import "github.com/zarf-host/zarf-host/plugins/sdk"

func main() { sdk.Main(judge) }
