// Command window is a plugin that denies what is deployed or removed outside a change window, by the
// time of the request.
package main

import "github.com/zarf-host/zarf-host/plugins/sdk"

func main() { sdk.Main(judge) }
