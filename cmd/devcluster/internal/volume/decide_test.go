package volume

import (
	"testing"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newClaim() *core.PersistentVolumeClaim {
	block := core.PersistentVolumeBlock
	return &core.PersistentVolumeClaim{
		ObjectMeta: meta.ObjectMeta{Namespace: "shop", Name: "data-db-0", UID: "123"},
		Spec: core.PersistentVolumeClaimSpec{
			AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
			VolumeMode:  &block,
			Resources: core.VolumeResourceRequirements{
				Requests: core.ResourceList{core.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
		Status: core.PersistentVolumeClaimStatus{Phase: core.ClaimPending},
	}
}

func TestForClaim(t *testing.T) {
	v := ForClaim(newClaim(), Class(), "/volumes")
	if v == nil {
		t.Fatal("a pending claim of our class got no volume")
	}
	if v.Name != "pvc-123" || v.Spec.HostPath.Path != "/volumes/pvc-123" {
		t.Errorf("name %q, path %q", v.Name, v.Spec.HostPath.Path)
	}
	if r := v.Spec.ClaimRef; r.Namespace != "shop" || r.Name != "data-db-0" || r.UID != "123" {
		t.Errorf("claimRef %v: another claim could take the volume", r)
	}
	if got := v.Spec.Capacity.Storage().String(); got != "1Gi" {
		t.Errorf("capacity %s", got)
	}
	if *v.Spec.VolumeMode != core.PersistentVolumeBlock || v.Spec.StorageClassName != "standard" {
		t.Errorf("mode %s, class %s: the binder would refuse the volume", *v.Spec.VolumeMode, v.Spec.StorageClassName)
	}
	if v.Spec.PersistentVolumeReclaimPolicy != core.PersistentVolumeReclaimDelete {
		t.Errorf("reclaim policy %s", v.Spec.PersistentVolumeReclaimPolicy)
	}
}

func TestForClaimDeclines(t *testing.T) {
	now := meta.Now()
	late := storage.VolumeBindingWaitForFirstConsumer
	lateClass := Class()
	lateClass.VolumeBindingMode = &late
	foreign := Class()
	foreign.Provisioner = "somebody.else/disk"
	tests := []struct {
		name  string
		class *storage.StorageClass
		edit  func(*core.PersistentVolumeClaim)
		gets  bool
	}{
		{"claim without a phase yet", Class(), func(c *core.PersistentVolumeClaim) { c.Status.Phase = "" }, true},
		{"no class", nil, nil, false},
		{"class of another provisioner", foreign, nil, false},
		{"being deleted", Class(), func(c *core.PersistentVolumeClaim) { c.DeletionTimestamp = &now }, false},
		{"has a volume", Class(), func(c *core.PersistentVolumeClaim) { c.Spec.VolumeName = "pv-1" }, false},
		{"bound", Class(), func(c *core.PersistentVolumeClaim) { c.Status.Phase = core.ClaimBound }, false},
		{"lost its volume", Class(), func(c *core.PersistentVolumeClaim) { c.Status.Phase = core.ClaimLost }, false},
		{"selects a volume", Class(), func(c *core.PersistentVolumeClaim) { c.Spec.Selector = &meta.LabelSelector{} }, false},
		{"waits for a consumer", lateClass, nil, false},
		{"has its consumer", lateClass, func(c *core.PersistentVolumeClaim) {
			c.Annotations = map[string]string{selectedNode: "node-1"}
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			claim := newClaim()
			if tt.edit != nil {
				tt.edit(claim)
			}
			if got := ForClaim(claim, tt.class, "/volumes") != nil; got != tt.gets {
				t.Errorf("got a volume: %v, want %v", got, tt.gets)
			}
		})
	}
}

func TestReclaimable(t *testing.T) {
	now := meta.Now()
	tests := []struct {
		name string
		edit func(*core.PersistentVolume)
		want bool
	}{
		{"released", func(*core.PersistentVolume) {}, true},
		{"still bound", func(v *core.PersistentVolume) { v.Status.Phase = core.VolumeBound }, false},
		{"not ours", func(v *core.PersistentVolume) { v.Annotations = nil }, false},
		{"to be kept", func(v *core.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = core.PersistentVolumeReclaimRetain
		}, false},
		{"on its way", func(v *core.PersistentVolume) { v.DeletionTimestamp = &now }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := ForClaim(newClaim(), Class(), "/volumes")
			v.Status.Phase = core.VolumeReleased
			tt.edit(v)
			if got := Reclaimable(v); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
