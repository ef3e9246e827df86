package main

import (
	"errors"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// config is what plugin.yaml has a schema for.
type config struct {
	Namespaces []string `json:"namespaces"`
}

// judge says what the plugin thinks of a request.
func judge(r sdk.Request) sdk.Response {
	var c config
	if err := r.DecodeConfig(&c); err != nil {
		return sdk.Fail(err)
	}
	if len(c.Namespaces) == 0 {
		return sdk.Fail(errors.New("the configuration protects nothing: name namespaces"))
	}
	res := r.Allow()
	for _, o := range r.Plan.Prune.Objects {
		if c.protects(o.Namespace) {
			res.DenyObject(o, "namespace "+o.Namespace+" is protected")
		}
	}
	return res
}

func (c config) protects(namespace string) bool {
	for _, n := range c.Namespaces {
		if n == namespace {
			return true
		}
	}
	return false
}
