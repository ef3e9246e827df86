//go:build linux

package main

import (
	"context"
	_ "embed"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/cmd/devcluster/internal/volume"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

const (
	// fakeNode is the annotation of nodes that kwok plays.
	fakeNode         = "kwok.x-k8s.io/node"
	nodeLeaseSeconds = 40
	leaseNamespace   = "kube-node-lease"
)

//go:embed kwok.yaml
var ourStages string

// kwokStages is the configuration that lets nodes and pods become ready, jobs
// complete and deleted pods go, and ours on top.
func kwokStages() string {
	return strings.Join([]string{
		nodefast.DefaultNodeInit,
		podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete,
		ourStages,
	}, "\n---\n")
}

func nodeName(i int) string { return fmt.Sprintf("devcluster-node-%d", i) }

func node(i int) *core.Node {
	resources := core.ResourceList{
		core.ResourceCPU:              resource.MustParse("64"),
		core.ResourceMemory:           resource.MustParse("256Gi"),
		core.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		core.ResourcePods:             resource.MustParse("1000"),
	}
	return &core.Node{
		ObjectMeta: meta.ObjectMeta{
			Name:        nodeName(i),
			Annotations: map[string]string{fakeNode: "fake"},
			Labels: map[string]string{
				core.LabelHostname:   nodeName(i),
				core.LabelOSStable:   "linux",
				core.LabelArchStable: runtime.GOARCH,
			},
		},
		Status: core.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			NodeInfo:    core.NodeSystemInfo{Architecture: runtime.GOARCH, OperatingSystem: "linux"},
		},
	}
}

// seed makes the nodes and the storage class, unless they are there.
func seed(ctx context.Context, client kubernetes.Interface, nodes int) error {
	for i := range nodes {
		_, err := client.CoreV1().Nodes().Create(ctx, node(i), meta.CreateOptions{})
		if err != nil && !errors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %q: %w", nodeName(i), err)
		}
	}
	class := volume.Class()
	_, err := client.StorageV1().StorageClasses().Create(ctx, class, meta.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return fmt.Errorf("creating storage class %q: %w", class.Name, err)
	}
	return nil
}

// releaseNodes deletes the leases on nodes that an earlier kwok left: a new one
// would leave their pods alone until they expire.
func releaseNodes(ctx context.Context, client kubernetes.Interface, nodes int) error {
	for i := range nodes {
		err := client.CoordinationV1().Leases(leaseNamespace).Delete(ctx, nodeName(i), meta.DeleteOptions{})
		if err != nil && !errors.IsNotFound(err) {
			return fmt.Errorf("releasing node %q: %w", nodeName(i), err)
		}
	}
	return nil
}

// usable tells what is missing before a pod can run. On old data every node
// looks ready before kwok has come up, so each must have renewed its lease
// since began.
func usable(ctx context.Context, client kubernetes.Interface, nodes int, began time.Time) error {
	for i := range nodes {
		name := nodeName(i)
		n, err := client.CoreV1().Nodes().Get(ctx, name, meta.GetOptions{})
		if err != nil {
			return err
		}
		if !schedulable(n) {
			return fmt.Errorf("node %q is not ready", name)
		}
		lease, err := client.CoordinationV1().Leases(leaseNamespace).Get(ctx, name, meta.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Before(began) {
			return fmt.Errorf("node %q has not renewed its lease", name)
		}
	}
	_, err := client.CoreV1().ServiceAccounts(meta.NamespaceDefault).Get(ctx, "default", meta.GetOptions{})
	return err
}

// schedulable tells whether a node is ready and the taint is off that keeps
// pods away until the controller manager has seen it.
func schedulable(n *core.Node) bool {
	for _, taint := range n.Spec.Taints {
		if taint.Key == core.TaintNodeNotReady || taint.Key == core.TaintNodeUnreachable {
			return false
		}
	}
	for _, condition := range n.Status.Conditions {
		if condition.Type == core.NodeReady {
			return condition.Status == core.ConditionTrue
		}
	}
	return false
}
