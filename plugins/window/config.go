package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

// config is the window as it is written.
type config struct {
	Days       []string    `json:"days"` // mon to sun; nil means each
	From       string      `json:"from"` // HH:MM, included
	To         string      `json:"to"`   // HH:MM, excluded; before From it is of the next day
	Timezone   string      `json:"timezone"`
	Exceptions []exception `json:"exceptions"`
}

// exception is a span of time in which the days and hours do not count.
type exception struct {
	From   time.Time `json:"from"` // included
	To     time.Time `json:"to"`   // excluded
	Action string    `json:"action"`
	Reason string    `json:"reason"`
}

const (
	actionAllow = "allow"
	actionDeny  = "deny"
)

// readWindow returns the window of the request's configuration. There is no default: a window that
// nobody set would be open always or never.
func readWindow(r sdk.Request) (window, error) {
	var c config
	if err := r.DecodeConfig(&c); err != nil {
		return window{}, err
	}
	if c.From == "" || c.To == "" {
		return window{}, errors.New("the window has no hours: set from and to, such as \"22:00\" and \"04:00\"")
	}
	var w window
	var err error
	if w.from, err = parseClock(c.From); err != nil {
		return w, fmt.Errorf("from: %w", err)
	}
	if w.to, err = parseClock(c.To); err != nil {
		return w, fmt.Errorf("to: %w", err)
	}
	switch {
	case w.from == wholeDay:
		return w, errors.New("from: no hour of a day begins at 24:00, write 00:00")
	case w.from == w.to:
		return w, fmt.Errorf("from and to are both %s, so that the window is never open; a whole day is 00:00 to 24:00", c.From)
	case w.to == 0:
		w.to = wholeDay
	}
	if w.zone, err = parseZone(c.Timezone); err != nil {
		return w, err
	}
	if w.days, err = parseDays(c.Days); err != nil {
		return w, err
	}
	w.exceptions = c.Exceptions
	return w, checkExceptions(c.Exceptions)
}

// wholeDay is 24:00.
const wholeDay = 24 * time.Hour

// parseClock reads HH:MM, up to 24:00.
func parseClock(s string) (time.Duration, error) {
	if s == "24:00" {
		return wholeDay, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, fmt.Errorf("%q is not a time of day from 00:00 to 24:00", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// parseZone reads an offset such as +02:00. Names of zones are refused: a plugin has no files, and
// with that no rules for when clocks change.
func parseZone(s string) (*time.Location, error) {
	if s == "" || s == "Z" {
		return time.UTC, nil
	}
	t, err := time.Parse("-07:00", s)
	if err != nil {
		return nil, fmt.Errorf("timezone %q is not an offset such as +02:00 or Z; zones by name are not known here", s)
	}
	_, seconds := t.Zone()
	if seconds < -12*3600 || seconds > 14*3600 {
		return nil, fmt.Errorf("timezone %q is nowhere: offsets are from -12:00 to +14:00", s)
	}
	return time.FixedZone(s, seconds), nil
}

// weekdays are the names of days, by time.Weekday.
func weekdays() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

func parseDays(names []string) (days [7]bool, err error) {
	if names == nil {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	if len(names) == 0 {
		return days, errors.New("days is empty, so that the window is never open; leave it out for each day")
	}
	for _, name := range names {
		i := slices.Index(weekdays(), name)
		if i < 0 {
			return days, fmt.Errorf("days: %q is not one of %s", name, strings.Join(weekdays(), ", "))
		}
		if days[i] {
			return days, fmt.Errorf("days: %s is named twice", name)
		}
		days[i] = true
	}
	return days, nil
}

// checkExceptions refuses those that can never count.
func checkExceptions(all []exception) error {
	for i, e := range all {
		switch {
		case e.From.IsZero() || e.To.IsZero():
			return fmt.Errorf("exception %d has no from or no to, such as \"2026-12-24T00:00:00Z\"", i+1)
		case !e.From.Before(e.To):
			return fmt.Errorf("exception %d ends at %s, not after it begins, so that it never counts", i+1, e.To.Format(time.RFC3339))
		case e.Action != actionAllow && e.Action != actionDeny:
			return fmt.Errorf("exception %d: action %q is neither allow nor deny", i+1, e.Action)
		}
	}
	for i, e := range all {
		if e.Action != actionAllow {
			continue
		}
		for k, d := range all {
			if d.Action == actionDeny && !e.From.Before(d.From) && !e.To.After(d.To) {
				return fmt.Errorf("exception %d allows only what exception %d denies, so that it never counts", i+1, k+1)
			}
		}
	}
	return nil
}
