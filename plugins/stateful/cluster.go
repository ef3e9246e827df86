package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// Of what the cluster says only this is read.
type (
	metadata struct {
		Name            string  `json:"name"`
		Namespace       string  `json:"namespace"`
		OwnerReferences []owner `json:"ownerReferences"`
	}
	owner struct {
		Kind       string `json:"kind"`
		Controller bool   `json:"controller"`
	}
	claim struct {
		Metadata metadata `json:"metadata"`
	}
	volume struct {
		PersistentVolumeClaim struct {
			ClaimName string `json:"claimName"`
		} `json:"persistentVolumeClaim"`
	}
	podSpec struct {
		Volumes []volume `json:"volumes"`
	}
	template struct {
		Spec podSpec `json:"spec"`
	}
	// workload is a Pod, or what makes some: its pods' template is where its kind has it.
	workload struct {
		Kind     string   `json:"kind"`
		Metadata metadata `json:"metadata"`
		Spec     struct {
			podSpec
			Template    template `json:"template"`
			JobTemplate struct {
				Spec struct {
					Template template `json:"template"`
				} `json:"spec"`
			} `json:"jobTemplate"`
			VolumeClaimTemplates []struct {
				Metadata metadata `json:"metadata"`
			} `json:"volumeClaimTemplates"`
			Retention struct {
				WhenDeleted string `json:"whenDeleted"`
			} `json:"persistentVolumeClaimRetentionPolicy"`
		} `json:"spec"`
	}
)

// workloadKinds are those that are looked at, with their versions. What one of them controls is left out:
// its controller stands for it.
func workloadKinds() [][2]string {
	return [][2]string{{"apps/v1", "DaemonSet"}, {"apps/v1", "Deployment"}, {"apps/v1", "ReplicaSet"}, {"apps/v1", "StatefulSet"},
		{"batch/v1", "CronJob"}, {"batch/v1", "Job"}, {"v1", "Pod"}}
}

// workloads returns those of a namespace that nothing else here controls.
func workloads(namespace string) ([]workload, error) {
	var out []workload
	for _, k := range workloadKinds() {
		var found []workload
		err := sdk.List(sdk.Query{APIVersion: k[0], Kind: k[1], Namespace: namespace, Fields: []string{
			"metadata.ownerReferences", "spec.volumes", "spec.template.spec.volumes", "spec.jobTemplate.spec.template.spec.volumes",
			"spec.volumeClaimTemplates", "spec.persistentVolumeClaimRetentionPolicy",
		}}, &found)
		if err != nil {
			return nil, cannotTell(err)
		}
		for _, w := range found {
			if w.Kind = k[1]; !controlled(w.Metadata) {
				out = append(out, w)
			}
		}
	}
	return out, nil
}

// claims returns the claims of a namespace.
func claims(namespace string) ([]claim, error) {
	var out []claim
	err := sdk.List(sdk.Query{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: namespace, Fields: []string{"metadata.name"}}, &out)
	return out, cannotTell(err)
}

// cannotTell says what an error of the host's means, which itself says what to do about it: what is not
// known to be unused must not go.
func cannotTell(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("who uses it cannot be told: %w", err)
}

func controlled(m metadata) bool {
	return slices.ContainsFunc(m.OwnerReferences, func(o owner) bool {
		return o.Controller && slices.ContainsFunc(workloadKinds(), func(k [2]string) bool { return k[1] == o.Kind })
	})
}

// name is Kind/namespace/name.
func (w workload) name() string { return w.Kind + "/" + w.Metadata.Namespace + "/" + w.Metadata.Name }

// uses says whether a workload mounts a claim, or has a template that the claim is of.
func (w workload) uses(claim string) bool {
	mounts := func(s podSpec) bool {
		return slices.ContainsFunc(s.Volumes, func(v volume) bool { return v.PersistentVolumeClaim.ClaimName == claim })
	}
	return mounts(w.Spec.podSpec) || mounts(w.Spec.Template.Spec) || mounts(w.Spec.JobTemplate.Spec.Template.Spec) || w.makes(claim)
}

// makes says whether a claim is one of a StatefulSet's templates: TEMPLATE-SET-ORDINAL.
func (w workload) makes(claim string) bool {
	for _, t := range w.Spec.VolumeClaimTemplates {
		ordinal, ok := strings.CutPrefix(claim, t.Metadata.Name+"-"+w.Metadata.Name+"-")
		if ok && ordinal != "" && strings.Trim(ordinal, "0123456789") == "" {
			return true
		}
	}
	return false
}
