// Package packagetest writes packages in the layout of Zarf's own: one zstd frame, zarf.yaml last,
// component tars, checksums. It makes the packages of tests and of the demo, good ones and, through
// the hooks of Options, broken and hostile ones.
//
// It is no substitute for create: it fetches nothing, knows no images, repositories or imports, and
// refuses a definition that has them. It may not be imported by the engine.
package packagetest
