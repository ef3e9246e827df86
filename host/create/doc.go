// Package create makes packages: it resolves what a definition is composed of, gathers what that
// names, and lays it out as Zarf does. It knows Zarf's layout and rules through bundle and compose, and
// reaches everything outside of the author's folders through the interfaces of World.
//
// It goes in two steps. Resolve reads definitions and asks registries what references stand for; what
// it returns is plain data from which parts may be left out. Assemble fetches and packs what is left.
// Neither writes anywhere but into the folder that it is given for temporary files, so nothing is left
// of a package that could not be made. Whatever is wrong with what an author wrote is a *PlacedError,
// which says where it is written.
package create
