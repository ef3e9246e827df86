package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/host/recording"
)

// Compared is what two modules make of one request.
type Compared struct {
	Call string `json:"call"` // its folder or file
	Old  string `json:"old"`
	New  string `json:"new"`
	// OldFuel and NewFuel are what each takes.
	OldFuel uint64 `json:"oldFuel"`
	NewFuel uint64 `json:"newFuel"`
	// Changes are what would come out otherwise: the verdict, what is kept, verdicts on collisions.
	Changes []string `json:"changes,omitempty"`
	// Wording is true where only what the findings say differs.
	Wording bool `json:"wording,omitempty"`
}

// DiffPlugins asks two modules the same, without a cluster: what would change if one took the other's
// place. Each of requests is a call's folder, a folder of such, or the file of a request.
func DiffPlugins(ctx context.Context, before, after PluginModule, requests []string, o PluginOptions) ([]Compared, error) {
	was, is := newPlayer(before, o), newPlayer(after, o)
	defer was.close(ctx)
	defer is.close(ctx)
	var out []Compared
	for _, path := range requests {
		calls, err := readCalls(path)
		if err != nil {
			return out, err
		}
		for _, c := range calls {
			compared, err := compare(ctx, c, was, is)
			if err != nil {
				return out, fmt.Errorf("comparing with %q: %w", c.path, err)
			}
			out = append(out, compared)
		}
	}
	return out, nil
}

type callAt struct {
	path string
	recording.Call
}

// readCalls reads the calls that a path stands for.
func readCalls(path string) ([]callAt, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("looking for requests: %w", err)
	}
	if !info.IsDir() {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading a request: %w", err)
		}
		if _, err := hook.ParseRequest(data); err != nil {
			return nil, fmt.Errorf("reading %q: %w", path, err)
		}
		return []callAt{{path, recording.Call{Request: data}}}, nil
	}
	folders, err := recording.Find(path)
	if err != nil {
		return nil, err
	}
	var out []callAt
	for _, folder := range folders {
		c, err := recording.Read(folder)
		if err != nil {
			return nil, err
		}
		out = append(out, callAt{folder, c})
	}
	return out, nil
}

func compare(ctx context.Context, c callAt, was, is *player) (Compared, error) {
	old, err := was.play(ctx, c.Call, false)
	if err != nil {
		return Compared{}, err
	}
	now, err := is.play(ctx, c.Call, false)
	if err != nil {
		return Compared{}, err
	}
	out := Compared{Call: c.path, Old: old.verdict(), New: now.verdict(), OldFuel: old.result.Fuel, NewFuel: now.result.Fuel}
	if out.Old != out.New {
		out.Changes = append(out.Changes, fmt.Sprintf("verdict: %s -> %s", out.Old, out.New))
	}
	before, after := old.result.Response, now.result.Response
	out.Changes = append(out.Changes, changes("keep", kept(before.Keep), kept(after.Keep))...)
	out.Changes = append(out.Changes, changes("collision", judgedBy(before.Collisions), judgedBy(after.Collisions))...)
	if now.strayed != nil && old.strayed == nil {
		out.Changes = append(out.Changes, "host calls: "+now.strayed.Error())
	}
	out.Wording = len(out.Changes) == 0 && !sameJSON(before.Findings, after.Findings)
	return out, nil
}

// kept are the things that are kept, whatever the reason.
func kept(keep []hook.Keep) []string {
	var out []string
	for _, k := range keep {
		out = append(out, k.Target())
	}
	return out
}

// judgedBy are the verdicts on collisions, whatever their words.
func judgedBy(answers []hook.CollisionAnswer) []string {
	var out []string
	for _, a := range answers {
		out = append(out, a.ID+" "+string(a.Verdict))
	}
	return out
}

// changes are what two lists do not share, whatever their order.
func changes(what string, before, after []string) []string {
	count := map[string]int{}
	for _, b := range before {
		count[b]--
	}
	for _, a := range after {
		count[a]++
	}
	var out []string
	for _, item := range append(before, after...) {
		switch n := count[item]; {
		case n < 0:
			out = append(out, fmt.Sprintf("%s: %s no more", what, item))
		case n > 0:
			out = append(out, fmt.Sprintf("%s: %s is new", what, item))
		}
		count[item] = 0
	}
	return out
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a) // plain fields always marshal
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
