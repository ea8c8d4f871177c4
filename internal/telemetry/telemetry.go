// Package telemetry records traces and metrics, and adds their ids to log lines. It is the only package that imports
// OpenTelemetry's SDK and Prometheus; the others call it through small interfaces of their own.
//
// There are two kinds of traces. Those for an observability backend are exported over OTLP if the standard environment
// variables name one; they contain no content of messages unless it is enabled. Those for developers are kept in memory
// for a while, with all content; see Spans. Neither contains secrets.
package telemetry

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/server"
)

// NewSpanExporter returns an exporter over OTLP to an endpoint; empty means that of
// the environment. Package otlp registers it.
type NewSpanExporter func(ctx context.Context, endpoint string) (sdktrace.SpanExporter, error)

// NewMetricExporter is the same for metrics.
type NewMetricExporter func(ctx context.Context) (sdkmetric.Exporter, error)

// Telemetry records requests, runs, agents, models and tools.
type Telemetry struct {
	tracer   trace.Tracer // nil if tracing is off
	provider *sdktrace.TracerProvider
	spans    *Spans // nil unless they are kept
	content  bool   // content is exported
	waits    waits
	ended    waits // those of runs that have ended or wait, for notifications
	metrics  *metrics
	meters   *sdkmetric.MeterProvider // nil unless metrics are pushed
}

// New creates a Telemetry. The caller must shut it down.
func New(ctx context.Context, o observe.Options) (*Telemetry, error) {
	t := &Telemetry{metrics: newMetrics(o.Version), content: o.Content || observe.IsTrue(o.Getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"))}
	exports, err := o.Exports("TRACES")
	if err != nil {
		return nil, err
	}
	pushes, err := o.Exports("METRICS")
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "parley"), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exports = exports || o.Endpoint != ""
	t.content = t.content && exports
	if exports || o.Keep {
		if err := t.trace(ctx, &o, about, exports); err != nil {
			return nil, err
		}
	}
	if pushes {
		if err := t.push(ctx, &o, about); err != nil {
			t.Shutdown(ctx)
			return nil, err
		}
	}
	return t, nil
}

// trace sets up spans for a backend, for developers, or for both.
func (t *Telemetry) trace(ctx context.Context, o *observe.Options, about *resource.Resource, exports bool) (err error) {
	var sampler sdktrace.Sampler = locally{sdktrace.ParentBased(sdktrace.NeverSample())}
	var options []sdktrace.TracerProviderOption
	if exports {
		if sampler, err = samplerOf(o.Getenv); err != nil {
			return err
		}
		export, ok := registry.Find[NewSpanExporter]("")
		if !ok {
			return observe.ErrUnlinked
		}
		exporter, err := export(ctx, o.Endpoint)
		if err != nil {
			return fmt.Errorf("export spans: %w", err)
		}
		options = append(options, sdktrace.WithBatcher(&loggingSpans{SpanExporter: exporter, failureLog: failureLog{log: o.Log}}))
	}
	if o.Keep {
		t.spans = newSpans(maxSpans, maxBytes)
		sampler = recordAll{sampler}
		options = append(options, sdktrace.WithSpanProcessor(t.spans))
	}
	t.provider = sdktrace.NewTracerProvider(append(options, sdktrace.WithSampler(sampler), sdktrace.WithResource(about))...)
	t.tracer = t.provider.Tracer("github.com/parley-run/parley")
	return nil
}

// Shutdown exports the remaining spans and metrics until ctx is done. Those that
// cannot be exported are lost; the error was logged.
func (t *Telemetry) Shutdown(ctx context.Context) {
	if t.provider != nil {
		_ = t.provider.Shutdown(ctx)
	}
	if t.meters != nil {
		_ = t.meters.Shutdown(ctx)
	}
}

// Traces returns the spans kept for developers; nil if they are not kept.
func (t *Telemetry) Traces() server.Traces {
	if t.spans == nil {
		return nil
	}
	return t.spans
}

// samplerOf returns the sampler that the environment asks for. By default, the
// caller decides, and traces without a sampled caller are all exported.
func samplerOf(getenv func(string) string) (sdktrace.Sampler, error) {
	const variable = "OTEL_TRACES_SAMPLER"
	name := getenv(variable)
	kind, byParent := strings.CutPrefix(name, "parentbased_")
	var root sdktrace.Sampler
	switch kind {
	case "":
		if name != "" {
			return nil, fmt.Errorf("the environment variable %s is %q, which is not a sampler", variable, name)
		}
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	case "always_on":
		root = sdktrace.AlwaysSample()
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		ratio := 1.0
		if arg := getenv(variable + "_ARG"); arg != "" {
			var err error
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || ratio < 0 || ratio > 1 {
				return nil, fmt.Errorf("the environment variable %s_ARG is %q, which is not a number from 0 to 1", variable, arg)
			}
		}
		root = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, fmt.Errorf("the environment variable %s is %q: it may be always_on, always_off or traceidratio, or parentbased_ and one of those", variable, name)
	}
	if byParent {
		return sdktrace.ParentBased(root), nil
	}
	return root, nil
}

// locally marks traces that begin here, so that they are not propagated to the
// services that are called.
type locally struct{ sdktrace.Sampler }

func (s locally) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := s.Sampler.ShouldSample(p)
	if !trace.SpanContextFromContext(p.ParentContext).IsValid() {
		result.Tracestate = local
	}
	return result
}

// recordAll records for developers what another sampler drops, without exporting
// it.
type recordAll struct{ sdktrace.Sampler }

func (s recordAll) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := s.Sampler.ShouldSample(p)
	if result.Decision == sdktrace.Drop {
		result.Decision = sdktrace.RecordOnly
	}
	return result
}

// loggingSpans logs failed exports of spans.
type loggingSpans struct {
	sdktrace.SpanExporter
	failureLog
}

func (l *loggingSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := l.SpanExporter.ExportSpans(ctx, spans); err != nil {
		l.failed("spans", len(spans), err)
	}
	return nil
}
