package chart

import (
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
)

// threeWayPatch is what turns a live object into the target: everything of the target that live
// lacks, less what base (the last form that the release gave it) had and target has no more.
// Fields that others set stay. It returns nil when nothing is to change.
func threeWayPatch(info *resource.Info, base, target, live *unstructured.Unstructured) ([]byte, types.PatchType, error) {
	var data [3][]byte
	for i, obj := range []*unstructured.Unstructured{base, target, live} {
		var err error
		if data[i], err = json.Marshal(obj.Object); err != nil {
			return nil, "", withoutBody(err)
		}
	}
	patch, kind, err := merged(kube.AsVersioned(info), data[0], data[1], data[2])
	if err != nil {
		return nil, "", fmt.Errorf("comparing it with the live object: %w", err)
	}
	if string(patch) == "{}" {
		return nil, kind, nil
	}
	return patch, kind, nil
}

func merged(typed runtime.Object, base, target, live []byte) ([]byte, types.PatchType, error) {
	// Only Kubernetes' own kinds have merge keys for their lists.
	_, custom := typed.(runtime.Unstructured)
	_, crd := typed.(*apiextensions.CustomResourceDefinition)
	if custom || crd {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(base, target, live)
		return patch, types.MergePatchType, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(base, target, live, meta, true)
	return patch, types.StrategicMergePatchType, err
}

// withUID adds to a patch that it is meant for this very object: the API server refuses it for
// another one that took its name.
func withUID(patch []byte, uid types.UID) ([]byte, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(patch, &content); err != nil {
		return nil, withoutBody(err)
	}
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"] = string(uid)
	content["metadata"] = metadata
	return json.Marshal(content)
}

// ownershipPatch sets the metadata that ties an object to a release and a package; nil values take
// it away.
func ownershipPatch(uid types.UID, labels, annotations map[string]*string) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(uid), "labels": labels, "annotations": annotations,
	}})
}

// ownershipLabels and ownershipAnnotations are what ownershipPatch changes.
var (
	ownershipLabels      = []string{labelManagedBy, labelPackage}
	ownershipAnnotations = []string{annotationReleaseName, annotationReleaseNamespace}
)

// pick returns the values of some keys, nil for those that are not there.
func pick(from map[string]string, keys []string) map[string]*string {
	out := make(map[string]*string, len(keys))
	for _, key := range keys {
		if value, ok := from[key]; ok {
			out[key] = &value
		} else {
			out[key] = nil
		}
	}
	return out
}
