// Command report is a plugin that sums up a deployment or a removal once it is over.
package main

import "github.com/zarf-host/zarf-host/plugins/sdk"

func main() { sdk.Main(judge) }
