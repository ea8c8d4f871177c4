package observe_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// A program without telemetry still has the ids of requests and runs in its log, and
// nothing else: no steps are observed, no metrics, profiles or traces are served.
func TestNone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := observe.Logger(slog.New(slog.NewTextHandler(&out, nil)))
	none := observe.None()
	r, answered := none.Request(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "request-1")
	ctx, ended := none.Work(r.Context(), &run.Work{Run: "run-1"})
	log.InfoContext(ctx, "said")
	if line := out.String(); !strings.Contains(line, "request_id=request-1 run_id=run-1") || strings.Contains(line, "trace_id") {
		t.Errorf("logged %s", line)
	}
	answered.Answered("GET /", http.StatusOK)
	if ended != nil {
		t.Error("it wants to know how a run ends")
	}
	for kind := range agentrt.StepKind(16) {
		if none.Wants(kind) {
			t.Errorf("it wants steps of the kind %v", kind)
		}
	}
	if none.Detailed() || none.Metrics() != nil || none.Profiles() != nil || none.Traces() != nil || none.Mark(ctx, session.Key{}) != "" {
		t.Error("it records something")
	}
	var step agentrt.Step
	if none.Begin(ctx, &step) != ctx {
		t.Error("a step has another context")
	}
	none.Stream()()
	none.Watch(func() observe.Levels { t.Error("it measures"); return observe.Levels{} })
	none.Shutdown(context.Background())
}
