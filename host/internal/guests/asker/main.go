// Command asker is a guest that asks the host what its configuration names, and tells what it got as
// findings.
package main

import (
	"encoding/json"
	"fmt"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// config is what to ask for.
type config struct {
	Get   []sdk.ObjectRef `json:"get"`
	List  []sdk.Query     `json:"list"`
	Files []string        `json:"files"`
}

func main() {
	sdk.Main(func(r sdk.Request) sdk.Response {
		var c config
		if err := r.DecodeConfig(&c); err != nil {
			return sdk.Fail(err)
		}
		res := r.Allow()
		say := func(what string, got any, err error) {
			text, _ := json.Marshal(got) // it was JSON
			if err != nil {
				text = []byte(err.Error())
			}
			res.Find(sdk.Finding{Severity: sdk.SeverityInfo, Message: fmt.Sprintf("%s: %s", what, text)})
		}
		for _, ref := range c.Get {
			var object map[string]any
			err := sdk.Get(ref, &object)
			say("get "+ref.Kind+" "+ref.Name, object, err)
		}
		for _, q := range c.List {
			var items []map[string]any
			err := sdk.List(q, &items)
			say("list "+q.Kind, items, err)
		}
		for _, path := range c.Files {
			data, err := sdk.File(path)
			say("file "+path, string(data), err)
		}
		if r.DeployConfig != nil {
			say("supplied", r.DeployConfig, nil)
		}
		return res
	})
}
