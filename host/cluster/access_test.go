package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/zarf-host/zarf-host/host/object"
)

func TestRulesAllow(t *testing.T) {
	list := func(verbs, groups, resources, names []string) rules {
		return rules{list: []authorization.ResourceRule{{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}}}
	}
	ask := func(verb, group, resource, subresource, name string) question {
		return question{object.Permission{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: "a"}, name}
	}
	get, apps, core := []string{"get"}, []string{"apps"}, []string{""}
	for _, test := range []struct {
		name  string
		rules rules
		ask   question
		want  bool
	}{
		{"nothing", rules{}, ask("get", "", "pods", "", ""), false},
		{"the same", list(get, apps, []string{"deployments"}, nil), ask("get", "apps", "deployments", "", "web"), true},
		{"another verb", list(get, apps, []string{"deployments"}, nil), ask("list", "apps", "deployments", "", ""), false},
		{"another group", list(get, core, []string{"deployments"}, nil), ask("get", "apps", "deployments", "", ""), false},
		{"another resource", list(get, apps, []string{"daemonsets"}, nil), ask("get", "apps", "deployments", "", ""), false},
		{"everything", list([]string{"*"}, []string{"*"}, []string{"*"}, nil), ask("create", "", "pods", "portforward", ""), true},
		{"a name, asked for any", list(get, core, []string{"secrets"}, []string{"one"}), ask("get", "", "secrets", "", ""), false},
		{"a name, asked for it", list(get, core, []string{"secrets"}, []string{"one"}), ask("get", "", "secrets", "", "one"), true},
		{"a name, asked for another", list(get, core, []string{"secrets"}, []string{"one"}), ask("get", "", "secrets", "", "two"), false},
		{"a resource is not its subresource", list(get, core, []string{"pods"}, nil), ask("get", "", "pods", "log", ""), false},
		{"a subresource is not its resource", list(get, core, []string{"pods/log"}, nil), ask("get", "", "pods", "", ""), false},
		{"the subresource", list(get, core, []string{"pods/log"}, nil), ask("get", "", "pods", "log", ""), true},
		{"a subresource of everything", list(get, core, []string{"*/log"}, nil), ask("get", "", "pods", "log", ""), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.rules.allow(test.ask); got != test.want {
				t.Errorf("allowed is %t, want %t", got, test.want)
			}
		})
	}
}

// authorizer allows what a set of rules allows, and counts what it is asked.
type authorizer struct {
	rules          map[string]rules // by namespace
	reviews        atomic.Int64
	ruleReviews    atomic.Int64
	mu             sync.Mutex
	current, peak  int
	incomplete     bool
	beyond         string // a resource that is allowed although no rule says so
	failing        error
	waitForOthers  chan struct{}
	othersExpected int
	opened         sync.Once
}

func (a *authorizer) access(limit int) access {
	return access{limit: limit, review: a.review, rules: func(_ context.Context, namespace string) (rules, error) {
		a.ruleReviews.Add(1)
		r := a.rules[namespace]
		r.incomplete = a.incomplete
		return r, a.failing
	}}
}

func (a *authorizer) review(_ context.Context, q question) (bool, error) {
	a.reviews.Add(1)
	a.mu.Lock()
	a.current++
	a.peak = max(a.peak, a.current)
	if a.current == a.othersExpected {
		a.opened.Do(func() { close(a.waitForOthers) })
	}
	a.mu.Unlock()
	if a.waitForOthers != nil {
		<-a.waitForOthers
	}
	a.mu.Lock()
	a.current--
	a.mu.Unlock()
	return a.rules[q.Namespace].allow(q) || q.Resource == a.beyond, a.failing
}

func everything(verb string) rules {
	return rules{list: []authorization.ResourceRule{{Verbs: []string{verb}, APIGroups: []string{"*"}, Resources: []string{"*"}}}}
}

