package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Recordable is what of a conversation may be kept in files: a request without what was supplied to the
// deployment, answers without what Secrets hold. Where hidden is true something was left out that a
// plugin with these inputs was shown, and what it said cannot be had from the rest again.
func Recordable(document []byte, inputs Inputs, exchanges []Exchange) (request []byte, kept []Exchange, hidden bool, err error) {
	request, hidden, err = withoutConfig(document)
	if err != nil {
		return nil, nil, false, err
	}
	hidden = hidden && inputs.show(supplied)
	for i, e := range exchanges {
		answer, changed, err := withoutSecrets(e.Answer)
		if err != nil {
			return nil, nil, false, fmt.Errorf("answer %d: %w", i+1, err)
		}
		kept = append(kept, Exchange{Request: e.Request, Answer: answer})
		hidden = hidden || changed
	}
	return request, kept, hidden, nil
}

// supplied is the key under which a request holds what was supplied to the deployment.
const supplied = "deployConfig"

// show says whether anything below a key of requests is among the inputs.
func (in Inputs) show(key string) bool {
	for _, path := range in {
		if first, _, _ := strings.Cut(path, "."); first == key {
			return true
		}
	}
	return len(in) == 0
}

// withoutConfig leaves out what was supplied to the deployment; what it does not hold it returns to the
// byte.
func withoutConfig(document []byte) ([]byte, bool, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, false, fmt.Errorf("reading the request: %w", err)
	}
	if _, ok := fields[supplied]; !ok {
		return document, false, nil
	}
	delete(fields, supplied)
	out, err := json.Marshal(fields)
	if err != nil {
		return nil, false, fmt.Errorf("writing the request: %w", err)
	}
	return out, true, nil
}

// withoutSecrets puts digests in the place of what Secrets hold, as for a plugin that may not read them.
func withoutSecrets(answer json.RawMessage) (json.RawMessage, bool, error) {
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	var reply map[string]any
	if err := dec.Decode(&reply); err != nil {
		return answer, false, nil // no object, so no answer that could hold one
	}
	hidden := false
	hide := func(value any) any {
		object, ok := value.(map[string]any)
		if !ok || !bare(object) {
			return value
		}
		hidden = true
		return redactSecret(object)
	}
	reply["object"] = hide(reply["object"])
	if items, ok := reply["items"].([]any); ok {
		for i := range items {
			items[i] = hide(items[i])
		}
	}
	if !hidden {
		return answer, false, nil
	}
	if reply["object"] == nil {
		delete(reply, "object")
	}
	out, err := json.Marshal(reply)
	if err != nil {
		return nil, false, fmt.Errorf("writing it: %w", err)
	}
	return out, true, nil
}

// bare says whether an object is a Secret of which anything is shown that should be hidden: a value that
// is not a digest, or kubectl's copy of it.
func bare(object map[string]any) bool {
	if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
		return false
	}
	for _, field := range []string{"data", "stringData"} {
		values, ok := object[field].(map[string]any)
		if object[field] != nil && !ok {
			return true
		}
		for _, value := range values {
			if _, digest := value.(map[string]any); !digest {
				return true
			}
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations[lastApplied] != nil
}
