package source

import (
	"cmp"
	"runtime"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/host/bundle"
	"github.com/zarf-host/zarf-host/host/event"
)

// Options say how a source is opened. The zero value is right for local packages and most registries.
type Options struct {
	// Bundle is handed on to bundle. Its SHA256 is what pins an oci:// reference, and an https://
	// archive needs it.
	Bundle bundle.Options
	// Architecture is that of the package to take from a reference that has several. Default: this
	// machine's.
	Architecture string
	// PlainHTTP allows http:// and registries that speak no HTTPS. HTTPS is tried first with these. On
	// loopback and in private networks it is always allowed.
	PlainHTTP bool
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// Sink is told of what is tried again. Default: nobody.
	Sink event.Sink
	// Retries is how often in a row something is tried again without progress. Default 5; negative
	// is never.
	Retries int
	// Backoff is the pause before the first retry, which doubles with each further one, up to ten
	// seconds. Default 250 ms.
	Backoff time.Duration
	// StallLimit is how long a server may send nothing. Default 1 min.
	StallLimit time.Duration
}

const maxBackoff = 10 * time.Second

func (o Options) withDefaults() Options {
	o.Bundle.SHA256 = strings.ToLower(o.Bundle.SHA256)
	o.Architecture = cmp.Or(o.Architecture, runtime.GOARCH)
	o.Retries = max(0, cmp.Or(o.Retries, 5))
	o.Backoff = cmp.Or(o.Backoff, 250*time.Millisecond)
	o.StallLimit = cmp.Or(o.StallLimit, time.Minute)
	if o.Sink == nil {
		o.Sink = event.Discard
	}
	return o
}

// pause is how long to wait before a retry, the first of which has the number 0.
func (o Options) pause(retry int) time.Duration {
	return min(o.Backoff<<min(retry, 16), maxBackoff)
}

func (o Options) warn(message string) {
	o.Sink.Emit(event.Event{Level: event.Warn, Step: "open", Message: message})
}
