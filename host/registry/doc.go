// Package registry brings images from a package to a container registry, and asks the registry what
// it has. It is an effect: it knows one registry, by the address, credentials and certificates that
// it is given, and speaks to it through connections that it opens and closes itself.
//
// It decides nothing about names: host/image does. It knows no cluster; where a registry is inside
// one, the caller hands over a way to open a tunnel.
//
// # How a push goes
//
// A Content knows what a package has without unpacking it. Push first asks the registry for the
// manifests, by HEAD: what is there is left alone. Of the rest it asks for the blobs, mounts what
// another repository of the registry has, and then walks through the package once, uploading each
// missing blob as it comes by: small ones from memory and several at once, large ones straight from
// the package. Manifests follow, the reference that pods use last.
//
// All requests of an attempt go through one session: a set of connections, and a tunnel if there is
// one. When an attempt fails, its session is closed, which ends everything under way in it, and only
// then is the next one opened. What the registry has confirmed is not asked for or sent again.
package registry
