//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// controlSocket lies in the data folder and is named relative to it.
const controlSocket = "control.sock"

// restartRequest asks the supervisor to restart a component.
type restartRequest struct {
	Component string        `json:"component"`
	DownFor   time.Duration `json:"downFor"`

	answer chan error
}

type restartAnswer struct {
	Error string `json:"error,omitempty"`
}

func newRestartCmd() *cobra.Command {
	var dataDir string
	var downFor time.Duration
	cmd := &cobra.Command{
		Use:       "restart COMPONENT --data-dir DIR",
		Short:     "Restart a component of a running control plane and wait until it works",
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{etcdName, apiServerName, controllerManagerName, schedulerName, kwokName},
		RunE: func(cmd *cobra.Command, args []string) error {
			return askRestart(cmd.Context(), dataDir, restartRequest{Component: args[0], DownFor: downFor})
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "data folder of the control plane")
	cmd.Flags().DurationVar(&downFor, "down-for", 0, "how long the component stays down")
	_ = cmd.MarkFlagRequired("data-dir")
	_ = cmd.MarkFlagDirname("data-dir")
	return cmd
}

// serveControl listens in the working directory until ctx ends and hands on
// each request; whoever receives it answers it.
func serveControl(ctx context.Context, l layout) (<-chan restartRequest, error) {
	_ = os.Remove(controlSocket) // of a run that was killed; the lock is ours
	listener, err := net.Listen("unix", controlSocket)
	if err != nil {
		return nil, fmt.Errorf("listening for restarts in %s: %w", l, err)
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	requests := make(chan restartRequest)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveRequest(ctx, conn, requests)
		}
	}()
	return requests, nil
}

func serveRequest(ctx context.Context, conn net.Conn, requests chan<- restartRequest) {
	defer conn.Close()
	var request restartRequest
	if err := json.NewDecoder(conn).Decode(&request); err != nil {
		_ = json.NewEncoder(conn).Encode(restartAnswer{Error: "reading the request: " + err.Error()})
		return
	}
	request.answer = make(chan error, 1)
	var err error
	select {
	case requests <- request:
		err = <-request.answer
	case <-ctx.Done():
		err = errors.New("the control plane is stopping")
	}
	answer := restartAnswer{}
	if err != nil {
		answer.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(answer)
}

func askRestart(ctx context.Context, dataDir string, request restartRequest) error {
	if err := os.Chdir(dataDir); err != nil {
		return fmt.Errorf("entering the data folder: %w", err)
	}
	conn, err := net.Dial("unix", controlSocket)
	if err != nil {
		return fmt.Errorf("reaching the control plane of %s (does it run?): %w", dataDir, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return fmt.Errorf("asking for a restart: %w", err)
	}
	var answer restartAnswer
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return fmt.Errorf("waiting for the restart: %w", err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}
