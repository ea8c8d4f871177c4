// Package observe is what the server knows of traces and metrics. Package
// internal/telemetry records them, in programs that import package telemetry; in
// others, only log lines have the ids of requests and runs.
package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/parley-run/parley/internal/inbox"
	"github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/server"
)

// New creates a Telemetry that records traces and metrics. Package telemetry registers
// it.
type New func(ctx context.Context, o Options) (Telemetry, error)

// ErrUnlinked means that a program cannot export what the environment asks for.
var ErrUnlinked = registry.Missing("the environment asks for traces or metrics to be exported, which", "otlp")

// Options configures telemetry.
type Options struct {
	// Getenv looks up environment variables. OpenTelemetry's exporter also reads
	// its own variables from the environment of the process.
	Getenv func(name string) string
	// Endpoint is where spans are exported to; empty means what the environment
	// says.
	Endpoint string
	// Content also exports the content of messages, model requests and tool calls.
	Content bool
	// Keep keeps spans for developers.
	Keep bool
	// Version of the program.
	Version string
	Log     *slog.Logger
}

// Telemetry records what a server does.
type Telemetry interface {
	run.Observer
	server.Observer
	schedule.Observer
	outbox.Observer
	inbox.Observer
	// Watch registers a function that is called for every scrape of the metrics.
	Watch(look func() Levels)
	// Metrics is the handler of /metrics, Profiles that of /debug/pprof/; nil if there
	// are none.
	Metrics() http.Handler
	Profiles() http.Handler
	// Traces are the spans kept for developers; nil if they are not kept.
	Traces() server.Traces
	// Shutdown exports the remaining spans and metrics until ctx is done.
	Shutdown(ctx context.Context)
}

// Levels are values that are read on demand, rather than counted.
type Levels struct {
	// Running is the number of runs of this process, Queued that of queued runs in the store.
	Running int
	Queued  func(context.Context) (int64, error)
	// Followed is the number of runs on other servers that clients read here, Unfollowed how often such a server could
	// not be reached, or was lost.
	Followed   int
	Unfollowed int64
	// FreeScheduled is how many more runs of schedules this process would start now.
	FreeScheduled int
	// Deliveries returns how many notifications were not accepted yet, and how many were given up; nil if the server
	// sends none.
	Deliveries func(context.Context) (pending, failed int64, err error)
	// Engines are those of applications in TypeScript.
	Engines []link.Engines
}

// Exports reports whether the environment asks to export a signal, TRACES or
// METRICS.
func (o *Options) Exports(signal string) (bool, error) {
	if IsTrue(o.Getenv("OTEL_SDK_DISABLED")) {
		return false, nil
	}
	variable := "OTEL_" + signal + "_EXPORTER"
	switch kind := o.Getenv(variable); {
	case kind == "", kind == "otlp":
	case kind == "none", kind == "prometheus" && signal == "METRICS": // served at /metrics
		return false, nil
	default:
		return false, fmt.Errorf("the environment variable %s is %q: it may be otlp, or none", variable, kind)
	}
	own := "OTEL_EXPORTER_OTLP_" + signal
	if o.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && o.Getenv(own+"_ENDPOINT") == "" {
		return false, nil
	}
	for _, name := range []string{own + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if kind := o.Getenv(name); kind == "http/protobuf" {
			break
		} else if kind != "" {
			return false, fmt.Errorf("the environment variable %s is %q: exports are made with http/protobuf only, which collectors take on port 4318", name, kind)
		}
	}
	return true, nil
}

// IsTrue reports whether an environment variable is set to a true value.
func IsTrue(text string) bool {
	is, err := strconv.ParseBool(text)
	return err == nil && is
}
