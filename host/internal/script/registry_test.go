package script_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zarf-host/zarf-host/host/internal/testregistry"
)

// scriptRegistry starts a registry of the script's own at $REGISTRY. With -login it wants a user and
// password, which the Docker configuration of the script has. With -stop it ends the one that there is.
func scriptRegistry(ts *testscript.TestScript, neg bool, args []string) {
	login := len(args) == 1 && args[0] == "-login"
	stop := len(args) == 1 && args[0] == "-stop"
	usage(ts, neg, len(args) == 0 || login || stop, "registry [-login|-stop]")
	s := stateOf(ts)
	if stop {
		if s.registry == nil {
			ts.Fatalf("there is no registry to stop")
		}
		s.registry.Kill()
		return
	}
	opts := testregistry.Options{}
	if login {
		opts.User, opts.Password = "reader", "sesame"
	}
	s.registry = testregistry.Start(s.t, opts)
	ts.Setenv("REGISTRY", s.registry.Address())
	dir := ts.MkAbs("docker")
	ts.Check(os.MkdirAll(dir, 0o700))
	config := "{}"
	if login {
		config = fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, s.registry.Address(), base64.StdEncoding.EncodeToString([]byte("reader:sesame")))
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
	ts.Setenv("DOCKER_CONFIG", dir)
}

// scriptPublish publishes a package in the script's registry, as $REF.
func scriptPublish(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "publish PACKAGE")
	s := stateOf(ts)
	if s.registry == nil {
		ts.Fatalf("there is no registry: the command `registry` starts one")
	}
	ts.Setenv("REF", s.registry.Publish(s.t, ts.MkAbs(args[0])))
}
