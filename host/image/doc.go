// Package image decides which images go where: how a reference reads in full, under which references
// of a registry Zarf keeps an image, which images a component brings, and what an image in a package
// consists of.
//
// It is a decision: it reads no file, asks no registry, and knows no package but the bytes that it is
// given. Names are Zarf's to the letter, since Zarf's agent and prune compute the same ones.
package image
