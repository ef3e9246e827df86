package render

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/zarf-host/zarf-host/host"
)

// Replayed writes what came of recorded calls, a line each, with what differs below.
func Replayed(w io.Writer, calls []host.Replayed) error {
	for _, c := range calls {
		state := "same"
		if len(c.Differences) > 0 {
			state = "differs"
		}
		if err := played(w, state, c.Call, c.Verdict, c.Fuel, 0, c.Differences); err != nil {
			return err
		}
	}
	return nil
}

// Tested writes what came of a plugin's tests, a line each, with what is wrong below.
func Tested(w io.Writer, tests []host.Tested) error {
	for _, t := range tests {
		state := "ok"
		switch {
		case len(t.Problems) > 0:
			state = "FAIL"
		case t.Updated:
			state = "updated"
		}
		if err := played(w, state, t.Call, t.Verdict, t.Fuel, t.MaxFuel, t.Problems); err != nil {
			return err
		}
	}
	return nil
}

// played writes one call. A ceiling of 0 is none.
func played(w io.Writer, state, call, verdict string, fuel, ceiling uint64, faults []string) error {
	of := ""
	if ceiling > 0 {
		of = fmt.Sprintf(" of %d", ceiling)
	}
	_, err := fmt.Fprintf(w, "%-8s%s: %s, %d%s fuel\n", state, Line(call), Line(verdict), fuel, of)
	for _, fault := range faults {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %s\n", Line(fault))
		}
	}
	return err
}

// Compared writes what two modules make of the same requests as a table, with what changes below each.
func Compared(w io.Writer, calls []host.Compared) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "CALL\tOLD\tNEW\tOLD FUEL\tNEW FUEL\tCHANGE")
	for _, c := range calls {
		change := "none"
		switch {
		case len(c.Changes) > 0:
			change = c.Changes[0]
		case c.Wording:
			change = "wording alone"
		}
		row(t, c.Call, c.Old, c.New, strconv.FormatUint(c.OldFuel, 10), strconv.FormatUint(c.NewFuel, 10), change)
		for _, more := range c.Changes[min(1, len(c.Changes)):] {
			row(t, "", "", "", "", "", more)
		}
	}
	return t.Flush()
}
