package chaos_test

import (
	"strings"
	"testing"

	"github.com/zarf-host/zarf-host/host/internal/testcluster"
)

// TestAnotherCommandAfterAKill kills the program in the middle of one operation and runs another one: who
// comes after need not know, or want, what was begun. It must end as it does on an undisturbed cluster.
func TestAnotherCommandAfterAKill(t *testing.T) {
	cluster := testcluster.Shared(t)
	table := &scores{}
	ends := map[string]picture{}
	references := map[string]reference{}
	for _, op := range operations() {
		ref := undisturbed(t, cluster, op)
		references[op.name], ends[op.name] = ref, ref.end
	}
	prune := "--prune=cluster-resources"
	followers := []struct {
		name string
		args func(c *cell) []string
		end  picture
	}{
		{"the version before", func(c *cell) []string { return []string{"deploy", c.v1, "--confirm", prune} }, ends["deploy"]},
		{"the next version", func(c *cell) []string { return []string{"deploy", c.v2, "--confirm", prune} }, ends["prune"]},
		{"a removal", func(c *cell) []string { return []string{"remove", c.name, "--confirm"} }, ends["remove"]},
	}
	turn := 0
	for _, killed := range []string{"upgrade", "prune", "remove"} {
		ref := references[killed]
		for _, then := range followers {
			turn++
			for i, n := range choose(t, "kill", ref.count(), 2) {
				before := (i+turn)%2 == 0
				t.Run(killed+"-"+ref.at(n)+"/"+then.name, func(t *testing.T) {
					t.Parallel()
					defer table.enter(t, ref.name, then.name+" after a kill")
					c := newCell(t, cluster)
					ref.prepare(c)
					claim := c.picture().claim
					c.kill(ref, n, before)
					mid := c.picture()
					p := c.run(then.args(c)...)
					gone := strings.Contains(p.out.String(), "is not deployed") && len(mid.events) == 0
					if p.code != 0 && !gone {
						t.Fatalf("it ended with %d\n%s\nbefore it:\n%s", p.code, p.out.String(), strings.Join(mid.lines, "\n"))
					}
					end := c.picture()
					if then.name == "a removal" { // Helm leaves the Jobs of hooks, here one of either version
						for i, line := range end.lines {
							end.lines[i] = strings.ReplaceAll(line, "migrate:2.0.0", "migrate:1.0.0")
						}
					}
					end.same(c, then.end)
					// A removal that came as far as the claim took it by right.
					if killed != "remove" && end.claim != "" && end.claim != claim {
						t.Errorf("the claim %s is another one now: its data is lost", claim)
					}
				})
			}
		}
	}
	t.Cleanup(func() { t.Log(table) })
}
