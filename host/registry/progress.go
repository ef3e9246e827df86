package registry

import (
	"fmt"
	"time"

	"github.com/zarf-host/zarf-host/host/event"
)

// progressInterval keeps a push of many small blobs from saying so for each.
const progressInterval = time.Second

// progress counts bytes that the registry has confirmed. What was sent only is not progress.
type progress struct {
	done, total int64
	said        time.Time
}

// expect notes what is to be uploaded.
func (p *push) expect(wanted []*wantedBlob) {
	p.count.Lock()
	defer p.count.Unlock()
	var total int64
	for _, b := range wanted {
		total += b.Size
	}
	p.progress.total = p.progress.done + total
	p.say()
}

func (p *push) committed(bytes int64) {
	p.count.Lock()
	defer p.count.Unlock()
	p.progress.done += bytes
	// Where nothing can be mounted, a blob counts once for each repository.
	p.progress.total = max(p.progress.total, p.progress.done)
	if p.progress.done == p.progress.total || time.Since(p.progress.said) >= progressInterval {
		p.say()
	}
}

func (p *push) say() {
	p.progress.said = time.Now()
	p.Client.opts.Sink.Emit(event.Event{Level: event.Info, Step: "push", Message: fmt.Sprintf(
		"pushed %s of %s to the registry at %s", mebibytes(p.progress.done), mebibytes(p.progress.total), p.Client.opts.Address)})
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
