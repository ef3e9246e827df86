package object

import "strings"

const (
	// ResourcePolicy is Helm's annotation with which an object's author keeps it from being deleted.
	ResourcePolicy = "helm.sh/resource-policy"
	// KeptMark is beside it, in stored manifests only, where it was not the author who asked: an
	// uninstall marks what its plan keeps, since Helm decides by the manifest. Under another plan the
	// object may go.
	KeptMark = "zarf-host.dev/kept"

	policyKeep = "keep"
)

// AsksToBeKept reports whether annotations keep their object from being deleted by its author's will.
func AsksToBeKept(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[ResourcePolicy])) == policyKeep && annotations[KeptMark] == ""
}

// MarkKept returns annotations with which Helm keeps the object, and whether that changed them: what
// asks to be kept needs no mark.
func MarkKept(annotations map[string]string) (marked map[string]string, changed bool) {
	if AsksToBeKept(annotations) || annotations[KeptMark] != "" {
		return annotations, false
	}
	marked = map[string]string{ResourcePolicy: policyKeep, KeptMark: "true"}
	for key, value := range annotations {
		if _, ours := marked[key]; !ours {
			marked[key] = value
		}
	}
	return marked, true
}

// UnmarkKept takes the mark away again, and reports whether there was one.
func UnmarkKept(annotations map[string]string) (unmarked map[string]string, changed bool) {
	if annotations[KeptMark] == "" {
		return annotations, false
	}
	for key, value := range annotations {
		if key == ResourcePolicy || key == KeptMark {
			continue
		}
		if unmarked == nil {
			unmarked = map[string]string{}
		}
		unmarked[key] = value
	}
	return unmarked, true
}
