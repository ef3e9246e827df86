package cluster

import (
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A judgement is whether an object is as wanted, cannot become so, or why it is not yet.
type judgement struct {
	done, failed bool
	why          string
}

// A judge judges an object; found is nil where there is none.
type judge func(found *unstructured.Unstructured) (judgement, error)

func ready(found *unstructured.Unstructured) (judgement, error) {
	j, err := healthy(found)
	j.failed = false
	return j, err
}

func healthy(found *unstructured.Unstructured) (judgement, error) {
	if found == nil {
		return judgement{why: "it does not exist"}, nil
	}
	result, err := status.Compute(found)
	if err != nil {
		return judgement{}, fmt.Errorf("computing its status: %w", err)
	}
	return judgement{
		done:   result.Status == status.CurrentStatus,
		failed: result.Status == status.FailedStatus,
		why:    explain(result),
	}, nil
}

func deleted(found *unstructured.Unstructured) (judgement, error) {
	switch {
	case found == nil:
		return judgement{done: true}, nil
	case found.GetDeletionTimestamp() == nil:
		return judgement{why: "nobody asked for its deletion"}, nil
	case len(found.GetFinalizers()) > 0:
		return judgement{why: "it waits for its finalizers: " + strings.Join(found.GetFinalizers(), ", ")}, nil
	}
	if finalizers, _, _ := unstructured.NestedStringSlice(found.Object, "spec", "finalizers"); len(finalizers) > 0 {
		return judgement{why: "it is being emptied: " + remaining(found)}, nil
	}
	return judgement{why: "it is terminating"}, nil
}

func complete(found *unstructured.Unstructured) (judgement, error) {
	if found == nil {
		return judgement{why: "it does not exist"}, nil
	}
	switch found.GroupVersionKind().GroupKind().String() {
	case "Job.batch":
		if message, failed := condition(found, "Failed"); failed {
			return judgement{failed: true, why: "it failed: " + message}, nil
		}
		if _, done := condition(found, "Complete"); done {
			return judgement{done: true}, nil
		}
		active, _, _ := unstructured.NestedInt64(found.Object, "status", "active")
		return judgement{why: fmt.Sprintf("it is not complete; pods at work: %d", active)}, nil
	case "Pod":
		phase, _, _ := unstructured.NestedString(found.Object, "status", "phase")
		message, _, _ := unstructured.NestedString(found.Object, "status", "message")
		switch phase {
		case "Succeeded":
			return judgement{done: true}, nil
		case "Failed":
			return judgement{failed: true, why: strings.TrimSuffix("it failed: "+message, ": ")}, nil
		default:
			return judgement{why: "its phase is " + phase}, nil
		}
	default:
		return judgement{done: true}, nil
	}
}

// explain puts a status into words.
func explain(result *status.Result) string {
	if result.Message == "" {
		return string(result.Status)
	}
	return string(result.Status) + ": " + result.Message
}

// condition returns the message of a condition, and whether it is true.
func condition(found *unstructured.Unstructured, kind string) (message string, isTrue bool) {
	conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
	for _, c := range conditions {
		fields, ok := c.(map[string]any)
		if !ok || fields["type"] != kind || fields["status"] != "True" {
			continue
		}
		message, _ = fields["message"].(string)
		return message, true
	}
	return "", false
}

// remaining says what a namespace that is going away still holds.
func remaining(found *unstructured.Unstructured) string {
	var all []string
	for _, kind := range []string{"NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionContentFailure"} {
		if message, yes := condition(found, kind); yes {
			all = append(all, message)
		}
	}
	if len(all) == 0 {
		return "its contents are being deleted"
	}
	return strings.Join(all, "; ")
}
