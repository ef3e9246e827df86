package state

// Where records are, which other programs rely on: Zarf reads and writes them too.
const (
	// Namespace is where records and leases live.
	Namespace = "zarf"
	// SecretPrefix begins the name of every record's Secret.
	SecretPrefix = "zarf-package-"
	// PackageLabel marks a record's Secret; its value is the package's name.
	PackageLabel = "package-deploy-info"
	// ManagedByLabel says who manages an object of Zarf's, with the value ManagedBy.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel.
	ManagedBy = "zarf"
)

// SecretName returns the name of the Secret that records a package, and of the Lease that guards
// it; override is the namespace that the package was deployed into instead of its own, if any.
// Names are Zarf's and not unique (foo overridden into bar, and foo-override-bar), so that a reader
// must compare name and override with those in the record.
func SecretName(name, override string) string {
	if override == "" {
		return SecretPrefix + name
	}
	return SecretPrefix + name + "-override-" + override
}
