// Package policy is what an organisation's policies come to: what several say together, and what of it
// an operation violates, beside the constraints that package validate evaluates. It decides on data: it
// reads no files and knows no cluster.
package policy
