package render

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/zarf-host/zarf-host/host/event"
)

// Logger is an event.Sink that logs. Levels map one to one.
type Logger struct{ Log *slog.Logger }

// Emit logs the event.
func (l Logger) Emit(e event.Event) {
	level := slog.LevelInfo
	switch e.Level {
	case event.Debug:
		level = slog.LevelDebug
	case event.Warn:
		level = slog.LevelWarn
	}
	var attrs []slog.Attr
	if e.Component != "" {
		attrs = append(attrs, slog.String("component", e.Component))
	}
	if e.Release != "" {
		attrs = append(attrs, slog.String("release", e.Release))
	}
	l.Log.LogAttrs(context.Background(), level, fmt.Sprintf("%s: %s", e.Step, e.Message), attrs...)
}
