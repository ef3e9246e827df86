package main

import "strings"

// likeKind is whether a kind fits a pattern, as kubectl takes it: in any case, as the kind, as the
// plural that its resource is called, or by its short name.
func likeKind(pattern, kind string) bool {
	pattern, kind = strings.ToLower(pattern), strings.ToLower(kind)
	return like(pattern, kind) || like(pattern, plural(kind)) || shortNames[pattern] == kind
}

// plural is what a resource of a kind in lower case is called, by the rule that Kubernetes' own
// kinds follow.
func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "endpoints"):
		return kind
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	default:
		return kind + "s"
	}
}

// shortNames are those of Kubernetes' own kinds, with the kind in lower case.
var shortNames = map[string]string{
	"cj": "cronjob", "cm": "configmap", "crd": "customresourcedefinition", "crds": "customresourcedefinition",
	"deploy": "deployment", "ds": "daemonset", "ep": "endpoints", "hpa": "horizontalpodautoscaler",
	"ing": "ingress", "netpol": "networkpolicy", "ns": "namespace", "pc": "priorityclass",
	"pdb": "poddisruptionbudget", "po": "pod", "pv": "persistentvolume", "pvc": "persistentvolumeclaim",
	"quota": "resourcequota", "limits": "limitrange", "rc": "replicationcontroller", "rs": "replicaset",
	"sa": "serviceaccount", "sc": "storageclass", "sts": "statefulset", "svc": "service",
}
