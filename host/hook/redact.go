package hook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lastApplied is where kubectl keeps a copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Show is an object as a plugin may see it: what Secrets hold as digests, unless secrets is set, and
// of the rest the fields that are wanted, beside what names the object. The object itself stays as it
// is.
func Show(object map[string]any, fields []string, secrets bool) map[string]any {
	object = dropNoise(object)
	if object["kind"] == "Secret" && object["apiVersion"] == "v1" && !(secrets && !holdsConfig(object)) {
		object = redactSecret(object)
	}
	if len(fields) == 0 {
		return object
	}
	root := selection{}
	for _, path := range append([]string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}, fields...) {
		root.add(strings.Split(path, "."))
	}
	return root.apply(object).(map[string]any)
}

// dropNoise leaves out what says nothing about an object and may be most of it.
func dropNoise(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok || metadata["managedFields"] == nil {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}

// holdsConfig says whether a Secret is a record of Zarf's, which holds what was supplied to
// deployments and credentials of the cluster: those are never shown whole.
func holdsConfig(secret map[string]any) bool {
	metadata, _ := secret["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return metadata["namespace"] == "zarf" && strings.HasPrefix(name, "zarf-")
}

func redactSecret(secret map[string]any) map[string]any {
	secret = maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		if !ok {
			delete(secret, field) // nothing that this host knows how to hide
			continue
		}
		hidden := make(map[string]any, len(values))
		for key, value := range values {
			hidden[key] = redact(value, field == "data")
		}
		secret[field] = hidden
	}
	if metadata, ok := secret["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok && annotations[lastApplied] != nil {
			metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
			delete(annotations, lastApplied)
			metadata["annotations"] = annotations
			secret["metadata"] = metadata
		}
	}
	return secret
}

// redact is what stands for a secret value: enough to compare, not to read.
func redact(value any, encoded bool) map[string]any {
	text := fmt.Sprint(value)
	plain := []byte(text)
	if encoded {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			plain = decoded
		}
	}
	sum := sha256.Sum256(plain)
	return map[string]any{"sha256": hex.EncodeToString(sum[:]), "length": len(plain)}
}

// SortObjects sorts by namespace and name, so that an answer does not depend on the order of a server.
func SortObjects(objects []map[string]any) {
	key := func(o map[string]any) string {
		metadata, _ := o["metadata"].(map[string]any)
		return fmt.Sprint(metadata["namespace"], "\x00", metadata["name"])
	}
	slices.SortStableFunc(objects, func(a, b map[string]any) int { return strings.Compare(key(a), key(b)) })
}
