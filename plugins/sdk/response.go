package sdk

import "fmt"

// Verdict is what a plugin thinks of an operation.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Warn  Verdict = "warn"
	Deny  Verdict = "deny"
)

// Severity says how much a finding matters.
type Severity string

// The severities of a finding.
const (
	SeverityInfo Severity = "info"
	SeverityWarn Severity = "warn"
	SeverityDeny Severity = "deny"
)

// Response is what a plugin answers. Begin with Request.Allow, Request.Warn or Request.Deny, which
// fill in what ties it to the request.
type Response struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	ID         string            `json:"id"`
	Verdict    Verdict           `json:"verdict"`
	Findings   []Finding         `json:"findings,omitempty"`
	Keep       []Keep            `json:"keep,omitempty"`
	Collisions []CollisionAnswer `json:"collisions,omitempty"`

	err error
}

// Finding is one thing to say to the user.
type Finding struct {
	Severity Severity   `json:"severity"`
	Message  string     `json:"message"`
	Object   *ObjectRef `json:"object,omitempty"`
	Path     string     `json:"path,omitempty"`
	Remedy   string     `json:"remedy,omitempty"`
}

// ObjectRef names an object in the cluster.
type ObjectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Keep names one thing that must survive: one of Component, Chart (namespace/release), Image and
// Object, with the reason.
type Keep struct {
	Component string     `json:"component,omitempty"`
	Chart     string     `json:"chart,omitempty"`
	Image     string     `json:"image,omitempty"`
	Object    *ObjectRef `json:"object,omitempty"`
	Reason    string     `json:"reason"`
}

// CollisionAnswer is a verdict on one collision.
type CollisionAnswer struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message"`
}

func (r Request) answer(v Verdict) Response {
	return Response{APIVersion: APIVersion, Kind: "HookResponse", ID: r.ID, Verdict: v}
}

// Allow begins a response without objections.
func (r Request) Allow() Response { return r.answer(Allow) }

// Warn is a response that shows a message and lets the operation go on.
func (r Request) Warn(format string, args ...any) Response {
	res := r.answer(Warn)
	res.Findings = []Finding{{Severity: SeverityWarn, Message: fmt.Sprintf(format, args...)}}
	return res
}

// Deny is a response that stops the operation with a message.
func (r Request) Deny(format string, args ...any) Response {
	res := r.answer(Deny)
	res.Findings = []Finding{{Severity: SeverityDeny, Message: fmt.Sprintf(format, args...)}}
	return res
}

// Fail ends the plugin without an answer: something is wrong with the plugin itself, such as its
// configuration, and the host's failure policy decides.
func Fail(err error) Response { return Response{err: err} }

// Find adds a finding, and makes the verdict at least as strict as its severity.
func (res *Response) Find(f Finding) {
	res.Findings = append(res.Findings, f)
	switch {
	case f.Severity == SeverityDeny:
		res.Verdict = Deny
	case f.Severity == SeverityWarn && res.Verdict != Deny:
		res.Verdict = Warn
	}
}

// DenyObject denies because of an object that would go.
func (res *Response) DenyObject(o Object, why string) {
	res.Find(Finding{Severity: SeverityDeny, Message: o.String() + ": " + why, Object: o.Ref()})
}

// KeepObject keeps an object that would go, and says so in a warning.
func (res *Response) KeepObject(o Object, why string) {
	res.Keep = append(res.Keep, Keep{Object: o.Ref(), Reason: why})
	res.Find(Finding{Severity: SeverityWarn, Message: "keeping " + o.String() + ": " + why, Object: o.Ref()})
}

// KeepImage keeps an image that would be deleted from the registry, and says so in a warning.
func (res *Response) KeepImage(i PruneImage, why string) {
	res.Keep = append(res.Keep, Keep{Image: i.Reference, Reason: why})
	res.Find(Finding{Severity: SeverityWarn, Message: "keeping image " + i.Reference + ": " + why})
}

// Judge answers one collision of the request. The verdict on it decides what becomes of it, and
// leaves the verdict on the whole operation as it is; a collision that is not judged keeps the
// verdict that it has.
func (res *Response) Judge(c Collision, v Verdict, format string, args ...any) {
	res.Collisions = append(res.Collisions, CollisionAnswer{ID: c.ID, Verdict: v, Message: fmt.Sprintf(format, args...)})
}
