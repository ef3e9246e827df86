// Package testregistry gives tests a real registry, as a process of its own, and the means to break
// it: to kill and restart it, to put host/internal/faultproxy in front of it, and to cut or stall the
// wire to it after so many bytes.
//
// It knows cmd/devregistry, which it builds if need be. It must not know what is tested on it.
package testregistry
