// Package otlp lets a program export traces and metrics over OTLP, if the
// environment variables of OpenTelemetry ask for it. Import it for its side effect:
//
//	import _ "github.com/parley-run/parley/otlp"
package otlp

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/telemetry"
	_ "github.com/parley-run/parley/telemetry" // records what is exported
)

func init() {
	registry.Register[telemetry.NewSpanExporter]("", spans)
	registry.Register[telemetry.NewMetricExporter]("", metrics)
}

func spans(ctx context.Context, endpoint string) (sdktrace.SpanExporter, error) {
	var where []otlptracehttp.Option
	if endpoint != "" {
		where = append(where, otlptracehttp.WithEndpointURL(endpoint))
	}
	return otlptracehttp.New(ctx, where...)
}

func metrics(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetrichttp.New(ctx) }
