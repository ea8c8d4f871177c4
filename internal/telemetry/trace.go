package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
)

// The names of attributes: OpenTelemetry's for generative AI, those that ADK's
// developer UI reads, and Parley's own.
const (
	operationName  = "gen_ai.operation.name"
	providerName   = "gen_ai.provider.name"
	systemName     = "gen_ai.system" // deprecated in favor of the one before
	agentName      = "gen_ai.agent.name"
	agentAbout     = "gen_ai.agent.description"
	conversationID = "gen_ai.conversation.id"
	requestModel   = "gen_ai.request.model"
	responseModel  = "gen_ai.response.model"
	finishReasons  = "gen_ai.response.finish_reasons"
	inputTokens    = "gen_ai.usage.input_tokens"            //nolint:gosec // tokens of models
	outputTokens   = "gen_ai.usage.output_tokens"           //nolint:gosec // tokens of models
	cachedTokens   = "gen_ai.usage.cache_read.input_tokens" //nolint:gosec // tokens of models
	toolName       = "gen_ai.tool.name"
	toolAbout      = "gen_ai.tool.description"
	toolType       = "gen_ai.tool.type"
	toolCallID     = "gen_ai.tool.call.id"
	errorType      = "error.type"

	eventID      = "gcp.vertex.agent.event_id"
	invocationID = "gcp.vertex.agent.invocation_id"
	sessionID    = "gcp.vertex.agent.session_id"
	llmRequest   = "gcp.vertex.agent.llm_request"
	llmResponse  = "gcp.vertex.agent.llm_response"
	toolArgs     = "gcp.vertex.agent.tool_call_args"
	toolResponse = "gcp.vertex.agent.tool_response"

	appName    = "parley.app"
	origins    = "parley.request_origins"
	attempt    = "parley.run.attempt"
	firstToken = "parley.model.first_token_seconds" //nolint:gosec // tokens of models
	retries    = "parley.model.retries"
	resumes    = "parley.run.resumes"
	runStatus  = "parley.run.status"
	isWaiting  = "parley.waiting"
	isRecorded = "parley.model.recorded"
	isOpen     = "parley.open"
	linkedTo   = "parley.linked_traces"
	statusText = "parley.error"
)

// handedOver is the status of a run that another server continues.
const handedOver = "handed_over"

// The operations.
const (
	invokeAgent     = "invoke_agent"
	generateContent = "generate_content"
	executeTool     = "execute_tool"
)

var _ observe.Telemetry = (*Telemetry)(nil)

// ownerKey is the context key of the session that spans belong to.
type ownerKey struct{}

