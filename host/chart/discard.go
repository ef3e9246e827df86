package chart

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/zarf-host/zarf-host/host/object"
)

// Discarded is what a Discard did, also beside an error.
type Discarded struct {
	Deleted       []object.Ref
	Kept          []object.Ref // they ask for it by now
	Foreign       []object.Ref // of another owner, or other objects of these names, by then: left alone
	FailedDeletes []FailedDelete
}

// Discard deletes objects that a release has in no manifest any more and that upgrades kept: each only
// while it is the one with that UID, the release owns it, and it does not ask to be kept. Whether its
// data may be lost has been decided. Objects that are gone already are none of its business.
func (c *Client) Discard(ctx context.Context, r object.Release, objects []object.Instance, timeout time.Duration) (Discarded, error) {
	var done Discarded
	if err := c.canWrite(); err != nil {
		return done, err
	}
	only := map[object.Key]string{}
	for _, o := range objects {
		only[o.Key()] = o.UID
	}
	k := c.newKubeClient(ctx, r, rules{allowDataLoss: true, only: only}, Wanted{Timeout: timeout}.timeout())
	for _, o := range objects {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
		obj.SetNamespace(o.Namespace)
		obj.SetName(o.Name)
		info, err := k.info(obj)
		if err == nil {
			_, err = k.remove(info)
		}
		if err != nil {
			return done, fmt.Errorf("deleting %s, which an upgrade of release %q kept: %w", o.Ref, r, err)
		}
	}
	k.note(func(j *journal) {
		done = Discarded{Deleted: j.deleted, Kept: j.kept, Foreign: j.foreign, FailedDeletes: j.failed}
	})
	return done, nil
}
