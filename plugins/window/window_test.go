package main

import (
	"strings"
	"testing"
	"time"

	"github.com/zarf-host/zarf-host/host/hook"
	"github.com/zarf-host/zarf-host/plugins/internal/plugintest"
)

// 2026-12-01 is a Tuesday.
func TestJudge(t *testing.T) {
	day := map[string]any{"from": "08:00", "to": "17:00"}
	night := map[string]any{"days": []any{"tue"}, "from": "22:00", "to": "04:00"}
	east := map[string]any{"days": []any{"wed"}, "from": "00:00", "to": "06:00", "timezone": "+02:00"}
	freeze := map[string]any{"from": "00:00", "to": "24:00", "exceptions": []any{
		map[string]any{"from": "2026-12-20T00:00:00Z", "to": "2027-01-03T00:00:00Z", "action": "deny", "reason": "holidays"},
	}}
	opened := map[string]any{"days": []any{"mon"}, "from": "08:00", "to": "17:00", "exceptions": []any{
		map[string]any{"from": "2026-12-01T10:00:00Z", "to": "2026-12-01T12:00:00Z", "action": "allow"},
		map[string]any{"from": "2026-12-01T11:00:00Z", "to": "2026-12-01T11:30:00Z", "action": "deny"},
	}}
	tests := map[string]struct {
		config  map[string]any
		at      string
		message string // part of the finding; empty means allowed
		remedy  string
	}{
		"first moment":             {day, "2026-12-01T08:00:00Z", "", ""},
		"before":                   {day, "2026-12-01T07:59:59Z", "the window is each day 08:00 to 17:00 (+00:00)", "from Tue 2026-12-01 08:00 +00:00 on"},
		"last moment":              {day, "2026-12-01T16:59:59.999Z", "", ""},
		"after":                    {day, "2026-12-01T17:00:00Z", "no changes at Tue 2026-12-01 17:00", "from Wed 2026-12-02 08:00 +00:00 on"},
		"night":                    {night, "2026-12-01T23:00:00Z", "", ""},
		"night, after midnight":    {night, "2026-12-02T03:59:00Z", "", ""},
		"night, over":              {night, "2026-12-02T04:00:00Z", "the window is tue 22:00 to 04:00", "from Tue 2026-12-08 22:00"},
		"night before is not it":   {night, "2026-12-01T03:00:00Z", "the window is tue", "from Tue 2026-12-01 22:00"},
		"the zone's day":           {east, "2026-12-01T23:00:00Z", "", ""},
		"the zone's day is over":   {east, "2026-12-02T04:00:00Z", "no changes at Wed 2026-12-02 06:00 +02:00", "from Wed 2026-12-09 00:00 +02:00"},
		"a request of another one": {east, "2026-12-02T01:00:00+02:00", "", ""},
		"freeze":                   {freeze, "2026-12-24T12:00:00Z", "closed until Sun 2027-01-03 00:00 +00:00 (holidays)", "from Sun 2027-01-03 00:00"},
		"before the freeze":        {freeze, "2026-12-19T23:59:59Z", "", ""},
		"after the freeze":         {freeze, "2027-01-03T00:00:00Z", "", ""},
		"opened":                   {opened, "2026-12-01T10:30:00Z", "", ""},
		"opened, then denied":      {opened, "2026-12-01T11:15:00Z", "closed until Tue 2026-12-01 11:30", "from Tue 2026-12-01 11:30"},
		"not yet opened":           {opened, "2026-12-01T09:00:00Z", "the window is mon", "from Tue 2026-12-01 10:00"},
		"midnight ends a day":      {map[string]any{"days": []any{"tue"}, "from": "20:00", "to": "00:00"}, "2026-12-02T00:00:00Z", "20:00 to 24:00", "from Tue 2026-12-08 20:00"},
	}
	for name, tt := range tests {
		for _, point := range []hook.Name{hook.PreDeploy, hook.PreRemove} {
			t.Run(name+" "+string(point), func(t *testing.T) {
				at, err := time.Parse(time.RFC3339, tt.at)
				if err != nil {
					t.Fatal(err)
				}
				res := plugintest.Judge(judge).Ask(t, hook.Request{ID: "r1", Hook: point, Time: at, Config: tt.config})
				if tt.message == "" {
					if res.Verdict != hook.Allow || len(res.Findings) > 0 {
						t.Errorf("answer is %+v, wanted to be allowed", res)
					}
					return
				}
				if res.Verdict != hook.Deny || len(res.Findings) != 1 ||
					!strings.Contains(res.Findings[0].Message, tt.message) || !strings.Contains(res.Findings[0].Remedy, tt.remedy) {
					t.Errorf("answer is %+v, wanted deny with %q and %q", res, tt.message, tt.remedy)
				}
			})
		}
	}
}

func TestJudgeRefusesBadConfig(t *testing.T) {
	const span = `"from":"2026-12-01T00:00:00Z","to":"2026-12-02T00:00:00Z"`
	for config, want := range map[string]string{
		`{}`:               "no hours",
		`{"from":"08:00"}`: "no hours",
		`{"from":"08:00","to":"09:00","day":["mon"]}`:                     "unknown field",
		`{"from":"8:00","to":"09:00"}`:                                    `from: "8:00" is not a time of day`,
		`{"from":"08:00","to":"25:00"}`:                                   `to: "25:00" is not a time of day`,
		`{"from":"08:00","to":"08:00"}`:                                   "never open",
		`{"from":"24:00","to":"08:00"}`:                                   "write 00:00",
		`{"from":"08:00","to":"09:00","days":[]}`:                         "never open",
		`{"from":"08:00","to":"09:00","days":["Mon"]}`:                    `"Mon" is not one of`,
		`{"from":"08:00","to":"09:00","days":["mon","mon"]}`:              "named twice",
		`{"from":"08:00","to":"09:00","timezone":"Europe/Berlin"}`:        "not an offset",
		`{"from":"08:00","to":"09:00","timezone":"+23:00"}`:               "is nowhere",
		`{"from":"08:00","to":"09:00","exceptions":[{"action":"allow"}]}`: "no from or no to",
		`{"from":"08:00","to":"09:00","exceptions":[{` + span + `}]}`:     `action "" is neither`,
		`{"from":"08:00","to":"09:00","exceptions":[{"from":"2026-12-02T00:00:00Z","to":"2026-12-01T00:00:00Z","action":"deny"}]}`: "never counts",
		`{"from":"08:00","to":"09:00","exceptions":[{` + span + `,"action":"deny"},{` + span + `,"action":"allow"}]}`:              "exception 2 allows only what exception 1 denies",
	} {
		in := `{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","hook":"pre-deploy","time":"2026-12-01T08:30:00Z","config":` + config + `}`
		plugintest.Judge(judge).Refuses(t, in, want)
	}
	plugintest.Judge(judge).Refuses(t, `{"apiVersion":"hooks.zarf-host.dev/v1","id":"r1","hook":"pre-deploy","config":{"from":"00:00","to":"24:00"}}`, "no time")
}