func TestDeniedNamesWhatIsLacking(t *testing.T) {
	named := rules{list: []authorization.ResourceRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a", "b"}},
	}}
	a := &authorizer{rules: map[string]rules{"one": named, "two": everything("list")}}
	all := func(names ...string) object.Permission {
		return object.Permission{Verb: "get", Resource: "secrets", Namespace: "one", Names: names}
	}
	list := object.Permission{Verb: "list", Resource: "secrets", Namespace: "two"}
	nodes := object.Permission{Verb: "list", Resource: "nodes"}
	for _, limit := range []int{accessReviews, 0} { // by reviews, and by rules
		got, err := a.access(limit).denied(t.Context(), []object.Permission{all("a", "b"), list, all("a", "c"), all(), nodes})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]object.Permission{all("c"), all(), nodes}, got); diff != "" {
			t.Errorf("denied with limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

func many(n int) []object.Permission {
	out := make([]object.Permission, n)
	for i := range out {
		out[i] = object.Permission{Verb: "list", Resource: fmt.Sprintf("things%d", i), Namespace: fmt.Sprintf("ns%d", i%3)}
	}
	return out
}

func TestDeniedAsksForRulesWhereQuestionsAreMany(t *testing.T) {
	lists := map[string]rules{"ns0": everything("list"), "ns1": everything("list"), "ns2": everything("list")}
	for _, test := range []struct {
		name           string
		questions      []object.Permission
		a              *authorizer
		reviews, rules int64
		denied         int
	}{
		{"200 are asked one by one", many(200), &authorizer{rules: lists}, 200, 0, 0},
		{"201 are not", many(201), &authorizer{rules: lists}, 0, 3, 0},
		{"rules know nothing of the whole cluster", append(many(201), object.Permission{Verb: "list", Resource: "nodes"}), &authorizer{rules: lists}, 1, 3, 1},
		{"complete rules are believed", many(300), &authorizer{beyond: "things7"}, 0, 3, 300},
		{"incomplete ones are not", many(300), &authorizer{beyond: "things7", incomplete: true}, 300, 3, 299},
	} {
		t.Run(test.name, func(t *testing.T) {
			denied, err := test.a.access(accessReviews).denied(t.Context(), test.questions)
			if err != nil {
				t.Fatal(err)
			}
			if len(denied) != test.denied {
				t.Errorf("%d denied, want %d", len(denied), test.denied)
			}
			if r, u := test.a.reviews.Load(), test.a.ruleReviews.Load(); r != test.reviews || u != test.rules {
				t.Errorf("%d access and %d rules reviews, want %d and %d", r, u, test.reviews, test.rules)
			}
		})
	}
}

func TestDeniedAsksSixteenAtOnce(t *testing.T) {
	a := &authorizer{waitForOthers: make(chan struct{}), othersExpected: accessParallel}
	if _, err := a.access(accessReviews).denied(t.Context(), many(100)); err != nil {
		t.Fatal(err)
	}
	if a.peak != accessParallel {
		t.Errorf("%d reviews ran at once, want %d", a.peak, accessParallel)
	}
}

func TestDeniedEndsWithTheFirstError(t *testing.T) {
	a := &authorizer{failing: errors.New("broken")}
	if _, err := a.access(accessReviews).denied(t.Context(), many(100)); !errors.Is(err, a.failing) {
		t.Errorf("got %v, want %v", err, a.failing)
	}
	if n := a.reviews.Load(); n > 2*accessParallel {
		t.Errorf("%d reviews were made after the first failed", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&authorizer{}).access(accessReviews).denied(ctx, many(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestDeniedGetsOverPassingFaults(t *testing.T) {
	reviews := schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}
	for _, test := range []struct {
		name    string
		answers []error
		unknown bool
	}{
		{"once unavailable", []error{apierrors.NewServiceUnavailable("busy"), nil}, false},
		{"too many requests", []error{apierrors.NewTooManyRequestsError("busy"), nil}, false},
		{"not allowed to ask", []error{apierrors.NewForbidden(reviews, "", errors.New("no"))}, true},
		{"not served", []error{apierrors.NewNotFound(reviews, "")}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			answers := slices.Clone(test.answers)
			client := fake.NewClientset()
			client.PrependReactor("create", "selfsubjectaccessreviews", func(action k8stesting.Action) (bool, runtime.Object, error) {
				err := answers[0]
				answers = answers[1:]
				review := action.(k8stesting.CreateAction).GetObject().(*authorization.SelfSubjectAccessReview)
				review.Status.Allowed = true
				return true, review, err
			})
			c := &Cluster{client: client}
			denied, err := c.Denied(t.Context(), many(1))
			var unknown *AccessUnknownError
			if errors.As(err, &unknown) != test.unknown || len(denied) != 0 || !test.unknown && err != nil {
				t.Errorf("got %v, %v; want an unknown answer: %t", denied, err, test.unknown)
			}
			if len(answers) != 0 {
				t.Errorf("%d answers were not asked for", len(answers))
			}
		})
	}
}
