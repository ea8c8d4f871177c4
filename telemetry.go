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
		Endpoint: c.spansTo, Content: c.TraceContent, Keep: c.WebUI, Version: Version(), Log: c.Log,
	}
}

// traces are those that developers may look at; nil for none.
func (s *Server) traces() server.Traces {
	if spans := s.telemetry.Spans(); spans != nil {
		return spans
	}
	return nil
}
