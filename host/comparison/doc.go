// Package comparison says in what two packages differ, by lists of what each has: components, images,
// charts, manifests, files, values, repositories. Who reads packages makes the lists; of a deployed
// package the content is not known, so of that only what its definition says is compared.
package comparison
