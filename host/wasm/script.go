package wasm

import (
	"context"
	"fmt"
	"sync"

	"github.com/zarf-host/zarf-host/host/hook"
)

// Script is a Host that answers from a recording. It is for one call of a plugin.
type Script struct {
	mu       sync.Mutex
	recorded *hook.Script
	off      error
}

// NewScript answers what was recorded, in its order.
func NewScript(exchanges []hook.Exchange) *Script {
	return &Script{recorded: hook.NewScript(exchanges)}
}

// Answer answers one request, with an error where the plugin leaves the recording.
func (s *Script) Answer(_ context.Context, request []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.recorded.Reply(request)
	if err != nil && s.off == nil {
		s.off = err
	}
	return answer, err
}

// Strayed says where the plugin left the recording, be it that it asked less; nil if it did not.
func (s *Script) Strayed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.recorded.Left(); s.off == nil && left > 0 {
		return fmt.Errorf("the plugin did not ask for the last %d of the recorded answers", left)
	}
	return s.off
}
