package state

// Acceptance says which collisions of one kind a deployment went on with because the operator
// accepted them.
type Acceptance struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	// IDs name the first of them, at most MaxAcceptedIDs.
	IDs []string `json:"ids,omitempty"`
	// By is who ran the deployment, as far as the machine knows.
	By string `json:"by,omitempty"`
}

// MaxAcceptedIDs is how many collisions of a kind a record names: it is a note and not a list.
const MaxAcceptedIDs = 10
