package state

import (
	"slices"
	"time"
)

// EventType is the operation that an event is an attempt of.
type EventType string

// The types of an event.
const (
	Deploy EventType = "Deploy"
	Remove EventType = "Remove"
)

// EventOutcome is how an attempt ended, or that it has not ended.
type EventOutcome string

// The outcomes of an event.
const (
	InProgress EventOutcome = "InProgress"
	Succeeded  EventOutcome = "Succeeded"
	Failed     EventOutcome = "Failed"
	Cancelled  EventOutcome = "Cancelled"
)

// maxEvents is how many events a record keeps.
const maxEvents = 10

// PackageEvent is one attempt to deploy or remove a package. The entry that says InProgress becomes
// the attempt's outcome.
type PackageEvent struct {
	Type    EventType    `json:"type"`
	Outcome EventOutcome `json:"outcome"`
	// Timestamp is when this outcome was recorded, in UTC: the start, while InProgress.
	Timestamp time.Time `json:"timestamp"`
	Version   string    `json:"version,omitempty"`
	Flavor    string    `json:"flavor,omitempty"`
	Digest    string    `json:"digest,omitempty"`
	// Source is where the package came from, without credentials; deployments only.
	Source       string `json:"source,omitempty"`
	ConfigDigest string `json:"configDigest,omitempty"`
}

// ComponentEvent is the latest attempt to deploy or remove a component.
type ComponentEvent struct {
	Type      EventType    `json:"type"`
	Outcome   EventOutcome `json:"outcome"`
	Timestamp time.Time    `json:"timestamp"`
}

// LatestEvent returns the newest event; false means that the state is unknown, since Zarf or an
// older program wrote the record last.
func (p Package) LatestEvent() (PackageEvent, bool) {
	if len(p.Events) == 0 {
		return PackageEvent{}, false
	}
	return p.Events[len(p.Events)-1], true
}

// LastSuccessfulDeploy returns the newest event of a deployment that succeeded, false when the
// record has none.
func (p Package) LastSuccessfulDeploy() (PackageEvent, bool) {
	if i := lastSuccessfulDeploy(p.Events); i >= 0 {
		return p.Events[i], true
	}
	return PackageEvent{}, false
}

func lastSuccessfulDeploy(events []PackageEvent) int {
	for i, e := range slices.Backward(events) {
		if e.Type == Deploy && e.Outcome == Succeeded {
			return i
		}
	}
	return -1
}

// retain returns a copy of events, oldest first, without what is too many: the oldest go, but never
// the latest successful deployment, which redeploying needs.
func retain(events []PackageEvent) []PackageEvent {
	kept := slices.Clone(events)
	for len(kept) > maxEvents {
		oldest := 0
		if lastSuccessfulDeploy(kept) == oldest {
			oldest = 1
		}
		kept = slices.Delete(kept, oldest, oldest+1)
	}
	return kept
}

// status returns the old component status that follows from an event, and was where it follows none.
func (e ComponentEvent) status(was Status) Status {
	switch e.Outcome {
	case InProgress:
		if e.Type == Remove {
			return StatusRemoving
		}
		return StatusDeploying
	case Succeeded:
		return StatusSucceeded
	case Failed:
		return StatusFailed
	default:
		return was
	}
}
