// Package persona proves with real service accounts what it takes to deploy: that the permissions
// which a plan lists are enough and that each of them is needed, and that the roles in examples let
// everybody do their part and nothing else. It holds tests only.
package persona
