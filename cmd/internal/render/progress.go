package render

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/zarf-host/zarf-host/host/event"
)

// Logger is an event.Sink that logs. Levels map one to one.
type Logger struct {
	Log *slog.Logger
	// Plain is whether the log is text that a terminal shows as it is.
	Plain bool
}

// Emit logs the event.
func (l Logger) Emit(e event.Event) {
	level := slog.LevelInfo
	switch e.Level {
	case event.Debug:
		level = slog.LevelDebug
	case event.Warn:
		level = slog.LevelWarn
	}
	message := fmt.Sprintf("%s: %s", e.Step, e.Message)
	if l.Plain {
		message, e.Component, e.Release = Lines(message, margin), Line(e.Component), Line(e.Release)
	}
	var attrs []slog.Attr
	if e.Component != "" {
		attrs = append(attrs, slog.String("component", e.Component))
	}
	if e.Release != "" {
		attrs = append(attrs, slog.String("release", e.Release))
	}
	l.Log.LogAttrs(context.Background(), level, message, attrs...)
}
