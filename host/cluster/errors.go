package cluster

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsForbidden reports whether the API server refused a request because the user lacks the right.
func IsForbidden(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsForbidden(err)
}
