package parley

import (
	"context"
	"os"
	"time"

	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/registry"
)

// flushTime is how long the last spans may take to be exported.
const flushTime = 2 * time.Second

// telemetry returns what records traces and metrics as the settings ask for it.
func (c *Config) telemetry(ctx context.Context) (observe.Telemetry, error) {
	o := observe.Options{
		Getenv:   os.Getenv, //nolint:forbidigo // OpenTelemetry's own settings
		Endpoint: c.Telemetry.endpoint, Content: c.Telemetry.Content, Keep: c.UI.Enabled, Version: Version(), Log: c.Log,
	}
	if record, ok := registry.Find[observe.New](""); ok {
		return record(ctx, o)
	}
	if c.Telemetry.Content {
		return nil, inField("Telemetry.Content", registry.Missing("the export of traces", "otlp"))
	}
	if c.Network.AdminAddr != "" {
		return nil, inField("Network.AdminAddr", registry.Missing("the recorder of metrics", "telemetry"))
	}
	for _, signal := range []string{"TRACES", "METRICS"} {
		if exports, err := o.Exports(signal); err != nil {
			return nil, err
		} else if exports {
			return nil, observe.ErrUnlinked
		}
	}
	return observe.None(), nil
}

// levels are looked up for each request of the metrics.
func (s *Server) levels() observe.Levels {
	now := observe.Levels{Running: s.engine.Running(), Queued: s.store.CountQueued, FreeScheduled: s.scheduler.Free()}
	now.Followed, now.Unfollowed = s.engine.Mirrored()
	if s.outbox != nil {
		now.Deliveries = s.store.Outbox.CountDeliveries
	}
	if found := s.apps.found; found != nil {
		now.Engines = found.Engines()
	}
	return now
}
