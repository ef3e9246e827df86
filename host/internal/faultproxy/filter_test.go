package faultproxy

import (
	"net/http/httptest"
	"testing"
)

func TestClusterChange(t *testing.T) {
	tests := []struct {
		method, target string
		want           bool
	}{
		{"GET", "/api/v1/namespaces/a/secrets/s", false},
		{"POST", "/api/v1/namespaces/a/secrets", true},
		{"PUT", "/api/v1/namespaces/a/secrets/s", true},
		{"PATCH", "/api/v1/namespaces/a/secrets/s?fieldManager=zarf", true},
		{"DELETE", "/apis/apps/v1/namespaces/a/deployments/d", true},
		{"POST", "/api/v1/namespaces/a/secrets?dryRun=All", false},
		{"POST", "/apis/coordination.k8s.io/v1/namespaces/a/leases", true},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", false},
		{"PATCH", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", false},
		{"DELETE", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", true},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", false},
		{"POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", false},
		{"POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", true},
		{"POST", "/api/v1/namespaces/a/pods/p/portforward", false},
		{"POST", "/api/v1/namespaces/a/pods/p/exec", false},
		{"POST", "/api/v1/namespaces/a/pods/p/eviction", true},
		{"POST", "/api/v1/namespaces/a/serviceaccounts/s/token", false},
		{"PUT", "/api/v1/namespaces/a/services/s:80/proxy/push", false},
		{"POST", "/api/v1/namespaces", true},
		{"PUT", "/api/v1/namespaces/leases/finalize", true},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.target, func(t *testing.T) {
			if got := ClusterChange(httptest.NewRequest(tt.method, tt.target, nil)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
