package source

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Fetch writes what a web server has at an address to out, going on where a connection breaks. Nothing
// vouches for what it was: the caller compares a checksum, if there is one. Where it fails, what it
// wrote is of no use.
func Fetch(ctx context.Context, address string, o Options, out io.Writer) error {
	o = o.withDefaults()
	if scheme := schemeOf(address); scheme != "http" && scheme != "https" {
		return &FetchError{URL: Clean(address), Err: fmt.Errorf("unknown scheme %q: files are fetched from https:// addresses", scheme)}
	}
	w, err := dialWeb(address, o)
	var unsupported *UnsupportedError
	if errors.As(err, &unsupported) {
		return &FetchError{URL: unsupported.Ref, Err: fmt.Errorf("%s: %s", unsupported.Reason, unsupported.hint)}
	}
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // nothing is under way
	body, err := w.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read from
	if _, err := io.Copy(out, body); err != nil {
		return fetchError(address, err)
	}
	return nil
}
