//go:build linux

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Between them a port is chosen. What the system itself gives to outgoing connections lies above (Linux
// begins at 32768), so that none of these takes a port between its choice and its use.
const (
	lowestPort    = 10000
	ephemeralPort = 32000
)

// choosePort checks that both ports are free, for a clear message instead of
// one in a log. With 0 it looks for two free neighbours.
func choosePort(port int) (int, error) {
	if port != 0 {
		for _, p := range []int{port, kubeletPort(port)} {
			if err := checkFree(p); err != nil {
				return 0, &portError{Port: p, Err: err}
			}
		}
		return port, nil
	}
	for range 100 {
		port := lowestPort + 2*rand.IntN((ephemeralPort-lowestPort)/2)
		if checkFree(port) == nil && checkFree(kubeletPort(port)) == nil {
			return port, nil
		}
	}
	return 0, errors.New("looking for a free port: found no two neighbours that are free")
}

func checkFree(port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return listener.Close()
}

// portError says that a port is taken.
type portError struct {
	Port int
	Err  error
}

func (e *portError) Error() string { return fmt.Sprintf("port %d cannot be used: %v", e.Port, e.Err) }
func (e *portError) Unwrap() error { return e.Err }
func (e *portError) Hint() string {
	return "choose another with --port N (N and N+1 must be free), or --port 0 to take any"
}
