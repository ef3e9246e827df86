package faultproxy

// Request is a request as the proxy saw it.
type Request struct {
	// Number counts from 1; a request that is not counted has 0.
	Number int
	Method string
	Path   string
	// Query is what follows the question mark.
	Query string
	// Status is what the upstream answered; 0 if it was not asked or has not
	// answered.
	Status int
	// Fault is what the proxy did to it.
	Fault Fault
}

// Rule chooses requests and says what happens to them. Of several rules that
// choose a request, the first injected acts alone.
type Rule struct {
	// At chooses the request of this number; 0 leaves the choice to Match.
	At int
	// Match chooses requests by what they are; nil chooses every one. With At
	// both must agree.
	Match func(Request) bool
	// Reads lets Match also choose requests that are not counted.
	Reads bool
	// Times is how many requests the rule acts on: 0 is once, negative is
	// every time. With At, those after the first are the next ones of the
	// same method and path: the client's attempts at the same thing.
	Times int
	// Before is called before the request is forwarded or answered.
	Before func(Request)
	// After is called when the upstream has answered, before the client
	// gets the answer.
	After func(Request)
	// Fault is what happens to the request.
	Fault Fault
}

// activeRule is a rule and how far it has got.
type activeRule struct {
	Rule
	acted int
	first Request
}

// take tells whether the rule acts on r, and counts that it does.
func (a *activeRule) take(r Request) bool {
	limit := max(a.Times, 1)
	if a.Times >= 0 && a.acted >= limit {
		return false
	}
	if r.Number == 0 && (!a.Reads || a.At != 0) {
		return false
	}
	if a.At != 0 {
		repeats := a.acted > 0 && r.Method == a.first.Method && r.Path == a.first.Path
		if r.Number != a.At && !repeats {
			return false
		}
	}
	if a.Match != nil && !a.Match(r) {
		return false
	}
	if a.acted == 0 {
		a.first = r
	}
	a.acted++
	return true
}
