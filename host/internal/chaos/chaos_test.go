package chaos_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zarf-host/zarf-host/host/internal/faultproxy"
	"github.com/zarf-host/zarf-host/host/internal/testcluster"
	"github.com/zarf-host/zarf-host/host/state"
)

// fullChaos in the environment breaks every operation at every request; without it a selection is
// broken, the same one each time.
const fullChaos = "ZARF_HOST_CHAOS"

// TestChaos breaks the program at the requests by which it changes the cluster (SPEC 15), and then
// runs the same command again, which must end as if nothing had happened.
func TestChaos(t *testing.T) {
	cluster := testcluster.Shared(t)
	table := &scores{}
	turn := 0 // of the faults, where not all are tried
	for _, op := range operations() {
		ref := undisturbed(t, cluster, op)
		t.Run("kill-"+op.name, func(t *testing.T) {
			points := choose(t, "kill", ref.count(), 4)
			for i, n := range points {
				// Each point on both sides, or in turn.
				if full() || i%2 == 0 {
					t.Run("before-"+ref.at(n), func(t *testing.T) { t.Parallel(); killed(t, cluster, ref, n, true, table) })
				}
				if full() || i%2 == 1 {
					t.Run("after-"+ref.at(n), func(t *testing.T) { t.Parallel(); killed(t, cluster, ref, n, false, table) })
				}
			}
		})
		t.Run("interrupt-"+op.name, func(t *testing.T) {
			for i, n := range choose(t, "interrupt", ref.count(), 2) {
				if full() || i%2 == 0 {
					t.Run("before-"+ref.at(n), func(t *testing.T) { t.Parallel(); interrupted(t, cluster, ref, n, true, table) })
				}
				if full() || i%2 == 1 {
					t.Run("after-"+ref.at(n), func(t *testing.T) { t.Parallel(); interrupted(t, cluster, ref, n, false, table) })
				}
			}
		})
		t.Run("fault-"+op.name, func(t *testing.T) {
			faults := faults()
			if full() {
				for n := 1; n <= ref.count(); n++ {
					for _, f := range faults {
						t.Run(f.name+"-"+ref.at(n), func(t *testing.T) { t.Parallel(); faulty(t, cluster, ref, n, f, table) })
					}
				}
				return
			}
			for _, n := range choose(t, "fault", ref.count(), 3) {
				f := faults[turn%len(faults)]
				turn++
				t.Run(f.name+"-"+ref.at(n), func(t *testing.T) { t.Parallel(); faulty(t, cluster, ref, n, f, table) })
			}
		})
	}
	t.Log(table)
}

func full() bool { return os.Getenv(fullChaos) == "full" }

// choose chooses which of the points 1 to count are broken: all of them, or as many as wanted,
// evenly spread, the last one among them.
func choose(t *testing.T, what string, count, wanted int) []int {
	t.Helper()
	var points []int
	for n := 1; n <= count; n++ {
		if full() || n*wanted/count != (n-1)*wanted/count {
			points = append(points, n)
		}
	}
	t.Logf("%s: %d of %d points; %s=full takes all", what, len(points), count, fullChaos)
	return points
}

// killed kills the operation before or after request n.
func killed(t *testing.T, cluster *testcluster.Cluster, ref reference, n int, before bool, table *scores) {
	defer table.enter(t, ref.name, "killed")
	c := newCell(t, cluster)
	ref.prepare(c)
	claim := c.picture().claim
	c.kill(ref, n, before)
	c.again(ref, claim, table)
}

// kill runs the operation and kills it before or after request n.
func (c *cell) kill(ref reference, n int, before bool) {
	c.t.Helper()
	c.proxy.Reset()
	var p *process
	started := make(chan struct{})
	kill := func() { <-started; p.kill() }
	if before {
		c.proxy.KillBefore(n, kill)
	} else {
		c.proxy.KillAfter(n, kill)
	}
	p = c.start(ref.args(c)...)
	close(started)
	if code := p.wait(); code != -1 && n <= c.proxy.Count() {
		c.t.Fatalf("the program was to be killed at request %d and ended with %d\n%s", n, code, p.out.String())
	}
	c.proxy.Reset()
}

// again runs the operation once more, undisturbed this time, and compares.
func (c *cell) again(ref reference, claim string, table *scores) {
	c.t.Helper()
	mid := c.picture()
	args := ref.args(c)
	p := c.run(args...)
	table.took(ref.name, p.took)
	// A removal that had come to its end leaves nothing to remove.
	done := ref.name == "remove" && len(mid.events) == 0 && strings.Contains(p.out.String(), "is not deployed")
	if p.code != 0 && !done {
		c.t.Fatalf("the same command again ended with %d\n%s\nevents before it: %q\n%s",
			p.code, p.out.String(), mid.events, strings.Join(mid.lines, "\n"))
	}
	end := c.picture()
	end.same(c, ref.end)
	if claim != "" && end.claim != "" && end.claim != claim {
		c.t.Errorf("the claim %s is another one now: its data is lost", claim)
	}
	if ref.name == "remove" {
		return // the events went with the record
	}
	last := ref.end.events[len(ref.end.events)-1]
	if c.rewritten { // what is known of earlier attempts is for the record's own tests
		if n := len(end.events); end.events[n-1] != last || slices.ContainsFunc(end.events, inProgress) {
			c.t.Errorf("events: %q", end.events)
		}
		return
	}
	want := append(closed(mid.events), last)
	if diff := cmp.Diff(want, end.events); diff != "" {
		c.t.Errorf("events (-want +got):\n%s", diff)
	}
}

