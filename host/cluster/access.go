package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	authorization "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/zarf-host/zarf-host/host/object"
)

const (
	// accessParallel is how many access reviews run at once.
	accessParallel = 16
	// accessReviews is the number of questions from which on the rules of whole namespaces are
	// asked for instead.
	accessReviews = 200
)

// AccessUnknownError says that the API server does not answer what the user may do.
type AccessUnknownError struct {
	Err error
}

func (e *AccessUnknownError) Error() string {
	return fmt.Sprintf("asking the API server for the permissions: %v", e.Err)
}

func (e *AccessUnknownError) Unwrap() error { return e.Err }

// Denied returns those of the permissions that the user lacks, in their order, with the names that
// are lacking where it is not all of them. Each is first asked for without names, and only where
// that is denied for each name: most roles name no objects. It is an AccessUnknownError where the
// server answers no such question.
func (c *Cluster) Denied(ctx context.Context, needed []object.Permission) ([]object.Permission, error) {
	a := access{review: c.reviewAccess, rules: c.reviewRules, limit: accessReviews}
	return a.denied(ctx, needed)
}

// question is what one access review asks.
type question struct {
	object.Permission
	name string
}

// access finds out what the user may do.
type access struct {
	review func(context.Context, question) (bool, error)
	rules  func(ctx context.Context, namespace string) (rules, error)
	limit  int
}

func (a access) denied(ctx context.Context, needed []object.Permission) ([]object.Permission, error) {
	broad := make([]question, len(needed))
	for i, p := range needed {
		broad[i].Permission = p
	}
	allowed, err := a.ask(ctx, broad)
	if err != nil {
		return nil, err
	}
	var narrow []question
	for i, p := range needed {
		if !allowed[i] {
			for _, name := range p.Names {
				narrow = append(narrow, question{p, name})
			}
		}
	}
	named, err := a.ask(ctx, narrow)
	if err != nil {
		return nil, err
	}
	var out []object.Permission
	for i, p := range needed {
		if allowed[i] {
			continue
		}
		answers := named[:len(p.Names)]
		named = named[len(p.Names):]
		var lacking []string
		for j, name := range p.Names {
			if !answers[j] {
				lacking = append(lacking, name)
			}
		}
		if len(p.Names) > 0 && len(lacking) == 0 {
			continue
		}
		p.Names = lacking
		out = append(out, p)
	}
	return out, nil
}

// ask answers questions, in their order.
func (a access) ask(ctx context.Context, questions []question) ([]bool, error) {
	allowed := make([]bool, len(questions))
	open := make([]int, len(questions)) // the questions that are not answered yet
	for i := range open {
		open[i] = i
	}
	if len(questions) > a.limit {
		var err error
		if open, err = a.byRules(ctx, questions, allowed); err != nil {
			return nil, err
		}
	}
	err := side(ctx, open, func(ctx context.Context, i int) (err error) {
		allowed[i], err = a.review(ctx, questions[i])
		return err
	})
	return allowed, err
}

// byRules answers what the rules of namespaces answer and returns the other questions: those about
// the whole cluster, and those where the server says that it did not tell all of its rules.
func (a access) byRules(ctx context.Context, questions []question, allowed []bool) ([]int, error) {
	var names []string
	for _, q := range questions {
		if q.Namespace != "" {
			names = append(names, q.Namespace)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	of := make([]rules, len(names))
	every := make([]int, len(names))
	for i := range every {
		every[i] = i
	}
	err := side(ctx, every, func(ctx context.Context, i int) (err error) {
		of[i], err = a.rules(ctx, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var open []int
	for i, q := range questions {
		at, found := slices.BinarySearch(names, q.Namespace)
		if !found {
			open = append(open, i)
			continue
		}
		allowed[i] = of[at].allow(q)
		if !allowed[i] && of[at].incomplete {
			open = append(open, i)
		}
	}
	return open, nil
}

// side does something for each item, accessParallel at a time, and returns the first error.
func side(ctx context.Context, items []int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	slots := make(chan struct{}, accessParallel)
	for _, item := range items {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, item); err != nil {
				once.Do(func() {
					first = err
					cancel()
				})
			}
		})
	}
	wg.Wait()
	if first == nil {
		first = context.Cause(ctx)
	}
	return first
}

// rules are what a user may do in a namespace.
type rules struct {
	list       []authorization.ResourceRule
	incomplete bool
}

// allow reports whether some rule allows what is asked.
func (r rules) allow(q question) bool {
	return slices.ContainsFunc(r.list, func(rule authorization.ResourceRule) bool {
		return has(rule.Verbs, q.Verb) && has(rule.APIGroups, q.Group) && hasResource(rule.Resources, q) &&
			(len(rule.ResourceNames) == 0 || q.name != "" && slices.Contains(rule.ResourceNames, q.name))
	})
}

func has(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func hasResource(list []string, q question) bool {
	if q.Subresource == "" {
		return has(list, q.Resource)
	}
	return has(list, q.Resource+"/"+q.Subresource) || slices.Contains(list, "*/"+q.Subresource)
}

func (c *Cluster) reviewAccess(ctx context.Context, q question) (bool, error) {
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorization.ResourceAttributes{
			Verb: q.Verb, Group: q.Group, Resource: q.Resource, Subresource: q.Subresource,
			Namespace: q.Namespace, Name: q.name,
		},
	}}
	var answer *authorization.SelfSubjectAccessReview
	err := persist(ctx, func() (err error) {
		answer, err = c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, unanswered(ctx, err)
	}
	return answer.Status.Allowed, nil
}

func (c *Cluster) reviewRules(ctx context.Context, namespace string) (rules, error) {
	review := &authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	var answer *authorization.SelfSubjectRulesReview
	err := persist(ctx, func() (err error) {
		answer, err = c.client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return rules{}, unanswered(ctx, err)
	}
	return rules{list: answer.Status.ResourceRules, incomplete: answer.Status.Incomplete}, nil
}

// unanswered makes the error of a review one that says so.
func unanswered(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err == nil || cause != nil {
		return cause
	}
	return &AccessUnknownError{Err: err}
}

// Absent returns those of the namespaces that do not exist. Where a namespace may not be read, a
// dry run of writing into it tells; where that is not allowed either, it is taken to exist.
func (c *Cluster) Absent(ctx context.Context, namespaces []string) ([]string, error) {
	absent := make([]bool, len(namespaces))
	every := make([]int, len(namespaces))
	for i := range every {
		every[i] = i
	}
	err := side(ctx, every, func(ctx context.Context, i int) (err error) {
		absent[i], err = c.absent(ctx, namespaces[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for i, name := range namespaces {
		if absent[i] {
			out = append(out, name)
		}
	}
	return out, nil
}

func (c *Cluster) absent(ctx context.Context, namespace string) (bool, error) {
	err := persist(ctx, func() error {
		_, err := c.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if !IsForbidden(err) {
			return err
		}
		_, err = c.client.CoreV1().Secrets(namespace).Create(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "zarf-host-"}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: ownManager})
		return err
	})
	var status apierrors.APIStatus
	switch {
	case err == nil, IsForbidden(err):
		return false, nil
	case apierrors.IsNotFound(err):
		return true, nil
	case errors.As(err, &status) && !passing(err):
		return false, nil // something refuses the Secret: whoever does looked into the namespace
	}
	return false, fmt.Errorf("looking for namespace %q: %w", namespace, err)
}
