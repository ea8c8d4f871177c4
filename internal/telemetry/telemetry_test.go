package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/traceparent"
	"github.com/parley-run/parley/session"
)

// environment is New with variables.
func environment(t *testing.T, vars map[string]string) (*Telemetry, error) {
	t.Helper()
	tel, err := New(t.Context(), observe.Options{Getenv: func(name string) string { return vars[name] }, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Cleanup(func() { tel.Shutdown(context.Background()) })
	}
	return tel, err
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	const to, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for name, tt := range map[string]struct {
		vars    map[string]string
		exports bool
		err     string
	}{
		"nothing":              {nil, false, ""},
		"an endpoint":          {map[string]string{to: "http://127.0.0.1:9"}, true, ""},
		"for traces":           {map[string]string{traces: "http://127.0.0.1:9/v1/traces"}, true, ""},
		"switched off":         {map[string]string{to: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"exporter is none":     {map[string]string{to: "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"another exporter":     {map[string]string{to: "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER is "zipkin"`},
		"another protocol":     {map[string]string{to: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`},
		"the protocol of some": {map[string]string{to: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf", "OTEL_METRICS_EXPORTER": "prometheus"}, true, ""},
		"a sampler":            {map[string]string{to: "http://127.0.0.1:9", "OTEL_TRACES_SAMPLER": "always_off"}, true, ""},
		"a bad sampler":        {map[string]string{to: "http://127.0.0.1:9", "OTEL_TRACES_SAMPLER": "sometimes"}, false, `OTEL_TRACES_SAMPLER is "sometimes"`},
		"a bad ratio":          {map[string]string{to: "http://127.0.0.1:9", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}, false, `OTEL_TRACES_SAMPLER_ARG is "2"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel, err := environment(t, tt.vars)
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want …%s…", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			case (tel.tracer != nil) != tt.exports:
				t.Errorf("it exports: %t", tel.tracer != nil)
			}
		})
	}
}

func TestSamplers(t *testing.T) {
	t.Parallel()
	parent := func(sampled bool) context.Context {
		flags := trace.TraceFlags(0).WithSampled(sampled)
		return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: true}))
	}
	for name, want := range map[string][3]bool{ // without a parent, and with those
		"":                                       {true, false, true},
		"always_on":                              {true, true, true},
		"always_off":                             {false, false, false},
		"traceidratio 0":                         {false, false, false},
		"parentbased_always_on":                  {true, false, true},
		"parentbased_always_off":                 {false, false, true},
		"parentbased_traceidratio 0.00000000001": {false, false, true},
	} {
		kind, arg, _ := strings.Cut(name, " ")
		sampler, err := samplerOf(func(name string) string {
			return map[string]string{"OTEL_TRACES_SAMPLER": kind, "OTEL_TRACES_SAMPLER_ARG": arg}[name]
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, ctx := range []context.Context{context.Background(), parent(false), parent(true)} {
			p := sdktrace.SamplingParameters{ParentContext: ctx, TraceID: trace.TraceID{8: 0xff}}
			if got := sampler.ShouldSample(p).Decision == sdktrace.RecordAndSample; got != want[i] {
				t.Errorf("%q, case %d: %t", name, i, got)
			}
			// Developers see all of them.
			if (recordAll{sampler}).ShouldSample(p).Decision == sdktrace.Drop {
				t.Errorf("%q, case %d: dropped", name, i)
			}
		}
	}
}

// Tracing costs nothing when it is off.
func TestNothingIsTraced(t *testing.T) {
	t.Parallel()
	tel, err := environment(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/run", nil)
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	same, request := tel.Request(r, "r-1")
	request.Answered("POST /run", http.StatusOK)
	if trace.SpanContextFromContext(same.Context()).IsValid() {
		t.Error("a request has a span")
	}
	within, finished := tel.Work(ctx, &run.Work{Key: session.Key{App: "a", User: "u", ID: "s"}})
	if trace.SpanContextFromContext(within).IsValid() || finished != nil || tel.Detailed() || tel.Mark(ctx, session.Key{}) != "" || tel.Traces() != nil {
		t.Error("something is kept")
	}
}

// Traces for developers only do not mark the traces of callers as not sampled.
func TestLocalTracesAreNotExported(t *testing.T) {
	t.Parallel()
	const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"
	key := session.Key{App: "a", User: "u", ID: "s"}
	for name, tt := range map[string]struct{ from, flags string }{
		"no caller": {"", ""}, "sampled": {caller + "1", "-01"}, "not sampled": {caller + "0", "-00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel := open(t, 100, 1<<20)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/run", nil)
			if tt.from != "" {
				r.Header.Set("Traceparent", tt.from)
			}
			r, _ = tel.Request(r, "r-1")
			began := trace.SpanContextFromContext(r.Context()).TraceID()
			mark := tel.Mark(r.Context(), key)
			for where, ctx := range map[string]context.Context{"at once": r.Context(), "later": t.Context()} {
				within, finished := tel.Work(ctx, &run.Work{Key: key, Run: "e-1", Mark: mark})
				defer finished(session.Completed, nil)
				if now := trace.SpanContextFromContext(within).TraceID(); !began.IsValid() || now != began {
					t.Errorf("%s: the run is in the trace %s, and was asked for in %s", where, now, began)
				}
				called := traceparent.Stamp(httptest.NewRequestWithContext(within, http.MethodGet, "/", nil))
				if got := called.Header.Get("Traceparent"); (got == "") != (tt.flags == "") || !strings.HasSuffix(got, tt.flags) {
					t.Errorf("%s: others are told %q", where, got)
				}
			}
		})
	}
}

// The server that tells others of a run continues its trace, also if another one has worked on it.
func TestNotificationsContinueTraces(t *testing.T) {
	t.Parallel()
	const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	worker, sender := open(t, 100, 1<<20), open(t, 100, 1<<20)
	key := session.Key{App: "a", User: "u", ID: "s"}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/run", nil)
	r.Header.Set("Traceparent", caller)
	r, _ = worker.Request(r, "r-1")
	within, finished := worker.Work(r.Context(), &run.Work{Key: key, Run: "e-1"})
	mark := worker.Mark(within, key)
	finished(session.Completed, nil)
	for name, tt := range map[string]struct {
		by   *Telemetry
		mark string
		want bool
	}{"the worker": {worker, "", true}, "another server": {sender, mark, true}, "no trace": {sender, "", false}, "a damaged one": {sender, "00-xyz", false}} {
		ctx, ended := tt.by.Sending(t.Context(), "webhook", "e-1", tt.mark)
		called := traceparent.Stamp(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)).Header.Get("Traceparent")
		ended("sent")
		if strings.Contains(called, "4bf92f3577b34da6a3ce929d0e0e4736") != tt.want {
			t.Errorf("%s: receivers are told %q", name, called)
		}
	}
}
