//go:build !wasip1

package sdk_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

func TestHostCalls(t *testing.T) {
	var asked string
	answer := ""
	t.Cleanup(sdk.UseHost(func(request []byte) []byte { asked = string(request); return []byte(answer) }))
	claim := sdk.ObjectRef{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "db", Name: "pg-0"}
	var got struct {
		Spec struct{ VolumeName string }
	}

	answer = `{"object":{"spec":{"volumeName":"pv-1"}}}`
	if err := sdk.Get(claim, &got, "spec.volumeName"); err != nil || got.Spec.VolumeName != "pv-1" {
		t.Errorf("got %+v, %v", got, err)
	}
	if want := `{"op":"k8s.get/v1","apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"db","name":"pg-0","fields":["spec.volumeName"]}`; asked != want {
		t.Errorf("asked %s, wanted %s", asked, want)
	}
	answer = `{"error":{"code":"not-found","message":"no such thing"}}`
	if err := sdk.Get(claim, &got); !sdk.IsNotFound(err) || sdk.IsForbidden(err) || !strings.Contains(err.Error(), "PersistentVolumeClaim/db/pg-0") {
		t.Errorf("error is %v", err)
	}

	var list []map[string]any
	answer = `{"items":[{"kind":"Pod"}],"truncated":true}`
	if err := sdk.List(sdk.Query{APIVersion: "v1", Kind: "Pod", Namespace: "db", LabelSelector: "a=b", Limit: 1}, &list); !errors.Is(err, sdk.ErrTruncated) || len(list) != 1 {
		t.Errorf("listed %v, %v", list, err)
	}
	if want := `{"op":"k8s.list/v1","apiVersion":"v1","kind":"Pod","namespace":"db","labelSelector":"a=b","limit":1}`; asked != want {
		t.Errorf("asked %s, wanted %s", asked, want)
	}
	answer = `{}`
	if err := sdk.List(sdk.Query{APIVersion: "v1", Kind: "Pod"}, &list); err != nil || len(list) != 0 {
		t.Errorf("listed %v, %v", list, err)
	}

	answer = `{"data":"aGVsbG8="}`
	if data, err := sdk.File("zarf.yaml"); err != nil || string(data) != "hello" {
		t.Errorf("read %q, %v", data, err)
	}
	answer = `nonsense`
	if _, err := sdk.File("zarf.yaml"); err == nil {
		t.Error("nonsense was an answer")
	}
}

func TestNoHostNatively(t *testing.T) {
	if _, err := sdk.File("zarf.yaml"); err == nil || !strings.Contains(err.Error(), "sdk.UseHost") {
		t.Errorf("error is %v", err)
	}
}
