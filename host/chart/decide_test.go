package chart

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/zarf-host/zarf-host/host/object"
)

func cm(name string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// revisions makes stored revisions from lines of number, status, objects and description.
func revisions(lines ...string) []*release.Release {
	var out []*release.Release
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		rel := &release.Release{
			Name: "r", Namespace: "ns", Info: &release.Info{Status: release.Status(f[1])},
			Chart: &helmchart.Chart{Metadata: &helmchart.Metadata{Name: "app", Version: "1.0.0"}},
		}
		if _, err := fmt.Sscan(f[0], &rel.Version); err != nil {
			panic(err)
		}
		for _, name := range strings.Split(f[2], ",") {
			rel.Manifest += cm(name)
		}
		if len(f) > 3 {
			rel.Info.Description = f[3]
		}
		out = append(out, rel)
	}
	return out
}

func historyOf(t *testing.T, stored []*release.Release) History {
	t.Helper()
	h, err := history(object.Release{Namespace: "ns", Name: "r"}, stored, byBuiltins)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func names(docs []Document) string {
	var out []string
	for _, d := range docs {
		out = append(out, d.Name)
	}
	return strings.Join(out, ",")
}

func TestObjectsSinceDeployed(t *testing.T) {
	for name, test := range map[string]struct {
		stored []*release.Release
		want   string
	}{
		"none":                  {nil, ""},
		"one":                   {revisions("1 deployed a,b"), "a,b"},
		"upgraded":              {revisions("1 superseded a,b", "2 deployed a"), "a"},
		"failed upgrade":        {revisions("1 deployed a,b", "2 failed a,c"), "a,c,b"},
		"two failed ones":       {revisions("1 superseded z", "2 deployed a", "3 failed b", "4 failed c"), "c,b,a"},
		"never deployed":        {revisions("1 failed a", "2 failed b"), "b,a"},
		"rolled back":           {revisions("1 superseded a", "2 failed a,c", "3 deployed a Rollback to 1"), "a,c"},
		"upgraded after that":   {revisions("1 superseded a", "2 failed a,c", "3 superseded a Rollback to 1", "4 deployed a"), "a"},
		"nonsensical rollback":  {revisions("1 superseded a", "2 deployed b Rollback to 7"), "b"},
		"left behind":           {revisions("1 superseded a,b", "2 deployed a "+leftoversDescription+"1"), "a,b"},
		"uninstalling":          {revisions("1 deployed a", "2 uninstalling a,b"), "a,b"},
		"interrupted supersede": {revisions("1 superseded a", "2 pending-upgrade b"), "b,a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(historyOf(t, test.stored).ObjectsSinceDeployed()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAfterRecovery(t *testing.T) {
	for name, test := range map[string]struct {
		stored   []*release.Release
		recorded int
		want     Recovery
		statuses string
	}{
		"nothing there":  {nil, 1, Recovery{}, ""},
		"nothing to do":  {revisions("1 deployed a"), 1, Recovery{}, "1 deployed"},
		"not ours":       {revisions("1 pending-install a"), 0, Recovery{Action: RecoveryForeign, Revision: 1, Status: "pending-install"}, "1 pending-install"},
		"newer than us":  {revisions("1 deployed a", "2 pending-upgrade a"), 1, Recovery{Action: RecoveryForeign, Revision: 2, Status: "pending-upgrade"}, "1 deployed,2 pending-upgrade"},
		"install":        {revisions("1 pending-install a"), 1, Recovery{Action: RecoveryReinstall, Revision: 1, Status: "pending-install"}, "1 failed"},
		"upgrade":        {revisions("1 deployed a", "2 pending-upgrade b"), 2, Recovery{Action: RecoveryRollback, Revision: 2, Status: "pending-upgrade", Target: 1}, "1 superseded,2 failed,3 deployed"},
		"rollback":       {revisions("1 deployed a", "2 failed b", "3 pending-rollback a"), 3, Recovery{Action: RecoveryRollback, Revision: 3, Status: "pending-rollback", Target: 1}, "1 superseded,2 failed,3 failed,4 deployed"},
		"late upgrade":   {revisions("1 superseded a", "2 pending-upgrade b"), 2, Recovery{Action: RecoveryUpgrade, Revision: 2, Status: "pending-upgrade"}, "1 superseded,2 failed"},
		"uninstall":      {revisions("1 superseded a", "2 uninstalling b"), 2, Recovery{Action: RecoveryUninstall, Revision: 2, Status: "uninstalling"}, ""},
		"foreign remove": {revisions("1 uninstalling b"), 0, Recovery{Action: RecoveryForeign, Revision: 1, Status: "uninstalling"}, "1 uninstalling"},
	} {
		t.Run(name, func(t *testing.T) {
			h := historyOf(t, test.stored)
			before := len(h.Revisions)
			after, got := h.AfterRecovery(test.recorded)
			test.want.Release = h.Release
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			var statuses []string
			for _, r := range after.Revisions {
				statuses = append(statuses, fmt.Sprint(r.Number, " ", r.Status))
			}
			if joined := strings.Join(statuses, ","); joined != test.statuses {
				t.Errorf("it leaves %q, want %q", joined, test.statuses)
			}
			if len(h.Revisions) != before || before > 0 && h.Revisions[before-1].Status != test.stored[before-1].Info.Status.String() {
				t.Error("the history itself was changed")
			}
		})
	}
}

func TestPlannedMode(t *testing.T) {
	for name, test := range map[string]struct {
		stored   []*release.Release
		mode     mode
		revision int
	}{
		"new":                  {nil, modeInstall, 1},
		"deployed":             {revisions("1 deployed a"), modeUpgrade, 2},
		"failed install":       {revisions("1 failed a Release failed"), modeUpgrade, 2},
		"interrupted install":  {revisions("1 failed a " + interruptedInstall + "x"), modeReplace, 1},
		"interrupted over it":  {revisions("1 failed a", "2 failed a "+interrupted+"x"), modeUpgrade, 3},
		"interrupted upgrade":  {revisions("1 deployed a", "2 failed a "+interrupted+"x"), modeUpgrade, 3},
		"interrupted, late":    {revisions("1 superseded a", "2 failed a "+interrupted+"x"), modeUpgrade, 3},
		"uninstalled but kept": {revisions("1 uninstalled a"), modeReplace, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if mode, revision := plannedMode(historyOf(t, test.stored)); mode != test.mode || revision != test.revision {
				t.Errorf("got mode %d, revision %d", mode, revision)
			}
		})
	}
}

func TestUninstallManifest(t *testing.T) {
	stored := revisions("1 superseded z", "2 deployed a,b", "3 failed a,c")
	h := historyOf(t, stored)
	b := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "b"}
	text, changed, err := uninstallManifest(stored, h, keySet([]object.Ref{b}), byBuiltins)
	if err != nil || !changed {
		t.Fatalf("changed %t, %v", changed, err)
	}
	docs, err := documents(text, "ns", byBuiltins)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(docs); got != "a,c,b" {
		t.Errorf("it holds %q", got)
	}
	for _, d := range docs {
		if marked := d.Annotations[object.ResourcePolicy] == "keep"; marked != (d.Name == "b") || d.Keep() {
			t.Errorf("%s: Helm keeps it: %t; it asks for that itself: %t", d.Name, marked, d.Keep())
		}
	}
	// The second time there is nothing left to write.
	stored[2].Manifest = text
	if _, changed, err = uninstallManifest(stored, historyOf(t, stored), keySet([]object.Ref{b}), byBuiltins); err != nil || changed {
		// b is older than the newest revision no more
		t.Errorf("changed again: %t, %v", changed, err)
	}
	// An uninstall that goes on under a plan which does not keep it takes the mark away.
	text, changed, err = uninstallManifest(stored, historyOf(t, stored), nil, byBuiltins)
	if err != nil || !changed || strings.Contains(text, object.ResourcePolicy) || strings.Contains(text, object.KeptMark) {
		t.Errorf("under another plan: changed %t, %v\n%s", changed, err, text)
	}
}

func TestClaim(t *testing.T) {
	us := object.Release{Namespace: "ns", Name: "r"}
	live := func(name string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		obj.SetUID("u1")
		if name != "" {
			obj.SetLabels(map[string]string{labelManagedBy: managedByHelm})
			obj.SetAnnotations(map[string]string{annotationReleaseName: name, annotationReleaseNamespace: "ns"})
		}
		return obj
	}
	key := object.Key{Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	for name, test := range map[string]struct {
		rules rules
		live  *unstructured.Unstructured
		want  claim
	}{
		"ours":                {rules{}, live("r"), claimOwned},
		"another's":           {rules{}, live("other"), claimNone},
		"nobody's":            {rules{}, live(""), claimNone},
		"adopted":             {rules{adopt: map[object.Key]string{key: "u1"}}, live("other"), claimAdopted},
		"adopted, gone since": {rules{adopt: map[object.Key]string{key: "u0"}}, live("other"), claimNone},
		"take ownership":      {rules{takeOwnership: true}, live("other"), claimAdopted},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.rules.claim(us, key, test.live); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func object1(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var content map[string]any
	d := Document{Body: []byte(text)}
	obj, err := d.object()
	if err != nil {
		t.Fatal(err, content)
	}
	return obj
}

func TestCovers(t *testing.T) {
	const wants = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {x: one, app.kubernetes.io/managed-by: me}}
spec:
  replicas: 2
  paused: false
  template: {spec: {containers: [{name: main, image: i}], volumes: []}}
`
	const live = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {x: one, z: z, app.kubernetes.io/managed-by: Helm}}
spec:
  replicas: 2
  template: {spec: {containers: [{name: side, image: s}, {name: main, image: i, imagePullPolicy: Always}]}}
status: {}
`
	for name, test := range map[string]struct {
		from, to string
		want     bool
	}{
		"equal":          {"", "", true},
		"number":         {"replicas: 2", "replicas: 3", false},
		"label":          {"x: one,", "x: two,", false},
		"image":          {"image: i,", "image: j,", false},
		"gone container": {"{name: main, image: i, imagePullPolicy: Always}", "{name: other}", false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := live
			if test.from != "" {
				changed = strings.Replace(live, test.from, test.to, 1)
				if changed == live {
					t.Fatal("the test changes nothing")
				}
			}
			if got := covers(object1(t, changed), object1(t, wants)); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	if !covers(object1(t, secret+"data: {a: eA==, b: eg==}"), object1(t, secret+"stringData: {a: x}\ndata: {b: eg==}")) {
		t.Error("stringData is not compared as data")
	}
	if covers(object1(t, secret+"data: {a: eA==}"), object1(t, secret+"stringData: {a: other}")) {
		t.Error("a changed Secret counts as equal")
	}
}

func TestTransient(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":           {nil, false},
		"unavailable":    {apierrors.NewServiceUnavailable("x"), true},
		"too many":       {apierrors.NewTooManyRequests("x", 1), true},
		"webhook away":   {apierrors.NewInternalError(errors.New(`failed calling webhook "a": connection refused`)), true},
		"webhook denies": {apierrors.NewForbidden(resource, "a", errors.New("denied the request")), false},
		"internal":       {apierrors.NewInternalError(errors.New("x")), false},
		"leader":         {apierrors.NewInternalError(errors.New("etcdserver: leader changed")), true},
		"refused":        {&url.Error{Op: "Get", Err: syscall.ECONNREFUSED}, true},
		"reset":          {fmt.Errorf("x: %w", syscall.ECONNRESET), true},
		"EOF":            {&url.Error{Op: "Get", Err: io.EOF}, true},
		"conflict":       {apierrors.NewConflict(resource, "a", errors.New("x")), false},
		"exists":         {apierrors.NewAlreadyExists(resource, "a"), false},
		"not found":      {apierrors.NewNotFound(resource, "a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := transient(test.err); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestMountsData(t *testing.T) {
	for text, want := range map[string]bool{
		"{apiVersion: v1, kind: PersistentVolumeClaim}":                                                                                        true,
		"{apiVersion: v1, kind: PersistentVolume}":                                                                                             true,
		"{apiVersion: v1, kind: ConfigMap}":                                                                                                    false,
		"{apiVersion: apps/v1, kind: StatefulSet, spec: {volumeClaimTemplates: [{}]}}":                                                         true,
		"{apiVersion: apps/v1, kind: StatefulSet, spec: {template: {spec: {}}}}":                                                               false,
		"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: a}}]}}}}":              true,
		"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: [{emptyDir: {}}]}}}}":                                       false,
		"{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {volumes: [{persistentVolumeClaim: {a: b}}]}}}}}}": true,
		"{apiVersion: v1, kind: Pod, spec: {volumes: [{persistentVolumeClaim: {claimName: a}}]}}":                                              true,
		"{apiVersion: example.dev/v1, kind: Deployment, spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: a}}]}}}}":       false,
		"{apiVersion: v1, kind: ReplicationController, spec: {template: {spec: {volumes: [{persistentVolumeClaim: {claimName: a}}]}}}}":        true,
		"{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {volumes: [{name: x}, {persistentVolumeClaim: {claimName: a}}]}}}}":         true,
		"{apiVersion: apps/v1, kind: DaemonSet, spec: {template: {spec: {volumes: [{hostPath: {path: /}}]}}}}":                                 false,
		"{apiVersion: apps/v1, kind: ReplicaSet, spec: {template: {spec: {volumes: [{name: x, persistentVolumeClaim: {claimName: a}}]}}}}":     true,
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass}":                                                                                  false,
	} {
		if got := mountsData(object1(t, text)); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}

func TestErrorsNameWhatMatters(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"}
	conflict := &ConflictError{Object: ref, Owner: object.Release{Namespace: "o", Name: "other"}, Wanted: object.Release{Namespace: "ns", Name: "r"}}
	if want := `ConfigMap/ns/a exists and belongs to release "o/other", not to "ns/r"`; conflict.Error() != want {
		t.Errorf("got %q", conflict)
	}
	denied := errors.New("denied")
	failed := &DeleteError{Release: conflict.Wanted, Failed: []FailedDelete{{Ref: ref, Err: denied}}}
	if !errors.Is(failed, denied) || !strings.Contains(failed.Error(), "ConfigMap/ns/a: denied") {
		t.Errorf("got %q", failed)
	}
}

func TestDocumentPrintsNoBody(t *testing.T) {
	d := Document{Ref: object.Ref{Kind: "Secret", Name: "s"}, Body: []byte("hunter2")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, d); strings.Contains(text, "hunter2") || strings.Contains(text, "104 117 110") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, secret := range zarfReleases(f, "yolo-demo") {
		f.Add(secret.Data["release"])
	}
	f.Add([]byte("bm90aGluZw=="))
	f.Fuzz(func(t *testing.T, data []byte) {
		rel, err := decode(data)
		if err == nil && (rel == nil || rel.Info == nil) {
			t.Error("a release without its parts")
		}
	})
}

func FuzzPostRender(f *testing.F) {
	f.Add(manyKinds)
	f.Add("---\n# Source: a\nkind: AList\nitems: [1]\n")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := postRender(Wanted{Release: object.Release{Namespace: "n"}, Package: "p"}, text)
		if err != nil {
			return
		}
		again, err := postRender(Wanted{Release: object.Release{Namespace: "n"}, Package: "p"}, join(out.pieces))
		if err != nil {
			t.Fatalf("its own output is refused: %v", err)
		}
		for i := range out.objects {
			if diff := cmp.Diff(out.objects[i], again.objects[i], cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func FuzzMergeValues(f *testing.F) {
	f.Add([]byte("a: {b: c}"), []byte("a: null"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		merged, err := MergeValues([][]byte{a, b}, nil)
		if err != nil {
			return
		}
		if _, err := yaml.Marshal(merged); err != nil {
			t.Fatal(err)
		}
	})
}
