// Package template decides what the templates of a package stand for: it resolves variables and
// constants, fills ###ZARF_…### markers in bytes that it is handed, and executes Go templates where
// a package asks for them. It knows Zarf's rules for names, patterns, indentation, files as values,
// and the objects of Go templates. It reads no file itself (a Loader is passed in), knows no
// cluster, and never puts a sensitive value into an error.
package template
