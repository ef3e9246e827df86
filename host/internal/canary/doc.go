// Package canary plants distinct secrets in everything that is given to a deployment and looks for
// them in everything that comes out of it. It has only tests.
package canary
