// Package template decides what the text templates of a package stand for: it resolves variables
// and constants, and fills ###ZARF_…### markers in bytes that it is handed. It knows Zarf's rules
// for names, patterns, indentation and files as values. It reads no file itself (a Loader is
// passed in), knows no cluster, and never puts a sensitive value into an error.
package template
