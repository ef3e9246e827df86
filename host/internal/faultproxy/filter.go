package faultproxy

import (
	"net/http"
	"slices"
	"strings"
)

// Mutating is true for every request whose method changes something.
func Mutating(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

// ClusterChange is true for requests that change what the API server stores
// for an operation. It leaves out what only asks (access and token reviews, dry
// runs), streams into pods, tokens, and writes to a lease that is there: its
// renewals follow the clock, and with them the numbers would differ from run to
// run. Creating and deleting a lease counts.
func ClusterChange(r *http.Request) bool {
	if !Mutating(r) || r.URL.Query().Has("dryRun") {
		return false
	}
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(segments) > 1 && segments[0] == "apis" {
		switch segments[1] {
		case "authorization.k8s.io", "authentication.k8s.io":
			return false
		case "coordination.k8s.io":
			renews := r.Method == http.MethodPut || r.Method == http.MethodPatch
			return !(renews && slices.Contains(segments, "leases"))
		}
	}
	// /api/v1/namespaces/NAMESPACE/KIND/NAME/SUBRESOURCE
	if len(segments) >= 7 && segments[0] == "api" && segments[2] == "namespaces" {
		switch kind, sub := segments[4], segments[6]; {
		case kind == "pods" && slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, sub):
			return false
		case kind == "services" && sub == "proxy":
			return false
		case kind == "serviceaccounts" && sub == "token":
			return false
		}
	}
	return true
}
