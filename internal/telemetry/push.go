package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/registry"
)

// push exports the metrics over OTLP periodically, in addition to serving /metrics.
// It costs little, because both use the same counters.
func (t *Telemetry) push(ctx context.Context, o *observe.Options, about *resource.Resource) error {
	export, ok := registry.Find[NewMetricExporter]("")
	if !ok {
		return observe.ErrUnlinked
	}
	exporter, err := export(ctx)
	if err != nil {
		return fmt.Errorf("export metrics: %w", err)
	}
	reader := sdkmetric.NewPeriodicReader(&loggingMetrics{Exporter: exporter, failureLog: failureLog{log: o.Log}},
		sdkmetric.WithProducer(conventional{bridge.NewMetricProducer(bridge.WithGatherer(t.metrics.registry))}))
	t.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(about))
	return nil
}

// loggingMetrics logs failed exports of metrics.
type loggingMetrics struct {
	sdkmetric.Exporter
	failureLog
}

func (l *loggingMetrics) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	if err := l.Exporter.Export(ctx, all); err != nil {
		l.failed("metrics", len(all.ScopeMetrics), err)
	}
	return nil
}

// failureLog logs a repeated failure at intervals.
type failureLog struct {
	log  *slog.Logger
	last atomic.Int64
}

// failureLogInterval is the minimum interval between two log lines.
const failureLogInterval = time.Minute

func (l *failureLog) failed(what string, count int, err error) {
	now := time.Now().UnixNano()
	if last := l.last.Load(); (last == 0 || now-last > int64(failureLogInterval)) && l.last.CompareAndSwap(last, now) {
		l.log.Warn("could not export telemetry", "what", what, "count", count, "err", err)
	}
}

// conventional renames metrics to OpenTelemetry's conventions, which Prometheus
// cannot spell.
type conventional struct{ sdkmetric.Producer }

var conventions = map[string]struct{ name, unit string }{
	"http_server_request_duration_seconds":     {"http.server.request.duration", "s"},
	"http_server_active_requests":              {"http.server.active_requests", "{request}"},
	"gen_ai_client_operation_duration_seconds": {"gen_ai.client.operation.duration", "s"},
	"gen_ai_client_token_usage":                {"gen_ai.client.token.usage", "{token}"},
}

var conventionalLabels = map[attribute.Key]attribute.Key{ //nolint:gosec // tokens of a model are not secret
	"http_request_method":       "http.request.method",
	"http_route":                "http.route",
	"http_response_status_code": "http.response.status_code",
	"gen_ai_operation_name":     operationName,
	"gen_ai_request_model":      requestModel,
	"gen_ai_provider_name":      providerName,
	"gen_ai_token_type":         "gen_ai.token.type",
	"error_type":                errorType,
}

func (c conventional) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	all, err := c.Producer.Produce(ctx)
	for _, scope := range all {
		for i := range scope.Metrics {
			m := &scope.Metrics[i]
			if is, ok := conventions[m.Name]; ok {
				m.Name, m.Unit = is.name, is.unit
			}
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for k := range data.DataPoints {
					relabel(&data.DataPoints[k].Attributes)
				}
			case metricdata.Sum[float64]:
				for k := range data.DataPoints {
					relabel(&data.DataPoints[k].Attributes)
				}
			case metricdata.Gauge[float64]:
				for k := range data.DataPoints {
					relabel(&data.DataPoints[k].Attributes)
				}
			}
		}
	}
	return all, err
}

// relabel renames labels, and omits empty ones.
func relabel(set *attribute.Set) {
	labels := make([]attribute.KeyValue, 0, set.Len())
	for _, l := range set.ToSlice() {
		if l.Value.AsString() == "" {
			continue
		}
		if name, ok := conventionalLabels[l.Key]; ok {
			l.Key = name
		}
		labels = append(labels, l)
	}
	*set = attribute.NewSet(labels...)
}
