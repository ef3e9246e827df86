package main

import (
	"errors"
	"fmt"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// shown is how times are told to people.
const shown = "Mon 2006-01-02 15:04 -07:00"

// judge denies outside the window, and says when it opens.
func judge(r sdk.Request) sdk.Response {
	w, err := readWindow(r)
	if err != nil {
		return sdk.Fail(err)
	}
	if r.Time.IsZero() {
		return sdk.Fail(errors.New("the request has no time, so that no window can be judged"))
	}
	open, because := w.open(r.Time)
	if open {
		return r.Allow()
	}
	f := sdk.Finding{Severity: sdk.SeverityDeny}
	now := r.Time.In(w.zone).Format(shown)
	if because != nil {
		f.Message = fmt.Sprintf("no changes at %s: the window is closed until %s", now, because.To.In(w.zone).Format(shown))
		if because.Reason != "" {
			f.Message += " (" + because.Reason + ")"
		}
	} else {
		f.Message = fmt.Sprintf("no changes at %s: the window is %s", now, w)
	}
	f.Remedy = "add an exception with action allow"
	if next, ok := w.next(r.Time); ok {
		f.Remedy = fmt.Sprintf("run it again from %s on, or %s", next.Format(shown), f.Remedy)
	}
	if because != nil {
		f.Remedy += ", and end the one that denies before it"
	}
	res := r.Allow()
	res.Find(f)
	return res
}
