package wait

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Target names what to wait for.
type Target struct {
	// Kind is a kind, a resource or a short name, with a group where it needs one, as kubectl takes.
	Kind string
	// Identifier is a name, or a label selector where it holds a '='. Empty means any of the kind.
	Identifier string
	// Namespace is used for kinds that live in one. Empty means "default".
	Namespace string
	// Condition is described at "zarf tools wait-for": empty means reconciled by kstatus, then
	// exists, delete, {JSONPATH}=VALUE, or a status condition.
	Condition string
}

// denials is how often in a row an API server may deny access before that counts as its answer:
// one that has just started denies until it has read its own rules.
const denials = 5

// Resource waits until the objects that a target names meet its condition: all that a selector
// finds, and at least one. A kind that the cluster does not know yet is waited for too.
func Resource(ctx context.Context, config *rest.Config, target Target) error {
	want, err := parseCondition(target.Condition)
	if err != nil {
		return err
	}
	what := target.describe() + " to " + want.text
	selector := strings.Contains(target.Identifier, "=")
	if selector {
		if _, err := labels.Parse(target.Identifier); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("waiting for %s: using the kubeconfig: %w", what, err)
	}
	kinds, err := newKinds(config)
	if err != nil {
		return fmt.Errorf("waiting for %s: using the kubeconfig: %w", what, err)
	}
	denied := 0
	return poll(ctx, what, func(ctx context.Context) error {
		mapping, err := kinds.find(ctx, target.Kind)
		if err != nil {
			if want.gone && meta.IsNoMatchError(err) {
				return nil // without the kind there is no object of it
			}
			return classify(err, &denied)
		}
		found, err := fetch(ctx, client, mapping, target, selector)
		if err != nil {
			return classify(err, &denied)
		}
		denied = 0
		return judge(found, want)
	})
}

func (t Target) describe() string {
	what := t.Kind
	switch {
	case strings.Contains(t.Identifier, "="):
		what += fmt.Sprintf(" with labels %q", t.Identifier)
	case t.Identifier != "":
		what += fmt.Sprintf(" %q", t.Identifier)
	}
	if t.Namespace != "" {
		what += fmt.Sprintf(" in namespace %q", t.Namespace)
	}
	return what
}

// fetch returns the objects of a target that exist.
func fetch(ctx context.Context, client dynamic.Interface, mapping *meta.RESTMapping, t Target, selector bool) ([]unstructured.Unstructured, error) {
	var objects dynamic.ResourceInterface = client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := t.Namespace
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		objects = client.Resource(mapping.Resource).Namespace(namespace)
	}
	if selector || t.Identifier == "" {
		list, err := objects.List(ctx, metav1.ListOptions{LabelSelector: t.Identifier})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	object, err := objects.Get(ctx, t.Identifier, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []unstructured.Unstructured{*object}, nil
}

func judge(found []unstructured.Unstructured, want condition) error {
	if want.gone {
		if len(found) > 0 {
			return fmt.Errorf("%s still exists", found[0].GetName())
		}
		return nil
	}
	if len(found) == 0 {
		return errors.New("nothing of that name exists")
	}
	for i := range found {
		if err := want.met(&found[i]); err != nil {
			return err
		}
	}
	return nil
}

// classify tells what no waiting mends, credentials and certificates above all, from a server that
// is not up yet.
func classify(err error, denied *int) error {
	var (
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid),
		apierrors.IsUnauthorized(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		strings.Contains(err.Error(), "getting credentials: "): // client-go's, which wraps nothing
		return hopeless{err}
	case apierrors.IsForbidden(err):
		if *denied++; *denied >= denials {
			return hopeless{err}
		}
	}
	return err
}
