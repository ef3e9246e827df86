package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
)

// RecoveredComponent is the component that releases of a rebuilt record are recorded under whose own is
// not known. The next deployment of the package moves them to the components that bring them.
const RecoveredComponent = "recovered"

// The keys of a record's Secret.
const (
	DataKey = "data"      // Zarf's record, a Package
	OwnKey  = "zarf-host" // zarf-host's own, an Own
)

// Record is everything that is remembered of one package. Change its Package and Own through their
// transitions and keep the Record around them: it also holds what was read and not understood,
// which Encode writes back.
type Record struct {
	Package Package
	Own     Own
	// Notes say, in lower-case sentences, what Decode repaired.
	Notes []string
	// Unconfirmed are the releases that only Own names, because Zarf wrote the record last. They
	// count only when they are confirmed.
	Unconfirmed []Unconfirmed

	readData, readOwn []byte
}

// Decode reads a record. own is empty where the Secret has no such key. Blank chart entries, a
// fault of Zarf's, are dropped and noted. Errors never quote the record.
func Decode(data, own []byte) (Record, error) {
	r := Record{readData: bytes.Clone(data), readOwn: bytes.Clone(own)}
	if err := decode(data, &r.Package); err != nil {
		return Record{}, &UnreadableError{Key: DataKey, Err: err}
	}
	if r.Package.Name == "" {
		return Record{}, &UnreadableError{Key: DataKey, Err: errors.New("it names no package")}
	}
	if len(own) > 0 {
		if err := decode(own, &r.Own); err != nil {
			return Record{}, &UnreadableError{Key: OwnKey, Err: err}
		}
		if r.Own.APIVersion != OwnVersion {
			return Record{}, &VersionError{Found: r.Own.APIVersion}
		}
	}
	if named := slices.DeleteFunc(slices.Clone(r.Package.DeployedComponents), func(c Component) bool { return c.Name == "" }); len(named) < len(r.Package.DeployedComponents) {
		r.Notes = append(r.Notes, fmt.Sprintf("dropped %d components without a name from the record", len(r.Package.DeployedComponents)-len(named)))
		r.Package.DeployedComponents = named
	}
	for i, c := range r.Package.DeployedComponents {
		charts := slices.DeleteFunc(slices.Clone(c.InstalledCharts), func(chart Chart) bool { return chart.Name == "" })
		if blank := len(c.InstalledCharts) - len(charts); blank > 0 {
			r.Package.DeployedComponents[i].InstalledCharts = charts
			r.Notes = append(r.Notes, fmt.Sprintf("component %q: dropped %d blank chart entries from the record", c.Name, blank))
		}
	}
	return r, nil
}

// Encode returns the values of both keys; own is nil while there is nothing to write. What Decode
// read and did not understand is in them again: unknown fields of the record, of its components and
// of its charts always, unknown fields deeper down as long as what they belong to did not change.
func (r Record) Encode() (data, own []byte, err error) {
	for spare := 0; ; spare++ {
		data, own, err = r.spared(spare).encode(spare)
		if err != nil || len(data)+len(own) <= MaxSize || spare == spareEvents {
			return data, own, err
		}
	}
}

func (r Record) encode(spare int) (data, own []byte, err error) {
	data, err = json.Marshal(r.Package)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the record of package %q: %w", r.Package.Name, withoutContents(err))
	}
	if data, err = graftPackage(data, r.readData); err != nil {
		return nil, nil, fmt.Errorf("writing the record of package %q: %w", r.Package.Name, err)
	}
	kept := r.Own.copies(r.Package)
	if spare >= spareCopy {
		kept.DeployConfig = nil
	}
	if kept.IsZero() && len(r.readOwn) == 0 {
		return data, nil, nil
	}
	if own, err = r.encodeOwn(kept); err != nil {
		return nil, nil, fmt.Errorf("writing key %q of package %q: %w", OwnKey, r.Package.Name, err)
	}
	return data, own, nil
}

// What is spared where a record does not fit into a Secret, the least of use first.
const (
	spareCopy   = 1 + iota // the copy of the configuration, which is history and nothing more
	spareOldest            // events but for the latest and the last success
	spareEvents            // of a removal, all of them: it makes the record smaller, and must not fail on it
)

// spared returns the record less what is spared of it.
func (r Record) spared(spare int) Record {
	events := r.Package.Events
	if spare >= spareOldest && len(events) > 0 {
		last := lastSuccessfulDeploy(events)
		r.Package.Events = nil
		for i, e := range events {
			if i == last || i == len(events)-1 {
				r.Package.Events = append(r.Package.Events, e)
			}
		}
	}
	if spare >= spareEvents && len(events) > 0 && events[len(events)-1].Type == Remove {
		r.Package.Events, r.Own.Events, r.Own.DeployConfig = nil, nil, nil
		if len(r.readOwn) == 0 {
			r.Own = Own{} // it comes as soon as there is room, with the first component that is gone
		}
		r.Package.DeployedComponents = slices.Clone(r.Package.DeployedComponents)
		for i := range r.Package.DeployedComponents {
			r.Package.DeployedComponents[i].LastEvent = ComponentEvent{}
		}
	}
	return r
}

func (r Record) encodeOwn(kept Own) ([]byte, error) {
	kept.APIVersion = OwnVersion
	own, err := json.Marshal(kept)
	if err != nil {
		return nil, withoutContents(err)
	}
	return graftOwn(own, r.readOwn)
}

// LogValue keeps a record that is logged from showing its configuration.
func (r Record) LogValue() slog.Value { return r.Package.LogValue() }

// Format prints which record it is and nothing of what is in it, whatever the verb.
func (r Record) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "Record(%s)", r.Package.Name) }

// UnreadableError says that a key of a record's Secret cannot be read. It never quotes the key.
type UnreadableError struct {
	Key string // DataKey or OwnKey
	Err error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("reading key %q: %v", e.Key, e.Err) }
func (e *UnreadableError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *UnreadableError) Hint() string {
	if e.Key == OwnKey {
		return fmt.Sprintf("save the Secret and take the key %q out of it: the record then counts as one of Zarf's, without configuration, kept objects and pushed images", OwnKey)
	}
	return "save the Secret and delete it: zarf-host state rebuild NAME then makes the record up from the releases in the cluster"
}

// VersionError says that zarf-host's own key is of a format that this program does not know.
type VersionError struct {
	Found string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("reading key %q: its format is %q, and only %q is known", OwnKey, e.Found, OwnVersion)
}

// Hint says what to do about it.
func (e *VersionError) Hint() string {
	return "a newer zarf-host wrote this record; use that version or a later one"
}

// decode reads exactly one JSON object and its numbers as they are written.
func decode(data []byte, into any) error {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return errors.New("it is not a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return readable(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its JSON object")
	}
	return nil
}

// readable is the cause of a decoding error, without the value that it trips over.
func readable(err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON from byte %d on", syntax.Offset)
	case errors.As(err, &mismatch):
		return withoutContents(err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("its JSON ends too early")
	default:
		return err
	}
}
