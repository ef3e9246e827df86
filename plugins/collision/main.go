// Command collision is a plugin with rules about what packages are called and where they come from,
// and with verdicts on what a deployment would run into.
package main

import "github.com/zarf-host/zarf-host/plugins/sdk"

func main() { sdk.Main(judge) }
