// Command guard is a plugin that denies or keeps what a prune would take: objects in protected
// namespaces, of protected kinds, with protected labels, or holding data.
package main

import "github.com/zarf-host/zarf-host/plugins/sdk"

func main() { sdk.Main(judge) }
