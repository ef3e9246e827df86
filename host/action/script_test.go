package action

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/spec"
)

func TestRewrite(t *testing.T) {
	for _, tc := range []struct {
		name, in, self, want string
		shell                string // sh unless given
	}{
		{name: "command", in: "./zarf tools kubectl get ns", want: "/bin/zh tools kubectl get ns"},
		{name: "alone", in: "./zarf", want: "/bin/zh"},
		{name: "quoted path", in: "./zarf version", self: "/my dir/zh", want: "'/my dir/zh' version"},
		{name: "pipes and substitutions", in: `a "$(./zarf version)" | ./zarf tools kubectl apply -f -`, want: `a "$(/bin/zh version)" | /bin/zh tools kubectl apply -f -`},
		{name: "condition", in: "until ./zarf tools kubectl get x; do sleep 1; done", want: "until /bin/zh tools kubectl get x; do sleep 1; done"},
		{name: "behind another command", in: "timeout 5 ./zarf version", want: "timeout 5 /bin/zh version"},
		{name: "assignment before", in: "A=1 ./zarf version", want: "A=1 /bin/zh version"},
		{name: "only mentioned", in: `echo "use ./zarf tools kubectl"`, want: `echo "use ./zarf tools kubectl"`},
		{name: "other files", in: "ls ./zarf-cache ./zarf/x", want: "ls ./zarf-cache ./zarf/x"},
		{name: "comment", in: "true # ./zarf version", want: "true # ./zarf version"},
		{name: "nested shell", in: `sh -c './zarf version; ./zarf tools kubectl get ns'`, want: `sh -c '/bin/zh version; /bin/zh tools kubectl get ns'`},
		{name: "eval", in: `eval "./zarf version"`, want: `eval "/bin/zh version"`},
		{name: "bash", in: "arr=(a b); [[ -f x ]] && ./zarf version", want: "arr=(a b); [[ -f x ]] && /bin/zh version"},
		{name: "unparsable", in: "if ( ./zarf version", want: "if ( /bin/zh version"},
		{name: "other language", in: "if ($x) { ./zarf version }", shell: "pwsh", want: "if ($x) { /bin/zh version }"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			self := tc.self
			if self == "" {
				self = "/bin/zh"
			}
			if got := rewrite(tc.in, self, isPOSIX(tc.shell)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	for _, tc := range []struct {
		name   string
		action spec.Action
		want   string // in the error, empty for none
	}{
		{name: "kubectl", action: spec.Action{Cmd: "./zarf tools kubectl get ns"}},
		{name: "aliases", action: spec.Action{Cmd: "./zarf t k get ns; ./zarf p ls; ./zarf p i definition x"}},
		{name: "wait-for", action: spec.Action{Cmd: "./zarf tools wait-for pod x ready -n y"}},
		{name: "flags before", action: spec.Action{Cmd: "./zarf -l debug --no-color tools kubectl get ns"}},
		{name: "dynamic", action: spec.Action{Cmd: "./zarf tools $TOOL x; ./zarf $ARGS"}},
		{name: "quoted", action: spec.Action{Cmd: `"./zarf" 'tools' "kubectl" get`}},
		{name: "mentioned", action: spec.Action{Cmd: "echo './zarf destroy'"}},
		{name: "prefix is not enough", action: spec.Action{Cmd: "./zarf tools"}, want: `calls "./zarf tools"`},
		{name: "registry", action: spec.Action{Cmd: "./zarf tools registry pull --platform \"linux/amd64\" $img ./target/$TAR 2> /dev/null; ./zarf tools crane cp a b"}},
		{name: "registry, flags before", action: spec.Action{Cmd: "./zarf tools registry --insecure --platform linux/arm64 ls x; ./zarf -l warn t -a arm64 r catalog"}},
		{name: "archiver", action: spec.Action{Cmd: "./zarf tools archiver decompress a_$(uname -s).tar.gz .; ./zarf t a c x y.zip"}},
		{name: "credentials", action: spec.Action{Cmd: "p=$(./zarf tools get-creds git); ./zarf t gc"}},
		{name: "mirror", action: spec.Action{Cmd: "./zarf package mirror-resources x --images; ./zarf p mr x"}},
		{name: "inspect", action: spec.Action{Cmd: "./zarf package inspect sbom x; ./zarf p i values-files x"}},
		{name: "missing tool", action: spec.Action{Cmd: "x=$(./zarf tools registry prune -c)"}, want: `calls "./zarf tools registry prune", which zarf-host does not have`},
		{name: "missing inspection", action: spec.Action{Cmd: "./zarf package inspect everything x"}, want: `calls "./zarf package inspect everything"`},
		{name: "missing command", action: spec.Action{Cmd: "timeout 5 ./zarf destroy --confirm"}, want: `calls "./zarf destroy"`},
		{name: "nested", action: spec.Action{Cmd: `bash -ec "./zarf tools yq ."`}, want: `calls "./zarf tools yq ."`},
		{name: "unparsable", action: spec.Action{Cmd: "if ( ./zarf tools yq ."}, want: `calls "./zarf tools yq ."`},
		{name: "other shell", action: spec.Action{Cmd: "./zarf tools yq | foo", Shell: &spec.Shell{Linux: "pwsh", Darwin: "pwsh", Windows: "pwsh"}}, want: `calls "./zarf tools yq"`},
		{name: "Go template", action: spec.Action{Cmd: "./zarf tools kubectl get {{ .Values.x }}", Template: p(true)}},
		{name: "a Go template as a command", action: spec.Action{Cmd: "./zarf tools {{ .Values.tool }} x", Template: p(true)}},
		{name: "missing tool in a Go template", action: spec.Action{Cmd: "./zarf destroy {{ if .Values.x }}-y{{ end }}", Template: p(true)}, want: `calls "./zarf destroy"`},
		{name: "named", action: spec.Action{Cmd: "./zarf destroy", Description: "burn it"}, want: `component "web", onDeploy.before[0], "burn it": it calls`},
		{name: "wait without aim", action: spec.Action{Wait: &spec.ActionWait{}}, want: "neither a cluster object nor"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Preflight(spec.Component{Name: "web"}, "onDeploy", spec.ActionSet{Before: []spec.Action{tc.action}})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestPreflightReportsEverything(t *testing.T) {
	bad := []spec.Action{{Cmd: "./zarf destroy; ./zarf say"}}
	err := Preflight(spec.Component{Name: "web"}, "onRemove",
		spec.ActionSet{Before: bad, After: bad, OnSuccess: bad, OnFailure: bad})
	unsupported, ok := err.(*UnsupportedError)
	if !ok || len(unsupported.Problems) != 8 {
		t.Fatalf("got %v", err)
	}
	for _, list := range []string{"before", "after", "onSuccess", "onFailure"} {
		if !strings.Contains(err.Error(), "onRemove."+list+"[0]") {
			t.Errorf("%s is missing in %q", list, err)
		}
	}
}

// Every action of the real packages can be looked at, and none that calls only kubectl and
// wait-for is refused.
func TestPreflightOnTheCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared(t), "corpus", "real", "valid", "*", "zarf.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no packages found: %v", err)
	}
	var actions, refused int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pkg spec.Package
		if err := yaml.Unmarshal(data, &pkg); err != nil {
			continue // authoring forms that only Zarf's own reader takes
		}
		for _, c := range pkg.Components {
			for _, a := range c.Actions.OnDeploy.Before {
				actions++
				if err := Preflight(c, "onDeploy", spec.ActionSet{Before: []spec.Action{a}}); err != nil {
					refused++
					if !strings.Contains(a.Cmd, zarfWord+" ") {
						t.Errorf("%s: %v", file, err)
					}
				}
			}
		}
	}
	if actions < 20 || refused == actions {
		t.Errorf("%d actions seen, %d refused", actions, refused)
	}
}

// shared is the folder of reference material beside the repository.
func shared(t *testing.T) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared")
		}
	}
	t.Fatal("no go.mod above this file")
	return ""
}

func FuzzRewrite(f *testing.F) {
	for _, s := range []string{"./zarf version", `sh -c './zarf x'`, "if ( ./zarf ", `eval "$(./zarf a)" ./zarf`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		got := rewrite(script, "/bin/zh", true)
		if !strings.Contains(script, zarfWord) && got != script {
			t.Errorf("%q became %q", script, got)
		}
		if !strings.Contains(script, zarfWord) {
			if found, _ := calls(script); len(found) > 0 {
				// Only quoting can hide the word from a search by text.
				if !strings.ContainsAny(script, `'"\`) {
					t.Errorf("%q has calls %v", script, found)
				}
			}
		}
		check(spec.ActionDefaults{}, spec.Action{Cmd: script})
	})
}