// untraced reports whether a path is not traced: probes, and requests for traces.
func untraced(path string) bool {
	switch path {
	case "/health", "/healthz", "/readyz", "/metrics", "/":
		return true
	}
	for _, prefix := range []string{"/dev/", "/debug/", "/ui/", "/dev-ui/", "/shared/"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// Request begins the span of a request with an id, in the caller's trace.
func (t *Telemetry) Request(r *http.Request, id string) (*http.Request, server.Observed) {
	q := &request{Context: r.Context(), t: t, id: id, method: methodOf(r.Method), began: time.Now()}
	t.metrics.active.Inc()
	if t.tracer != nil && !untraced(r.URL.Path) {
		// The query is omitted, because the queries of logins contain secrets.
		q.Context, q.span = t.tracer.Start(extract(r.Context(), r.Header), q.method, trace.WithSpanKind(trace.SpanKindServer), //nolint:spancheck // Answered ends it
			trace.WithAttributes(attribute.String("http.request.method", q.method), attribute.String("url.path", r.URL.Path)))
	}
	return r.WithContext(q), q //nolint:contextcheck // q is the request's own, and more
}

// request is the context of a request, with its id.
type request struct {
	context.Context //nolint:containedctx // it is one
	t               *Telemetry
	id, method      string
	began           time.Time
	span            trace.Span // nil if it is not traced
}

// Value also returns the id.
func (q *request) Value(key any) any {
	if key == (observe.RequestKey{}) {
		return q.id
	}
	return q.Context.Value(key)
}

// Answered counts the request, and ends its span.
func (q *request) Answered(pattern string, status int) {
	q.t.metrics.active.Dec()
	q.t.metrics.answered(q.method, pattern, status, q.began)
	if q.span == nil {
		return
	}
	if route := routeOf(pattern); route != "" {
		q.span.SetName(q.method + " " + route)
		q.span.SetAttributes(attribute.String("http.route", route))
	}
	if status != 0 { // no status was sent if the client disconnected first
		q.span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	if status >= http.StatusInternalServerError {
		q.span.SetStatus(codes.Error, http.StatusText(status))
	}
	q.span.End()
}

// methodOf returns a known method, or _OTHER.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "_OTHER"
}

// routeOf returns the path of a route; empty if no route matched.
func routeOf(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		return path
	}
	return ""
}

// Mark associates a request with the session that it starts a run of, and returns
// the traceparent of its span.
func (t *Telemetry) Mark(ctx context.Context, key session.Key) string {
	if t.tracer == nil {
		return ""
	}
	if t.spans != nil {
		t.spans.adopt(trace.SpanFromContext(ctx), key)
	}
	return marshal(ctx)
}

// Work begins the span of a run, in the trace of the request that started it, even
// if another process received that request.
func (t *Telemetry) Work(ctx context.Context, w *run.Work) (context.Context, func(session.Status, *session.Failure)) {
	ctx = &working{ctx, w}
	if w.Queued > 0 {
		t.metrics.queued.Observe(w.Queued.Seconds())
	}
	if t.tracer == nil {
		return ctx, nil
	}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = parse(ctx, w.Mark)
	}
	with := []attribute.KeyValue{
		attribute.String(conversationID, w.Key.ID), attribute.String(sessionID, w.Key.ID), attribute.String(invocationID, w.Run), attribute.String(appName, w.Key.App),
	}
	options := []trace.SpanStartOption{}
	if w.Attempt > 1 {
		with = append(with, attribute.Int(attempt, w.Attempt))
	}
	if w.Resumes != "" {
		with = append(with, attribute.String(resumes, w.Resumes))
		if before, ok := t.waits.get(w.Resumes); ok {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: before}))
		}
	}
	ctx, span := t.tracer.Start(ctx, "invocation", append(options, trace.WithAttributes(with...))...) //nolint:spancheck // the worker of the run ends it
	return ctx, func(status session.Status, f *session.Failure) {                                     //nolint:spancheck // as above
		if !status.Ended() {
			status = handedOver
		}
		span.SetAttributes(attribute.String(runStatus, string(status)))
		if status != handedOver {
			t.ended.put(w.Run, span.SpanContext())
		}
		switch {
		case status == session.Waiting:
			t.waits.put(w.Run, span.SpanContext())
		case f != nil && status == session.Failed:
			span.SetAttributes(attribute.String(errorType, f.Type))
			span.SetStatus(codes.Error, f.Message)
		}
		span.End()
	}
}

// working is the context of a run, with the run and its session.
type working struct {
	context.Context //nolint:containedctx // it is one
	work            *run.Work
}

// Value also returns the run and its session.
func (w *working) Value(key any) any {
	switch key {
	case observe.RunKey{}:
		return w.work.Run
	case ownerKey{}:
		return w.work.Key
	}
	return w.Context.Value(key)
}

// Forgotten removes the spans of deleted sessions. Exported spans cannot be
// removed.
func (t *Telemetry) Forgotten(keys ...session.Key) {
	if t.spans != nil {
		t.spans.forget(keys)
	}
}

// Detailed reports whether spans contain content.
func (t *Telemetry) Detailed() bool { return t.spans != nil || t.content }

// Wants reports whether steps of a kind are recorded: those of agents appear in
// traces only.
func (t *Telemetry) Wants(kind agentrt.StepKind) bool {
	return kind != agentrt.StepAgent || t.tracer != nil
}

// Begin begins the span of a step.
func (t *Telemetry) Begin(ctx context.Context, s *agentrt.Step) context.Context {
	if t.tracer == nil {
		return ctx
	}
	kind, name := trace.SpanKindInternal, ""
	with := make([]attribute.KeyValue, 0, 10)
	with = append(with, attribute.String(agentName, s.Agent.Name()), attribute.String(conversationID, s.Session),
		attribute.String(invocationID, s.Invocation), attribute.String(sessionID, s.Session))
	switch s.Kind {
	case agentrt.StepAgent:
		name = invokeAgent + " " + s.Agent.Name()
		with = append(with, attribute.String(operationName, invokeAgent), attribute.String(agentAbout, s.Agent.Description()))
	case agentrt.StepModel:
		kind, name = trace.SpanKindClient, generateContent+" "+s.Model
		with = append(with, attribute.String(operationName, generateContent), attribute.String(requestModel, s.Model),
			attribute.String(providerName, providerOf(s.Model)), attribute.String(systemName, "gcp.vertex.agent"))
	case agentrt.StepTool:
		called := s.Tool.Declaration()
		name = executeTool + " " + called.Name
		with = append(with, attribute.String(operationName, executeTool), attribute.String(toolName, called.Name),
			attribute.String(toolAbout, called.Description), attribute.String(toolType, "function"), attribute.String(toolCallID, s.CallID))
	}
	if s.Kind == agentrt.StepModel {
		ctx, s.Retries = retry.Counting(ctx)
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(s.Began), trace.WithAttributes(with...))
	s.Note = span
	if s.Kind == agentrt.StepTool {
		t.say(span, toolArgs, s.Input)
	} else {
		t.say(span, llmRequest, s.Input)
		t.say(span, origins, s.Origins)
	}
	return ctx
}