func inProgress(event string) bool { return strings.Contains(event, " "+string(state.InProgress)+" ") }

// scores count what became of the disturbed runs.
type scores struct {
	mu   sync.Mutex
	rows map[string]*score
	time map[string]time.Duration // the worst time to recover, by operation
}

type score struct{ runs, lost int }

func (s *scores) enter(t *testing.T, operation, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[string]*score{}
	}
	key := operation + "\t" + what
	if s.rows[key] == nil {
		s.rows[key] = &score{}
	}
	s.rows[key].runs++
	if t.Failed() {
		s.rows[key].lost++
	}
}

func (s *scores) took(operation string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.time == nil {
		s.time = map[string]time.Duration{}
	}
	s.time[operation] = max(s.time[operation], d)
}

// String is the table.
func (s *scores) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(w, "\noperation\tdisturbed by\truns\trecovered\tlost\n") // a strings.Builder takes all
	var keys []string
	for key := range s.rows {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		row := s.rows[key]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", key, row.runs, row.runs-row.lost, row.lost)
	}
	_ = w.Flush()
	for _, op := range operations() {
		_, _ = fmt.Fprintf(&text, "worst time to recover, %s: %s\n", op.name, s.time[op.name].Round(time.Millisecond))
	}
	return text.String()
}

// A fault is what a request is answered with.
type fault struct {
	name  string
	fault faultproxy.Fault
	times int
}

func faults() []fault {
	return []fault{
		{"429", faultproxy.Status(429), 1},
		{"retry-after", faultproxy.RetryAfter(429, time.Second), 1},
		{"500", faultproxy.Status(500), 1},
		{"503", faultproxy.Status(503), 1},
		{"reset", faultproxy.Reset(), 1},
		{"lost", faultproxy.Lost(), 1},
		{"hang", faultproxy.Hang(3 * time.Second), 1},
		{"slow", faultproxy.Slow(2 * time.Second), 1},
		{"403", faultproxy.Status(403), 1},
		{"409-storm", faultproxy.Status(409), 20},
	}
}

// letGoFailed is what the program says when all was done and only its lease is left, which the next
// run takes over.
const letGoFailed = "releasing lease"

// faulty answers request n with a fault. The program gets over it, or says what is wrong.
func faulty(t *testing.T, cluster *testcluster.Cluster, ref reference, n int, f fault, table *scores) {
	defer table.enter(t, ref.name, f.name)
	c := newCell(t, cluster)
	ref.prepare(c)
	claim := c.picture().claim
	c.proxy.Reset()
	c.proxy.Inject(faultproxy.Rule{At: n, Fault: f.fault, Times: f.times})
	p := c.run(ref.args(c)...)
	c.proxy.Reset()
	switch text := p.out.String(); {
	case p.code == 0 && strings.Contains(text, letGoFailed):
		c.again(ref, claim, table)
	case p.code == 0:
		end := c.picture()
		end.same(c, ref.end)
		if diff := cmp.Diff(ref.end.events, end.events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	case p.code != 1:
		t.Errorf("exit code %d\n%s", p.code, text)
	case !strings.Contains(text, "\nerror: ") && !strings.HasPrefix(text, "error: "):
		t.Errorf("exit code 1 without a word\n%s", text)
	}
	if p.code != 0 {
		c.again(ref, claim, table)
	}
}

// cancelLimit is how long a cancelled operation may take to end, with a second for the machine.
const cancelLimit = 11 * time.Second

// interrupted sends SIGINT when request n is on its way, which then never arrives, or when its answer
// is.
func interrupted(t *testing.T, cluster *testcluster.Cluster, ref reference, n int, before bool, table *scores) {
	defer table.enter(t, ref.name, "SIGINT")
	c := newCell(t, cluster)
	ref.prepare(c)
	was := c.picture()
	c.proxy.Reset()
	var p *process
	var at time.Time
	started := make(chan struct{})
	signal := func(faultproxy.Request) {
		<-started
		at = time.Now()
		p.interrupt()
		time.Sleep(100 * time.Millisecond) // it arrives before the answer does
	}
	rule := faultproxy.Rule{At: n, After: signal}
	if before {
		rule = faultproxy.Rule{At: n, Before: signal, Fault: faultproxy.Hang(5 * time.Second)}
	}
	c.proxy.Inject(rule)
	p = c.start(ref.args(c)...)
	close(started)
	code := p.wait()
	if at.IsZero() {
		t.Fatalf("request %d never came\n%s", n, p.out.String())
	}
	if took := p.began.Add(p.took).Sub(at); took > cancelLimit {
		t.Errorf("ending took %s after the signal", took)
	}
	c.proxy.Reset()
	mid := c.picture()
	if slices.ContainsFunc(mid.lines, func(l string) bool { return strings.HasPrefix(l, "lease") }) {
		t.Errorf("the lease is still there")
	}
	begun := len(mid.events) > len(was.events)
	switch {
	case code == 0: // it came to its end before the signal could stop it
		mid.same(c, ref.end)
		return
	case code != 130:
		t.Errorf("exit code %d\n%s", code, p.out.String())
	case begun && !strings.Contains(mid.events[len(mid.events)-1], " Cancelled "):
		t.Errorf("events %q: the cancellation is not recorded\n%s", mid.events, p.out.String())
	case strings.Contains(p.out.String(), "rolled back"):
		t.Errorf("something was rolled back\n%s", p.out.String())
	}
	c.again(ref, was.claim, table)
}
