// Package plugintest puts requests to the shipped plugins natively, as the host puts them to their modules.
package plugintest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// Judge is what a plugin decides by.
type Judge func(sdk.Request) sdk.Response

// Try puts a request to a plugin and reads its answer as the host does. An error is the plugin's; an answer
// that the host would refuse fails the test.
func (j Judge) Try(t testing.TB, req hook.Request) (hook.Response, error) {
	t.Helper()
	in, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := sdk.Run(bytes.NewReader(in), &out, j); err != nil {
		return hook.Response{}, err
	}
	res, err := hook.DecodeResponse(out.Bytes(), req.Expect())
	if err != nil {
		t.Fatalf("the host refuses %s: %v", out.Bytes(), err)
	}
	return res, nil
}

// Ask is Try of a request that the plugin must answer.
func (j Judge) Ask(t testing.TB, req hook.Request) hook.Response {
	t.Helper()
	res, err := j.Try(t, req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Refuses checks that a request gets an error and no answer, which the host takes as a deny.
func (j Judge) Refuses(t testing.TB, in, want string) {
	t.Helper()
	var out bytes.Buffer
	if err := sdk.Run(strings.NewReader(in), &out, j); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
		t.Errorf("%s: error is %v, output %q, wanted %q", in, err, out.String(), want)
	}
}
