package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// config is how much is told.
type config struct {
	Detail string `json:"detail"`
}

// details are what config.Detail may be, each telling what those before it tell too.
func details() []string { return []string{"summary", "components", "releases"} }

// maxShown bounds the findings, so that a package of thousands of releases is summed up all the same.
const maxShown = 200

// judge tells what happened, and has no objections.
func judge(r sdk.Request) sdk.Response {
	c := config{Detail: "releases"}
	if err := r.DecodeConfig(&c); err != nil {
		return sdk.Fail(err)
	}
	level := slices.Index(details(), c.Detail)
	if level < 0 {
		return sdk.Fail(fmt.Errorf("detail %q is none of %s", c.Detail, strings.Join(details(), ", ")))
	}
	if r.Result == nil {
		return sdk.Fail(fmt.Errorf("the request of hook %q has no result to report", r.Hook))
	}
	if r.Package.Metadata.Name == "" {
		return sdk.Fail(errors.New("the request names no package to report on"))
	}
	lines := []string{summary(r)}
	if level >= 1 {
		for _, x := range r.Result.Components {
			lines = append(lines, fmt.Sprintf("component %s: %s", x.Name, outcome(x.Outcome)))
		}
	}
	if level >= 2 {
		for _, x := range r.Result.Releases {
			lines = append(lines, release(x))
		}
	}
	if more := len(lines) - maxShown; more > 0 {
		lines = append(lines[:maxShown], fmt.Sprintf("and %d more", more))
	}
	res := r.Allow()
	for _, line := range lines {
		res.Find(sdk.Finding{Severity: sdk.SeverityInfo, Message: line})
	}
	return res
}

// summary is the first line: what was done to what, where and by whom, and how it ended.
func summary(r sdk.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s", r.Operation.Name, r.Package.Metadata.Name)
	version := r.Package.Metadata.Version
	if version != "" {
		b.WriteString(" " + version)
	}
	if d := r.Deployed; d != nil && d.Version != "" && d.Version != version {
		fmt.Fprintf(&b, " (before: %s)", d.Version)
	}
	if r.Cluster.Context != "" {
		b.WriteString(" on " + r.Cluster.Context)
	}
	if r.User != "" {
		b.WriteString(" by " + r.User)
	}
	fmt.Fprintf(&b, ": %s", outcome(r.Result.Outcome))
	var components, releases []string
	for _, x := range r.Result.Components {
		components = append(components, x.Outcome)
	}
	for _, x := range r.Result.Releases {
		releases = append(releases, x.Outcome)
	}
	fmt.Fprintf(&b, "; components: %s; releases: %s", tally(components), tally(releases))
	return b.String()
}

func release(x sdk.ReleaseResult) string {
	line := fmt.Sprintf("release %s/%s", x.Namespace, x.Name)
	if x.Component != "" {
		line += " of component " + x.Component
	}
	line += ": " + outcome(x.Outcome)
	if x.Revision > 0 {
		line += fmt.Sprintf(", revision %d", x.Revision)
	}
	return line
}

// tally counts outcomes: "3 (2 Succeeded, 1 Failed)", in the order in which they came up.
func tally(outcomes []string) string {
	if len(outcomes) == 0 {
		return "none"
	}
	var order []string
	count := map[string]int{}
	for _, o := range outcomes {
		if count[o] == 0 {
			order = append(order, o)
		}
		count[o]++
	}
	for i, o := range order {
		order[i] = fmt.Sprintf("%d %s", count[o], outcome(o))
	}
	return fmt.Sprintf("%d (%s)", len(outcomes), strings.Join(order, ", "))
}

// outcome is an outcome as it is told.
func outcome(o string) string {
	if o == "" {
		return "unknown"
	}
	return o
}
