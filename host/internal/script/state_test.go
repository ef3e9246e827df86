package script_test

import (
	"encoding/json"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zarf-host/zarf-host/host/state"
)

// scriptZarfWrites rewrites the record of a package as a deployment of Zarf's leaves it that
// installed some of its components: the fields that Zarf does not know are gone, and so are the
// other components.
func scriptZarfWrites(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) > 1, "zarf-writes NAME COMPONENT…")
	s := needCluster(ts)
	name := state.SecretName(args[0], "")
	secrets := s.cluster.Client().CoreV1().Secrets(state.Namespace)
	secret, err := secrets.Get(s.t.Context(), name, meta.GetOptions{})
	ts.Check(err)
	var p state.Package
	ts.Check(json.Unmarshal(secret.Data[state.DataKey], &p))
	p.CLIVersion, p.Digest = "v0.84.0", "sha256:of-zarf"
	p.Data.Metadata.Version = "9.9.9"
	p.Events, p.DeployConfig = nil, nil
	p.Generation++
	p.DeployedComponents = slices.DeleteFunc(p.DeployedComponents, func(c state.Component) bool { return !slices.Contains(args[1:], c.Name) })
	for i := range p.DeployedComponents {
		p.DeployedComponents[i].LastEvent = state.ComponentEvent{}
		p.DeployedComponents[i].ObservedGeneration = p.Generation
	}
	data, err := json.Marshal(p)
	ts.Check(err)
	apply := core.Secret(name, state.Namespace).WithLabels(secret.Labels).WithType(secret.Type).
		WithData(map[string][]byte{state.DataKey: data})
	_, err = secrets.Apply(s.t.Context(), apply, meta.ApplyOptions{FieldManager: "zarf", Force: true})
	ts.Check(err)
}
