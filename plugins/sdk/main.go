package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Main answers the request on stdin with what answer returns, and ends the program.
func Main(answer func(Request) Response) {
	if err := Run(os.Stdin, os.Stdout, answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Run is Main for tests: it reads one request and writes one response, or nothing and an error.
func Run(in io.Reader, out io.Writer, answer func(Request) Response) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	var r Request
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	if r.APIVersion != APIVersion {
		return fmt.Errorf("the request has apiVersion %q, this plugin speaks %q", r.APIVersion, APIVersion)
	}
	res := answer(r)
	if res.err != nil {
		return res.err
	}
	doc, err := json.Marshal(res)
	if err != nil {
		return fmt.Errorf("writing the response: %w", err)
	}
	if _, err := out.Write(append(doc, '\n')); err != nil {
		return fmt.Errorf("writing the response: %w", err)
	}
	return nil
}
