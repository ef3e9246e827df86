// Package repo clones git repositories as Zarf does, so that they can be carried and pushed elsewhere. It
// is an effect: it knows git, by go-git, and with whose credentials a server is asked.
package repo
