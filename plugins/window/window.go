package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// window is when changes are allowed: hours of days in one zone, and exceptions.
type window struct {
	days       [7]bool // by time.Weekday
	from, to   time.Duration
	zone       *time.Location
	exceptions []exception
}

// open says whether t is in the window, and if an exception decided, which. One that denies counts
// before one that allows.
func (w window) open(t time.Time) (bool, *exception) {
	for _, action := range []string{actionDeny, actionAllow} {
		for i, e := range w.exceptions {
			if e.Action == action && !t.Before(e.From) && t.Before(e.To) {
				return action == actionAllow, &w.exceptions[i]
			}
		}
	}
	return w.regular(t), nil
}

// regular is open without the exceptions. Hours after midnight belong to the day on which the window
// began: Friday 22:00 to 04:00 ends on Saturday.
func (w window) regular(t time.Time) bool {
	t = t.In(w.zone)
	today := t.Weekday()
	yesterday := (today + 6) % 7
	clock := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
		time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
	if w.from < w.to {
		return w.days[today] && w.from <= clock && clock < w.to
	}
	return w.days[today] && w.from <= clock || w.days[yesterday] && clock < w.to
}

// next returns when the window opens after t, and false if exceptions keep it closed wherever it was
// looked for.
func (w window) next(t time.Time) (time.Time, bool) {
	// It opens where its hours begin, or where an exception begins or ends.
	candidates := w.openings(t)
	for _, e := range w.exceptions {
		candidates = append(append(candidates, e.From, e.To), w.openings(e.To)...)
	}
	slices.SortFunc(candidates, time.Time.Compare)
	for _, c := range candidates {
		if open, _ := w.open(c); open && c.After(t) {
			return c.In(w.zone), true
		}
	}
	return time.Time{}, false
}

// openings are where the hours begin on the day of t and the eight that follow.
func (w window) openings(t time.Time) []time.Time {
	y, m, d := t.In(w.zone).Date()
	var out []time.Time
	for i := range 9 {
		out = append(out, time.Date(y, m, d+i, 0, 0, 0, 0, w.zone).Add(w.from))
	}
	return out
}

// String says which days and hours: "mon, tue 22:00 to 04:00 (+02:00)".
func (w window) String() string {
	var days []string
	for i := range 7 {
		if day := (i + 1) % 7; w.days[day] { // Monday first
			days = append(days, weekdays()[day])
		}
	}
	if len(days) == 7 {
		days = []string{"each day"}
	}
	return fmt.Sprintf("%s %s to %s (%s)", strings.Join(days, ", "), clockString(w.from), clockString(w.to), offset(w.zone))
}

func clockString(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
}

func offset(zone *time.Location) string { return time.Time{}.In(zone).Format("-07:00") }
