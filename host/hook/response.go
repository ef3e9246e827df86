package hook

// ResponseKind is the kind of a response.
const ResponseKind = "HookResponse"

// Verdict is what a plugin thinks of an operation, or of one collision.
type Verdict string

// The verdicts, from the mildest to the strictest.
const (
	Allow Verdict = "allow"
	Warn  Verdict = "warn"
	Deny  Verdict = "deny"
)

func (v Verdict) rank() int {
	switch v {
	case Deny:
		return 3
	case Warn:
		return 2
	case Allow:
		return 1
	default:
		return 0
	}
}

// Stricter returns the stricter of the two.
func (v Verdict) Stricter(w Verdict) Verdict {
	if w.rank() > v.rank() {
		return w
	}
	return v
}

// Severity says how much a finding matters.
type Severity string

// The severities of a finding.
const (
	SeverityInfo Severity = "info"
	SeverityWarn Severity = "warn"
	SeverityDeny Severity = "deny"
)

// Response is what a plugin answers. The verdict decides, and the severity of a finding is how it is
// shown; but one of severity deny comes with the verdict deny only: an answer that says both yes and
// no is none.
type Response struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	ID         string            `json:"id"`
	Verdict    Verdict           `json:"verdict"`
	Findings   []Finding         `json:"findings,omitempty"`
	Keep       []Keep            `json:"keep,omitempty"`
	Collisions []CollisionAnswer `json:"collisions,omitempty"`
}

// Finding is one thing that a plugin has to say.
type Finding struct {
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Object   *Object  `json:"object,omitempty"`
	Path     string   `json:"path,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
}

// Object names an object in the cluster; the namespace of a cluster-wide one is empty.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String returns Kind/namespace/name, or Kind/name for a cluster-wide object.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Keep names one thing that must survive: exactly one of the first four is set.
type Keep struct {
	// Component is the name of a component.
	Component string `json:"component,omitempty"`
	// Chart is namespace/name of a release.
	Chart string `json:"chart,omitempty"`
	// Image is a reference as the plan has it.
	Image string `json:"image,omitempty"`
	// Object is an object that would be deleted.
	Object *Object `json:"object,omitempty"`
	// Reason is shown to the user.
	Reason string `json:"reason"`
}

// Target says what is kept: `component "web"`, `object StatefulSet/db/pg`.
func (k Keep) Target() string {
	switch {
	case k.Component != "":
		return "component " + quote(k.Component)
	case k.Chart != "":
		return "chart " + quote(k.Chart)
	case k.Image != "":
		return "image " + quote(k.Image)
	case k.Object != nil:
		return "object " + k.Object.APIVersion + " " + k.Object.String()
	default:
		return "nothing"
	}
}

// CollisionAnswer is a verdict on one collision.
type CollisionAnswer struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message"`
}

func quote(s string) string { return `"` + s + `"` }
