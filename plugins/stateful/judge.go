package main

import (
	"fmt"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// maxShown bounds the names in a finding.
const maxShown = 10

// judge denies or keeps claims that something uses which stays, StatefulSets that take their claims with
// them, and namespaces with claims; it tells which claims a StatefulSet leaves behind.
func judge(r sdk.Request) sdk.Response {
	c, err := readConfig(r)
	if err != nil {
		return sdk.Fail(err)
	}
	j := judgement{config: c, res: r.Allow(), going: map[string]bool{}, seen: map[string]space{}}
	for _, o := range r.Plan.Prune.Objects {
		j.going[o.String()] = true
	}
	for _, o := range r.Plan.Prune.Objects {
		if err := j.object(o); err != nil {
			return sdk.Fail(fmt.Errorf("%s: %w", o, err))
		}
	}
	return j.res
}

// judgement is a response in the making, with what is known by now.
type judgement struct {
	config config
	res    sdk.Response
	going  map[string]bool // what would go, as Kind/namespace/name
	seen   map[string]space
}

// space is what is in a namespace.
type space struct {
	claims    []claim
	workloads []workload
}

// look asks the cluster once for each namespace.
func (j judgement) look(namespace string) (space, error) {
	if s, ok := j.seen[namespace]; ok {
		return s, nil
	}
	var s space
	var err error
	if s.claims, err = claims(namespace); err != nil {
		return s, err
	}
	if s.workloads, err = workloads(namespace); err != nil {
		return s, err
	}
	j.seen[namespace] = s
	return s, nil
}

func (j *judgement) object(o sdk.Object) error {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	switch {
	case o.APIVersion == "v1" && o.Kind == "PersistentVolumeClaim":
		return j.claim(o)
	case group == "apps" && o.Kind == "StatefulSet":
		return j.statefulSet(o)
	case o.APIVersion == "v1" && o.Kind == "Namespace":
		return j.namespace(o)
	}
	return nil
}

// claim asks who uses a claim and stays.
func (j *judgement) claim(o sdk.Object) error {
	s, err := j.look(o.Namespace)
	if err != nil {
		return err
	}
	var users []string
	for _, w := range s.workloads {
		if w.uses(o.Name) && !j.going[w.name()] {
			users = append(users, w.name())
		}
	}
	if len(users) > 0 {
		j.stop(o, "it is used by "+some(users)+", which stays")
	}
	return nil
}

// statefulSet asks what becomes of the claims that a StatefulSet has made.
func (j *judgement) statefulSet(o sdk.Object) error {
	s, err := j.look(o.Namespace)
	if err != nil {
		return err
	}
	for _, w := range s.workloads {
		if w.Kind != o.Kind || w.Metadata.Name != o.Name {
			continue
		}
		var made []string
		for _, c := range s.claims {
			if w.makes(c.Metadata.Name) {
				made = append(made, c.Metadata.Name)
			}
		}
		switch {
		case len(made) == 0:
		case w.Spec.Retention.WhenDeleted == "Delete":
			j.stop(o, "its claims go with it: "+some(made))
		default:
			j.res.Find(sdk.Finding{Severity: sdk.SeverityInfo, Object: o.Ref(), Message: fmt.Sprintf("%s leaves its claims behind: %s", o, some(made))})
		}
	}
	return nil
}

// namespace asks which claims a namespace has that are not in the plan themselves.
func (j *judgement) namespace(o sdk.Object) error {
	found, err := claims(o.Name)
	if err != nil {
		return err
	}
	var held []string
	for _, c := range found {
		if !j.going["PersistentVolumeClaim/"+o.Name+"/"+c.Metadata.Name] {
			held = append(held, c.Metadata.Name)
		}
	}
	if len(held) > 0 {
		j.stop(o, "claims go with it that the plan does not name: "+some(held))
	}
	return nil
}

// stop denies or keeps what must not go, unless the configuration lets it.
func (j *judgement) stop(o sdk.Object, why string) {
	if j.config.allows(o) {
		return
	}
	f := sdk.Finding{Severity: sdk.SeverityDeny, Object: o.Ref(), Message: fmt.Sprintf("%s would be pruned, but %s", o, why),
		Remedy: fmt.Sprintf("to let it go, add %q to the plugin's allow list; to keep it, set its action to keep", o)}
	if j.config.Action == actionKeep {
		j.res.Keep = append(j.res.Keep, sdk.Keep{Object: o.Ref(), Reason: why})
		f.Severity = sdk.SeverityWarn
		f.Message = fmt.Sprintf("keeping %s: %s", o, why)
		f.Remedy = fmt.Sprintf("to let it go, add %q to the plugin's allow list", o)
	}
	j.res.Find(f)
}

// some lists the first names.
func some(names []string) string {
	if len(names) <= maxShown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxShown], ", "), len(names)-maxShown)
}
