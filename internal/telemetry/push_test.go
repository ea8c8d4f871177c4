package telemetry

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	collected "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metric "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/model"
)

// A backend gets the metrics under the names of the conventions, when the server
// ends at the latest.
func TestMetricsArePushed(t *testing.T) {
	var mu sync.Mutex
	got := map[string]*metric.Metric{}
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unzipped, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unzipped
		}
		doc, err := io.ReadAll(body)
		var sent collected.ExportMetricsServiceRequest
		if err != nil || proto.Unmarshal(doc, &sent) != nil {
			t.Errorf("the backend cannot read this: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, from := range sent.GetResourceMetrics() {
			for _, scope := range from.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					got[m.GetName()] = m
				}
			}
		}
	}))
	defer backend.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", backend.URL+"/v1/metrics")
	tel, err := New(t.Context(), observe.Options{Getenv: os.Getenv, Version: "1.2.3", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	tel.metrics.step(&agentrt.Step{
		Kind: agentrt.StepModel, App: "weather", Model: "gemini-x", Began: now.Add(-time.Second), Ended: now,
		Response: &model.Response{Usage: &event.Usage{Prompt: 40, Candidates: 2}},
	})
	tel.metrics.answered(http.MethodPost, "POST /run", http.StatusOK, now)
	tel.Shutdown(context.Background())

	mu.Lock()
	defer mu.Unlock()
	for name, want := range map[string]struct {
		unit   string
		labels map[string]string
	}{
		"gen_ai.client.operation.duration": {"s", map[string]string{"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini-x", "gen_ai.provider.name": "gcp.gemini"}},
		"http.server.request.duration":     {"s", map[string]string{"http.request.method": "POST", "http.route": "/run", "http.response.status_code": "200"}},
	} {
		points := got[name].GetHistogram().GetDataPoints()
		if len(points) != 1 || got[name].GetUnit() != want.unit || points[0].GetCount() != 1 {
			t.Errorf("%s is %v", name, got[name])
			continue
		}
		labels := map[string]string{}
		for _, l := range points[0].GetAttributes() {
			labels[l.GetKey()] = l.GetValue().GetStringValue()
		}
		for key, value := range want.labels {
			if labels[key] != value {
				t.Errorf("%s: %s is %q, want %q", name, key, labels[key], value)
			}
		}
		if len(labels) != len(want.labels) {
			t.Errorf("%s has %v", name, labels)
		}
	}
	if points := got["gen_ai.client.token.usage"].GetHistogram().GetDataPoints(); len(points) != 2 {
		t.Errorf("tokens are %v", points)
	}
	if got["parley_build_info"] == nil {
		t.Error("what has no convention is missing")
	}
}
