package state

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/object"
)

// What Zarf wrote comes back to the byte: read as a whole and written from the types alone, so that
// no unknown member hides a field that the types lack.
func TestSamplesRoundTrip(t *testing.T) {
	all := samples(t)
	if len(all) < 25 {
		t.Fatalf("%d samples found, which cannot be all", len(all))
	}
	for name, data := range all {
		t.Run(name, func(t *testing.T) {
			record, err := Decode(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(record.Notes) > 0 {
				return // repaired: see TestBlankChartsAreDropped_N5
			}
			typed, err := json.Marshal(record.Package)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(data), string(typed)); diff != "" {
				t.Errorf("written from the types (-want +got):\n%s", diff)
			}
			written, own, err := record.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(data), string(written)); diff != "" {
				t.Errorf("Encode (-want +got):\n%s", diff)
			}
			if own != nil {
				t.Errorf("Encode made up an own key: %s", own)
			}
		})
	}
}

func TestBlankChartsAreDropped_N5(t *testing.T) {
	record, err := Decode(samples(t)["DeployedPackage-wedged-after-failed-remove.json"], nil)
	if err != nil {
		t.Fatal(err)
	}
	component, ok := record.Package.Component("one")
	if !ok || len(component.InstalledCharts) != 0 || component.InstalledCharts == nil {
		t.Errorf("charts of component one: %#v, want an empty list", component.InstalledCharts)
	}
	want := []string{`component "one": dropped 2 blank chart entries from the record`}
	if diff := cmp.Diff(want, record.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

const recordWithUnknowns = `{"name":"p","digest":"sha256:1","data":{"kind":"ZarfPackageConfig",` +
	`"metadata":{"name":"p","version":"1","signer":"me"},"build":{"architecture":"amd64","timestamp":"","version":""},` +
	`"components":[` +
	`{"name":"a","only":{"cluster":{}},"import":{},"scripts":{},"actions":{"onCreate":{"defaults":{"shell":{}}},"onDeploy":{"defaults":{"shell":{}}},"onRemove":{"defaults":{"shell":{}}}},"mode":"new"},` +
	`{"name":"b","only":{"cluster":{}},"import":{},"scripts":{},"actions":{"onCreate":{"defaults":{"shell":{}}},"onDeploy":{"defaults":{"shell":{}}},"onRemove":{"defaults":{"shell":{}}}},"mode":"old"}],` +
	`"values":{},"profile":"x"},"cliVersion":"v1","generation":3,"deployedComponents":[` +
	`{"name":"a","installedCharts":[{"namespace":"n","chartName":"r","status":"Succeeded","apply":"server"}],"status":"Succeeded","observedGeneration":3,"health":{"good":true}},` +
	`{"name":"b","installedCharts":null,"status":"Failed","observedGeneration":3}],` +
	`"packageConnectivity":"airgap","events":[{"type":"Deploy","outcome":"Succeeded","timestamp":"2026-01-01T00:00:00Z","who":"x"}],` +
	`"deployConfig":{"values":{"n":9007199254740993},"flags":["a"]},"labels":{"big":12345678901234567890}}`

func TestUnknownFieldsSurvive(t *testing.T) {
	record, err := Decode([]byte(recordWithUnknowns), nil)
	if err != nil {
		t.Fatal(err)
	}
	written, _, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordWithUnknowns, string(written)); diff != "" {
		t.Errorf("unchanged record (-want +got):\n%s", diff)
	}

	// A run on component a changes what is known and keeps what is not.
	p := record.Package.Begin(PackageEvent{Type: Deploy, Timestamp: at(1)})
	p = p.BeginComponent("a", Deploy, at(2), object.Release{Namespace: "n", Name: "r"}, object.Release{Namespace: "n", Name: "s"})
	p = p.SetChart("a", Chart{Namespace: "n", Name: "r", Status: StatusFailed})
	record.Package = p
	if written, _, err = record.Encode(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"labels":{"big":12345678901234567890}`,                          // at the end of the package
		`"health":{"good":true}`,                                         // of a component that changed
		`"status":"Failed","apply":"server"`,                             // of a chart that changed
		`"mode":"new"`, `"mode":"old"`, `"signer":"me"`, `"profile":"x"`, // of a definition that did not
		`"who":"x"`, `"flags":["a"]`, // of an event and a configuration that did not
	} {
		if !strings.Contains(string(written), want) {
			t.Errorf("%s is lost in %s", want, written)
		}
	}

	// A new definition replaces the old one, but for the component that is not touched.
	definition := record.Package.Data
	definition.Metadata.Version = "2"
	definition.Components = definition.Components[:1:1]
	definition.Components[0].Description = "changed"
	record.Package = record.Package.Define(definition, "a")
	if written, _, err = record.Encode(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`"mode":"new"`: false, `"signer":"me"`: false, `"profile":"x"`: false,
		`"mode":"old"`: true, `"labels"`: true, `"health"`: true, `"apply"`: true,
	} {
		if got := strings.Contains(string(written), text); got != want {
			t.Errorf("%s in the record: %v, want %v: %s", text, got, want, written)
		}
	}
}

func TestUnknownFieldsOfOwnKeySurvive(t *testing.T) {
	own := `{"apiVersion":"zarf-host.dev/v1alpha1","charts":[{"namespace":"n","chartName":"r","revision":3,"version":"1"}],` +
		`"kept":[{"apiVersion":"v1","kind":"ConfigMap","namespace":"n","name":"c","reason":"guard"}],"future":[{"ref":"x"}]}`
	record, err := Decode([]byte(`{"name":"p"}`), []byte(own))
	if err != nil {
		t.Fatal(err)
	}
	_, written, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(own, string(written)); diff != "" {
		t.Errorf("unchanged (-want +got):\n%s", diff)
	}
	record.Own = record.Own.SetRevision(object.Release{Namespace: "n", Name: "r"}, 4).
		Keep(object.Release{Namespace: "n", Name: "r"}, object.Instance{Ref: object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "n", Name: "s"}, UID: "u"})
	if _, written, err = record.Encode(); err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"zarf-host.dev/v1alpha1","charts":[{"namespace":"n","chartName":"r","revision":4,"version":"1"}],` +
		`"kept":[{"apiVersion":"v1","kind":"ConfigMap","namespace":"n","name":"c","reason":"guard"},` +
		`{"apiVersion":"v1","kind":"Secret","namespace":"n","name":"s","uid":"u","release":{"namespace":"n","name":"r"}}],"future":[{"ref":"x"}]}`
	if diff := cmp.Diff(want, string(written)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	// A key that exists is written even when nothing that we know is left in it.
	record.Own = Own{}
	if _, written, err = record.Encode(); err != nil || !strings.Contains(string(written), `"future"`) {
		t.Errorf("emptied: %s, %v; want the unknown member kept", written, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := map[string]struct{ data, own, want string }{
		"cut short":         {data: `{`, want: `reading key "data": its JSON ends too early`},
		"no JSON":           {data: `{"name":x}`, want: `reading key "data": it is not JSON from byte 9 on`},
		"empty":             {data: ``, want: `reading key "data": it is not a JSON object`},
		"null":              {data: `null`, want: `reading key "data": it is not a JSON object`},
		"nameless":          {data: `{}`, want: `reading key "data": it names no package`},
		"two":               {data: `{"name":"a"}{}`, want: `reading key "data": something follows its JSON object`},
		"mistyped":          {data: `{"name":"a","generation":"secret"}`, want: `reading key "data": the field "generation" has another type than int`},
		"mistyped config":   {data: `{"name":"a","deployConfig":{"setVariables":{"A":12345}}}`, want: `reading key "data": the field "setVariables" has another type than string`},
		"own key cut short": {data: `{"name":"a"}`, own: `[`, want: `reading key "zarf-host": it is not a JSON object`},
		"own key newer": {data: `{"name":"a"}`, own: `{"apiVersion":"zarf-host.dev/v9"}`,
			want: `reading key "zarf-host": its format is "zarf-host.dev/v9", and only "zarf-host.dev/v1alpha1" is known`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(test.data), []byte(test.own))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(recordWithUnknowns), []byte(`{"apiVersion":"zarf-host.dev/v1alpha1"}`))
	f.Add([]byte(`{"name":"a","Name":"b","data":null,"deployedComponents":[{}]}`), []byte(nil))
	f.Add([]byte(`{"name":"a","deployedComponents":[null],"events":[null,{"type":1}]}`), []byte(nil))
	f.Add([]byte(`{`), []byte(`{`))
	f.Fuzz(func(t *testing.T, data, own []byte) {
		record, err := Decode(data, own)
		if err != nil {
			return
		}
		written, ownWritten, err := record.Encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Decode(written, ownWritten)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		rewritten, ownRewritten, err := again.Encode()
		if err != nil || !bytes.Equal(written, rewritten) || !bytes.Equal(ownWritten, ownRewritten) {
			t.Fatalf("written twice, differently (%v):\n%s\n%s", err, written, rewritten)
		}
	})
}
