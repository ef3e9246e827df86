package state

// Participant is a policy or a plugin that took part in an operation.
type Participant struct {
	Name string `json:"name"`
	// Digest is that of the policy's text or of the plugin's module, "sha256:…".
	Digest string `json:"digest"`
}
