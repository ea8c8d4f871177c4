package parley

import (
	"context"
	"time"

	"github.com/parley-run/parley/session"
)

// SetGrace changes how long a shutdown waits for runs.
func SetGrace(d time.Duration) { grace = d }

// ExportTo has spans exported to a collector, whatever the environment says.
func (c Config) ExportTo(url string) Config {
	c.Telemetry.endpoint = url
	return c
}

// AgentEnviron is what agents see of an environment.
func (c Config) AgentEnviron(environ []string) []string { return c.agentEnviron(environ) }

// FlushRecordings waits until what was recorded is stored.
func (s *Server) FlushRecordings(ctx context.Context) { s.recorder.Flush(ctx) }

// StoredRecordings returns recordings as they are stored.
func (s *Server) StoredRecordings(ctx context.Context, key session.Key, run string) ([]*session.Recording, error) {
	return s.store.Recordings.Recordings(ctx, key, run)
}

// ForgetRecordings makes the server one that has recorded nothing.
func (s *Server) ForgetRecordings() { s.replays.Recorder, s.replays.Store.Recordings = nil, nil }
