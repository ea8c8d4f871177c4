package playback

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// maxTraced is the number of runs of a session whose spans are rebuilt, the newest ones.
const maxTraced = 100

// Span is a span of a recorded run, as traces have it.
type Span struct {
	Name         string         `json:"name"`
	SpanID       string         `json:"span_id"`
	TraceID      string         `json:"trace_id"`
	ParentSpanID *string        `json:"parent_span_id"`
	StartTime    int64          `json:"start_time"` // in nanoseconds since 1970
	EndTime      int64          `json:"end_time"`
	Attributes   map[string]any `json:"attributes"`
}

// The names of attributes, as in package telemetry.
const (
	operationName = "gen_ai.operation.name"
	agentName     = "gen_ai.agent.name"
	eventID       = "gcp.vertex.agent.event_id"
)

// Spans rebuilds the spans of the recorded runs of a session that are not known, in the order in which they began, each as
// JSON, with or without what models and tools were sent and have answered. Runs without a recording have none. A recording
// has how long a call took; it ended when its event was made.
func (s *Service) Spans(ctx context.Context, key session.Key, content bool, known map[string]bool) ([]json.RawMessage, error) {
	spans, err := s.rebuild(ctx, key, content, known)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(spans, func(a, b *Span) int { return cmp.Compare(a.StartTime, b.StartTime) })
	list := make([]json.RawMessage, len(spans))
	for i, one := range spans {
		if list[i], err = json.Marshal(one); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *Service) rebuild(ctx context.Context, key session.Key, content bool, known map[string]bool) (spans []*Span, err error) {
	if s.Store.Recordings == nil {
		return nil, nil
	}
	runs, _, err := s.Store.ListRuns(ctx, key, session.Page{Size: maxTraced})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	runs = slices.DeleteFunc(runs, func(r *session.Run) bool { return !r.Status.Ended() || r.First == 0 || known[r.ID] })
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if s.Recorder != nil {
		s.Recorder.Flush(ctx)
	}
	all, err := s.Store.Get(ctx, key, session.Read{Damaged: true})
	if errors.Is(err, session.ErrNotFound) {
		return spans, nil
	}
	if err != nil {
		return nil, err
	}
	for _, row := range runs {
		list, err := s.Store.Recordings.Recordings(ctx, key, row.ID)
		if err != nil {
			return nil, err
		}
		of, err := originalOf(all, row)
		if err != nil || len(list) != row.Attempt {
			continue // what is missing would look as if it had not happened
		}
		t := &tracer{of: of, content: content, refs: references{of: of}}
		if t.run(list) {
			spans = append(spans, t.spans...)
		}
	}
	return spans, nil
}

// tracer rebuilds the spans of one run.
type tracer struct {
	of      *original
	content bool
	refs    references
	client  []replay.Declaration // the tools of the client
	spans   []*Span
}

// run adds the spans of all processes that worked on the run. It reports whether the recordings could be read.
func (t *tracer) run(list []*session.Recording) bool {
	row := t.of.run
	began := row.Created
	for n, one := range list {
		r, err := read(one)
		if err != nil {
			return false
		}
		t.client = r.Tools
		root := t.add(nil, "invocation", began, began, map[string]any{
			"gen_ai.conversation.id": row.Key.ID, "parley.app": row.Key.App, "parley.run.status": string(row.Status), "parley.recorded": true,
		})
		if n > 0 {
			root.Attributes["parley.run.attempt"] = one.Attempt
		}
		agents := map[string]*Span{} // the current one of each branch
		last := began
		for i, s := range r.Steps {
			if t.refs.resolve(r.Steps[:i], s) != nil {
				continue // it was not stored before another process took over
			}
			start, end, id := t.when(s, last)
			last = end
			at := agents[s.Branch]
			if at == nil || at.Attributes[agentName] != s.Agent {
				at = t.add(root, "invoke_agent "+s.Agent, start, end, map[string]any{operationName: "invoke_agent", agentName: s.Agent})
				agents[s.Branch] = at
			}
			t.step(at, s, start, end, id)
			at.StartTime, at.EndTime = min(at.StartTime, start.UnixNano()), max(at.EndTime, end.UnixNano())
			root.StartTime, root.EndTime = min(root.StartTime, at.StartTime), max(root.EndTime, at.EndTime)
		}
		if n == len(list)-1 && !row.Ended.IsZero() {
			root.EndTime = max(root.EndTime, row.Ended.UnixNano())
		}
		began = last
	}
	return true
}

// when returns the times of a step and the id of its event. The event of a model's answer and of a tool's result is made
// when the call ends. A call without an event, such as one of an agent that is used as a tool, follows the one before it.
func (t *tracer) when(s *storedStep, last time.Time) (start, end time.Time, id string) {
	took := time.Duration(s.Milliseconds * float64(time.Millisecond))
	var ev *event.Event
	if s.Event != "" {
		ev, _ = t.refs.event(s.Event)
	} else if s.Call != "" {
		i := slices.IndexFunc(t.of.events, func(ev *event.Event) bool {
			return slices.ContainsFunc(ev.FunctionResponses(), func(r *event.FunctionResponse) bool { return r.ID == s.Call })
		})
		if i >= 0 {
			ev = t.of.events[i]
		}
	}
	if ev == nil {
		return last, last.Add(took), ""
	}
	end = time.UnixMicro(int64(ev.Timestamp * 1e6))
	return end.Add(-took), end, ev.ID
}

// step adds the span of a call.
func (t *tracer) step(parent *Span, s *storedStep, start, end time.Time, id string) {
	attributes := map[string]any{agentName: s.Agent}
	if id != "" {
		attributes[eventID] = id
	}
	if s.Error != "" {
		attributes["error.type"], attributes["parley.error"] = cmp.Or(s.ErrorCode, "error"), s.Error
	}
	if s.Kind == replay.ToolCall {
		attributes[operationName], attributes["gen_ai.tool.name"], attributes["gen_ai.tool.call.id"] = "execute_tool", s.Name, s.Call
		if s.Pending {
			attributes["parley.waiting"] = true
		}
		t.say(attributes, "gcp.vertex.agent.tool_call_args", s.Args)
		t.say(attributes, "gcp.vertex.agent.tool_response", s.Output)
		t.add(parent, "execute_tool "+s.Name, start, end, attributes)
		return
	}
	attributes[operationName], attributes["gen_ai.request.model"] = "generate_content", s.Name
	if s.FirstMilliseconds > 0 {
		attributes["parley.model.first_token_seconds"] = s.FirstMilliseconds / 1000
	}
	if s.Retries > 0 {
		attributes["parley.model.retries"] = s.Retries
	}
	if id == "" {
		attributes[eventID] = "" // ADK's developer UI drops all spans if one of these has none
	}
	if resp, err := responseOf(&s.Step); err == nil {
		attributes["gen_ai.response.model"] = cmp.Or(resp.ModelVersion, s.Name)
		if resp.FinishReason != "" {
			attributes["gen_ai.response.finish_reasons"] = []string{strings.ToLower(resp.FinishReason)}
		}
		if u := resp.Usage; u != nil {
			attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"] = u.Prompt, u.Candidates+u.Thoughts
			if u.CachedContent > 0 {
				attributes["gen_ai.usage.cache_read.input_tokens"] = u.CachedContent
			}
		}
	}
	request, origins := t.request(s)
	t.say(attributes, "gcp.vertex.agent.llm_request", request)
	t.say(attributes, "parley.request_origins", origins)
	t.say(attributes, "gcp.vertex.agent.llm_response", s.Output)
	t.add(parent, "generate_content "+s.Name, start, end, attributes)
}

func (t *tracer) say(attributes map[string]any, name string, doc json.RawMessage) {
	if t.content && len(doc) > 0 {
		attributes[name] = string(doc)
	}
}

// add adds a span. Its id follows from its place, so that a client that asks again finds it again.
func (t *tracer) add(parent *Span, name string, start, end time.Time, attributes map[string]any) *Span {
	id := func(text string, bytes int) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:bytes])
	}
	attributes["gcp.vertex.agent.invocation_id"], attributes["gcp.vertex.agent.session_id"] = t.of.run.ID, t.of.run.Key.ID
	one := &Span{
		Name: name, SpanID: id("span "+strconv.Itoa(len(t.spans))+" "+t.of.run.ID, 8), TraceID: id("trace "+t.of.run.ID, 16),
		StartTime: start.UnixNano(), EndTime: max(end.UnixNano(), start.UnixNano()), Attributes: attributes,
	}
	if parent != nil {
		one.ParentSpanID = &parent.SpanID
	}
	t.spans = append(t.spans, one)
	return one
}
