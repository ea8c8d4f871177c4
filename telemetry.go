package parley

import (
	"os"
	"time"

	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/telemetry"
)

// flushTime is how long the last spans may take to be exported.
const flushTime = 2 * time.Second

// telemetry is what the settings ask for.
func (c *Config) telemetry() telemetry.Options {
	return telemetry.Options{
		Getenv:   os.Getenv, //nolint:forbidigo // OpenTelemetry's own settings
		Endpoint: c.Telemetry.endpoint, Content: c.Telemetry.Content, Keep: c.UI.Enabled, Version: Version(), Log: c.Log,
	}
}

// traces are those that developers may look at; nil for none.
func (s *Server) traces() server.Traces {
	if spans := s.telemetry.Spans(); spans != nil {
		return spans
	}
	return nil
}

// levels are looked up for each request of the metrics.
func (s *Server) levels() telemetry.Levels {
	now := telemetry.Levels{Running: s.engine.Running(), Queued: s.store.CountQueued}
	if found := s.apps.found; found != nil {
		for _, e := range found.Engines() {
			now.Engines = append(now.Engines, telemetry.Engines{App: e.App, Count: e.Count, Restarts: e.Restarts, MemoryLimit: e.MemoryLimit})
		}
	}
	return now
}
