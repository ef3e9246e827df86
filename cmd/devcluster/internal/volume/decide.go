// Package volume is a small provisioner: it gives each claim of its storage
// class a volume at once, and deletes the volume when the claim is gone.
//
// It knows claims, volumes and storage classes. It must not know how the
// cluster runs. Nothing is written to the disk: on nodes that run nothing, a
// volume is only a promise that lets the scheduler and those who wait go on.
package volume

import (
	"path"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Provisioner names this provisioner in storage classes and on volumes.
const Provisioner = "devcluster.zarf-host.dev/host-path"

const (
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	selectedNode  = "volume.kubernetes.io/selected-node"
	isDefault     = "storageclass.kubernetes.io/is-default-class"
)

// Class is the default storage class, served by this provisioner.
func Class() *storage.StorageClass {
	reclaim, binding := core.PersistentVolumeReclaimDelete, storage.VolumeBindingImmediate
	expand := true
	return &storage.StorageClass{
		ObjectMeta:           meta.ObjectMeta{Name: "standard", Annotations: map[string]string{isDefault: "true"}},
		Provisioner:          Provisioner,
		ReclaimPolicy:        &reclaim,
		VolumeBindingMode:    &binding,
		AllowVolumeExpansion: &expand,
	}
}

// ForClaim returns the volume that claim should get, or nil when it should get
// none from us. Its name follows from the claim alone, so that making it twice
// makes it once.
func ForClaim(claim *core.PersistentVolumeClaim, class *storage.StorageClass, root string) *core.PersistentVolume {
	switch {
	case class == nil || class.Provisioner != Provisioner:
		return nil
	case claim.DeletionTimestamp != nil || claim.Spec.VolumeName != "":
		return nil
	case claim.Status.Phase != "" && claim.Status.Phase != core.ClaimPending:
		return nil
	case claim.Spec.Selector != nil:
		return nil // it asks for a volume that exists
	case class.VolumeBindingMode != nil && *class.VolumeBindingMode == storage.VolumeBindingWaitForFirstConsumer &&
		claim.Annotations[selectedNode] == "":
		return nil // the scheduler has not chosen yet
	}
	reclaim := core.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	name := "pvc-" + string(claim.UID)
	kind := core.HostPathDirectoryOrCreate
	return &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: Provisioner}},
		Spec: core.PersistentVolumeSpec{
			Capacity:                      core.ResourceList{core.ResourceStorage: claim.Spec.Resources.Requests[core.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			VolumeMode:                    claim.Spec.VolumeMode,
			ClaimRef: &core.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: core.PersistentVolumeSource{
				HostPath: &core.HostPathVolumeSource{Path: path.Join(root, name), Type: &kind},
			},
		},
	}
}

// Reclaimable tells whether a volume is ours, its claim is gone and its policy
// says that it goes too.
func Reclaimable(v *core.PersistentVolume) bool {
	return v.Annotations[provisionedBy] == Provisioner &&
		v.DeletionTimestamp == nil &&
		v.Status.Phase == core.VolumeReleased &&
		v.Spec.PersistentVolumeReclaimPolicy == core.PersistentVolumeReclaimDelete
}
