package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/zarf-host/zarf-host/host/state"
)

// State returns how the cluster was initialised; false means that it was not.
func (c *Cluster) State(ctx context.Context) (state.Cluster, bool, error) {
	secret, err := c.client.CoreV1().Secrets(state.Namespace).Get(ctx, state.ClusterSecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return state.Cluster{}, false, nil
	}
	if err != nil {
		return state.Cluster{}, false, fmt.Errorf("reading how the cluster was initialised: %w", err)
	}
	data, ok := secret.Data[state.ClusterKey]
	if !ok {
		return state.Cluster{}, false, &NotRecordError{Secret: state.ClusterSecret, Reason: fmt.Sprintf("it has no key %q", state.ClusterKey)}
	}
	s, err := state.DecodeCluster(data)
	if err != nil {
		return state.Cluster{}, false, fmt.Errorf("reading Secret %q: %w", state.ClusterSecret, err)
	}
	return s, true, nil
}

// IPFamily returns the family of the addresses that the cluster's services have, in Zarf's words:
// ipv4, ipv6 or dual.
func (c *Cluster) IPFamily(ctx context.Context) (string, error) {
	service, err := c.client.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading which addresses services have: %w", err)
	}
	families := service.Spec.IPFamilies
	switch {
	case len(families) > 1:
		return "dual", nil
	case len(families) == 1 && families[0] == corev1.IPv6Protocol:
		return "ipv6", nil
	default:
		return "ipv4", nil
	}
}

// WriteState writes how the cluster is initialised, as Zarf does. The namespace must exist.
func (c *Cluster) WriteState(ctx context.Context, s state.Cluster) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	secret := corev1ac.Secret(state.ClusterSecret, state.Namespace).
		WithType("Opaque").
		WithLabels(map[string]string{state.ManagedByLabel: state.ManagedBy}).
		WithData(map[string][]byte{state.ClusterKey: data})
	err = persist(ctx, func() error {
		_, err := c.client.CoreV1().Secrets(state.Namespace).Apply(ctx, secret, metav1.ApplyOptions{FieldManager: zarfManager, Force: true})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing how the cluster is initialised: %w", err)
	}
	return nil
}
