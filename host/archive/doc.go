// Package archive packs and unpacks tar and zip archives, compressed or not. It is a format: it knows
// bytes and the folder that it is given, and trusts neither names nor links in an archive. It knows
// nothing of packages: bundle does.
package archive