// say adds content to the span for developers, and to the exported one if that is
// enabled.
func (t *Telemetry) say(span trace.Span, name string, doc []byte) {
	if doc == nil {
		return
	}
	if t.spans != nil {
		t.spans.say(span.SpanContext().SpanID(), name, doc)
	}
	if t.content {
		span.SetAttributes(attribute.String(name, upTo(maxExported, doc)))
	}
}

// Done records the outcome of a step in its span.
func (t *Telemetry) Done(s *agentrt.Step) {
	t.metrics.step(s)
	span, ok := s.Note.(trace.Span)
	if !ok {
		return
	}
	if s.Kind == agentrt.StepTool {
		t.say(span, toolResponse, s.Output)
	} else {
		t.say(span, llmResponse, s.Output)
	}
	if s.Waiting {
		span.SetAttributes(attribute.Bool(isWaiting, true))
	}
	if !s.First.IsZero() {
		span.SetAttributes(attribute.Float64(firstToken, s.First.Sub(s.Began).Seconds()))
	}
	if s.Retries != nil && s.Retries.Load() > 0 {
		span.SetAttributes(attribute.Int64(retries, s.Retries.Load()))
	}
	if resp := s.Response; resp != nil {
		span.SetAttributes(attribute.String(responseModel, cmp.Or(resp.ModelVersion, s.Model)))
		if resp.FinishReason != "" {
			span.SetAttributes(attribute.StringSlice(finishReasons, []string{strings.ToLower(resp.FinishReason)}))
		}
		if s.Recorded {
			span.SetAttributes(attribute.Bool(isRecorded, true)) // readers add up the tokens of spans
		} else if u := resp.Usage; u != nil {
			span.SetAttributes(attribute.Int64(inputTokens, u.Prompt), attribute.Int64(outputTokens, u.Candidates+u.Thoughts))
			if u.CachedContent > 0 {
				span.SetAttributes(attribute.Int64(cachedTokens, u.CachedContent))
			}
		}
	}
	if s.ErrorType != "" {
		span.SetAttributes(attribute.String(errorType, s.ErrorType))
		span.SetStatus(codes.Error, s.Error)
	}
	if t.spans != nil {
		t.spans.ended(span.SpanContext().SpanID(), s.Ended)
	}
}

// Close ends the span of a step.
func (t *Telemetry) Close(s *agentrt.Step) {
	span, ok := s.Note.(trace.Span)
	if !ok {
		return
	}
	if s.Event != "" {
		span.SetAttributes(attribute.String(eventID, s.Event))
	}
	span.End(trace.WithTimestamp(s.Ended))
}

// providers maps prefixes of model names to OpenTelemetry's names of providers.
var providers = []struct{ prefix, provider string }{
	{"gemini", "gcp.gemini"},
	{"gemma", "gcp.gemini"},
	{"claude", "anthropic"},
	{"gpt", "openai"},
	{"o1", "openai"},
	{"o3", "openai"},
	{"o4", "openai"},
	{"mistral", "mistral_ai"},
	{"deepseek", "deepseek"},
	{"grok", "x_ai"},
	{"command", "cohere"},
}

// providerOf returns the provider of a model, as far as its name tells.
func providerOf(name string) string {
	name = strings.ToLower(name[strings.LastIndex(name, "/")+1:])
	for _, known := range providers {
		if strings.HasPrefix(name, known.prefix) {
			return known.provider
		}
	}
	return "_OTHER"
}

// waits keeps the spans of runs that wait for an answer, so that the runs that
// continue them can link to them. It evicts the oldest; their successors still have
// the attribute that names the run.
type waits struct {
	mu    sync.Mutex
	spans map[string]trace.SpanContext
	order []string
}

const maxWaits = 10_000

func (w *waits) put(id string, span trace.SpanContext) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spans == nil {
		w.spans = map[string]trace.SpanContext{}
	}
	if _, known := w.spans[id]; !known {
		w.order = append(w.order, id)
	}
	w.spans[id] = span
	for len(w.order) > maxWaits {
		delete(w.spans, w.order[0])
		w.order = w.order[1:]
	}
}

// get returns the span of a run that has waited. It stays, because a run may wait
// for several answers.
func (w *waits) get(id string) (trace.SpanContext, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	span, ok := w.spans[id]
	return span, ok
}
