package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zarf-host/zarf-host/host/object"
	"github.com/zarf-host/zarf-host/host/state"
)

// PolicyLabel marks, with the value "true", ConfigMaps in Zarf's namespace that hold policies.
const PolicyLabel = "zarf-host.dev/policy"

// policyPrefix begins the names of the ConfigMaps that zarf-host writes policies into.
const policyPrefix = "zarf-host-policy-"

// StoredPolicy is a policy as a cluster has it.
type StoredPolicy struct {
	// ConfigMap is the name of the object, File that of its key: NAME.cue, NAME.yaml or NAME.json.
	ConfigMap, File string
	Text            []byte
}

// Policies returns the policies that everyone who deploys to the cluster is bound by, in the order of
// their names. A cluster without Zarf's namespace has none.
func (c *Cluster) Policies(ctx context.Context) ([]StoredPolicy, error) {
	found, err := c.client.CoreV1().ConfigMaps(state.Namespace).List(ctx, metav1.ListOptions{LabelSelector: PolicyLabel + "=true"})
	if IsForbidden(err) {
		absent, unknown := c.Absent(ctx, []string{state.Namespace})
		if unknown == nil && len(absent) > 0 {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the policies of the cluster: %w", err)
	}
	var out []StoredPolicy
	for _, m := range found.Items {
		files := slices.Sorted(maps.Keys(m.Data))
		if len(files) == 0 {
			return nil, &EmptyPolicyError{ConfigMap: m.Name}
		}
		for _, file := range files {
			out = append(out, StoredPolicy{ConfigMap: m.Name, File: file, Text: []byte(m.Data[file])})
		}
	}
	return out, nil
}

// EmptyPolicyError says that a ConfigMap which is marked as a policy holds none.
type EmptyPolicyError struct{ ConfigMap string }

func (e *EmptyPolicyError) Error() string {
	return fmt.Sprintf("ConfigMap %q in namespace %q is labelled as a policy and holds none", e.ConfigMap, state.Namespace)
}

// Hint says what to do about it.
func (e *EmptyPolicyError) Hint() string {
	return fmt.Sprintf("take its label %s off, or write a policy into it with `zarf-host policy apply`", PolicyLabel)
}

// PolicyPermission is what reading the policies takes.
func PolicyPermission() object.Permission {
	return object.Permission{Verb: "list", Resource: "configmaps", Namespace: state.Namespace}
}

// ApplyPolicy makes a policy one of the cluster's, or another one under its name. The namespace is made
// where it is missing.
func (c *Cluster) ApplyPolicy(ctx context.Context, name, file string, text []byte) error {
	if err := c.EnsureNamespace(ctx); err != nil {
		return err
	}
	config := corev1ac.ConfigMap(policyPrefix+name, state.Namespace).
		WithLabels(map[string]string{PolicyLabel: "true"}).
		WithData(map[string]string{file: string(text)})
	err := persist(ctx, func() error {
		_, err := c.client.CoreV1().ConfigMaps(state.Namespace).Apply(ctx, config, metav1.ApplyOptions{FieldManager: "zarf-host", Force: true})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing policy %q into the cluster: %w", name, err)
	}
	return nil
}

// RemovePolicy takes the policy of a name from the cluster; false says that there was none that
// ApplyPolicy had written.
func (c *Cluster) RemovePolicy(ctx context.Context, name string) (bool, error) {
	err := persist(ctx, func() error {
		return c.client.CoreV1().ConfigMaps(state.Namespace).Delete(ctx, policyPrefix+name, metav1.DeleteOptions{})
	})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("removing policy %q from the cluster: %w", name, err)
	}
	return true, nil
}
