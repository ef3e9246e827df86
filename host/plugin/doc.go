// Package plugin decides how plugins travel and which are let in: how one is named, how its module is
// packed for a registry and found in what a registry has, and what a lock file allows. It knows no
// registry, file or package; the bytes come from the caller.
package plugin
