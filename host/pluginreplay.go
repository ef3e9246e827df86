package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/host/recording"
	"github.com/zarf-host/zarf-host/host/wasm"
)

// Replayed is a recorded call that was asked again.
type Replayed struct {
	Call string `json:"call"` // its folder
	// Verdict is what the plugin says now, Fuel what it takes for that.
	Verdict string `json:"verdict"`
	Fuel    uint64 `json:"fuel"`
	// Differences are what is not as it was recorded; empty where all is.
	Differences []string `json:"differences,omitempty"`
}

// ReplayPlugins asks again what a recording holds, without a cluster: the same module, request and answers
// give the same bytes and the same fuel. The modules are those of the recording, or the given one in the
// place of all.
func ReplayPlugins(ctx context.Context, dir string, module *PluginModule, o PluginOptions) ([]Replayed, error) {
	folders, err := recording.Find(dir)
	if err != nil {
		return nil, err
	}
	players := map[string]*player{}
	defer func() {
		for _, p := range players {
			p.close(ctx)
		}
	}()
	var out []Replayed
	for _, folder := range folders {
		call, err := recording.Read(folder)
		if err != nil {
			return out, err
		}
		if call.Plugin == nil {
			return out, fmt.Errorf("%q is no recorded call: its call.json names no plugin; try it with `zarf-host plugin test`", folder)
		}
		p := players[call.Plugin.Digest]
		if p == nil {
			if p, err = replayer(folder, call, module, o); err != nil {
				return out, err
			}
			players[call.Plugin.Digest] = p
		}
		now, err := p.play(ctx, call, true)
		if err != nil {
			return out, fmt.Errorf("replaying %q: %w", folder, err)
		}
		r := Replayed{Call: folder, Verdict: now.verdict(), Fuel: now.result.Fuel}
		if r.Differences, err = differences(call, now, p); err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func replayer(folder string, call recording.Call, module *PluginModule, o PluginOptions) (*player, error) {
	if module != nil {
		return newPlayer(*module, o), nil
	}
	bytes, err := recording.Module(folder, call.Plugin.Digest)
	if errors.Is(err, recording.ErrNoModule) {
		return nil, fmt.Errorf("%w of plugin %q: name it with --plugin", err, call.Plugin.Name)
	}
	if err != nil {
		return nil, err
	}
	return newPlayer(PluginModule{Source: call.Plugin.Name, Bytes: bytes}, o), nil
}

// differences holds what a plugin says now against what it said.
func differences(then recording.Call, now said, p *player) ([]string, error) {
	var out []string
	differs := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	info, err := p.info()
	if err != nil {
		return nil, err
	}
	if info.Digest != then.Plugin.Digest {
		differs("the module is %s %s (%s), recorded was %s %s (%s)",
			info.Name, info.Version, info.Digest, then.Plugin.Name, then.Plugin.Version, then.Plugin.Digest)
	}
	if then.Hidden {
		differs("it was shown configuration or Secrets, which no recording holds: it cannot be asked the same again")
	}
	if now.strayed != nil {
		differs("%v", now.strayed)
	}
	switch {
	case now.kind != then.Error && then.Error == "":
		differs("it fails now: %v", now.failed)
	case now.kind != then.Error && now.kind == "":
		differs("it answers now, recorded was a failure of kind %s", then.Error)
	case now.kind != then.Error:
		differs("it fails with kind %s, recorded was %s", now.kind, then.Error)
	case now.failed == nil && !recording.Same(now.result.Output, then.Response):
		differs("it answers other bytes: %s", changed(then.Response, now.result.Output))
	}
	// How far it got before it was stopped by a clock is no property of the plugin.
	if now.kind != string(wasm.KindDeadline) && now.result.Fuel != then.Fuel {
		differs("it takes %d fuel, recorded are %d", now.result.Fuel, then.Fuel)
	}
	return out, nil
}

// changed shows where two texts part.
func changed(then, now []byte) string {
	at := 0
	for at < len(then) && at < len(now) && then[at] == now[at] {
		at++
	}
	excerpt := func(text []byte) string {
		const around = 40
		from, to := max(0, at-around/2), min(len(text), at+around)
		return string(text[min(from, to):to])
	}
	return fmt.Sprintf("%q, recorded are %q, from byte %d", excerpt(now), excerpt(then), at)
}
