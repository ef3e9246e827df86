// Package signature reads cosign's keys and makes and checks the signatures that cosign makes with
// them: those of an artifact in a registry, in the form of cosign 2 (a payload that names the digest)
// and of cosign 3 (a Sigstore bundle around a statement), and those of a file (a Sigstore bundle
// around a digest), which Zarf has for its packages too.
//
// It knows bytes, keys and formats. It must not know registries, files or packages: where a signature
// lies is for the caller. Transparency logs and certificates are left out: whoever names a key trusts
// that key, with or without a log, as Zarf does.
//
// The formats are those of cosign's SIGNATURE_SPEC and of Sigstore's bundle 0.1 to 0.3.
package signature
