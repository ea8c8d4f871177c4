package telemetry

import (
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-run/parley/session"
)

// Limits of what is kept for developers.
const (
	maxSpans   = 10_000
	maxBytes   = 64 << 20
	maxContent = 4 << 20 // of one attribute
)

// maxExported bounds the content that is exported in one attribute: backends accept requests of a few megabytes, with
// many spans in them.
const maxExported = 256 << 10

// upTo returns a JSON document or, if it is too long, a replacement.
func upTo(most int, doc []byte) string {
	if len(doc) > most {
		return fmt.Sprintf(`{"omitted":"%d bytes, which is too much to keep"}`, len(doc))
	}
	return string(doc)
}

// Spans keeps the latest spans of sessions for developers, including open ones, with the content of messages. It evicts
// the oldest when there are too many, or they are too large.
type Spans struct {
	most, mostBytes int

	mu    sync.Mutex
	byID  map[trace.SpanID]*list.Element
	order *list.List // of *kept, oldest first
	bytes int
}

// kept is a span with what only developers see of it.
type kept struct {
	span    sdktrace.ReadOnlySpan // grows while it is open
	of      session.Key
	content map[string]string
	ended   time.Time // earlier than that of the span, which waits for its event
	size    int
}

func newSpans(most, mostBytes int) *Spans {
	return &Spans{most: most, mostBytes: mostBytes, byID: map[trace.SpanID]*list.Element{}, order: list.New()}
}

// OnStart keeps a span of a session.
func (s *Spans) OnStart(parent context.Context, span sdktrace.ReadWriteSpan) {
	if key, ok := parent.Value(ownerKey{}).(session.Key); ok {
		s.add(span, key)
	}
}

// OnEnd records the final state of a span.
func (s *Spans) OnEnd(span sdktrace.ReadOnlySpan) {
	s.change(span.SpanContext().SpanID(), func(k *kept) { k.span = span })
}

// Shutdown does nothing: spans can be read as long as there is a server.
func (*Spans) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing.
func (*Spans) ForceFlush(context.Context) error { return nil }

// adopt stores a span whose session was unknown when it began.
func (s *Spans) adopt(span trace.Span, key session.Key) {
	if readable, ok := span.(sdktrace.ReadOnlySpan); ok {
		s.add(readable, key)
	}
}

func (s *Spans) add(span sdktrace.ReadOnlySpan, key session.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := span.SpanContext().SpanID()
	if s.byID[id] != nil {
		return
	}
	k := &kept{span: span, of: key}
	s.byID[id] = s.order.PushBack(k)
	s.weigh(k)
}

// say adds a JSON document to the content of a span.
func (s *Spans) say(id trace.SpanID, name string, doc []byte) {
	text := upTo(maxContent, doc)
	s.change(id, func(k *kept) {
		if k.content == nil {
			k.content = map[string]string{}
		}
		k.content[name] = text
	})
}

// ended records the end of the operation of a span.
func (s *Spans) ended(id trace.SpanID, at time.Time) {
	s.change(id, func(k *kept) { k.ended = at })
}

func (s *Spans) change(id trace.SpanID, how func(*kept)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byID[id]
	if at == nil {
		return
	}
	k, _ := at.Value.(*kept)
	how(k)
	s.weigh(k)
}

// overhead is the approximate size of a span and of an attribute without their texts.
const overhead = 64

// weigh updates the size of a span and evicts others if necessary. s.mu must be held.
func (s *Spans) weigh(k *kept) {
	size := 8*overhead + len(k.span.Name())
	for _, a := range k.span.Attributes() {
		size += overhead + len(a.Key) + len(a.Value.String())
	}
	for name, text := range k.content {
		size += overhead + len(name) + len(text)
	}
	s.bytes += size - k.size
	k.size = size
	for s.order.Len() > s.most || s.bytes > s.mostBytes {
		oldest := s.order.Front()
		if oldest == nil {
			return
		}
		s.remove(oldest)
	}
}

// remove deletes a span. s.mu must be held.
func (s *Spans) remove(at *list.Element) {
	gone, _ := s.order.Remove(at).(*kept)
	delete(s.byID, gone.span.SpanContext().SpanID())
	s.bytes -= gone.size
}

// forget deletes the spans of sessions.
func (s *Spans) forget(keys []session.Key) {
	gone := make(map[session.Key]bool, len(keys))
	for _, key := range keys {
		gone[key] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := s.order.Front(); at != nil; {
		next := at.Next()
		if k, _ := at.Value.(*kept); gone[k.of] {
			s.remove(at)
		}
		at = next
	}
}

// Session returns the spans of a session as a JSON list, in the order in which they began, with or without the content
// of messages. visible selects applications and users.
func (s *Spans) Session(id string, content bool, visible func(app, user string) bool) []byte {
	found := s.find(content, func(k *kept) bool { return k.of.ID == id && visible(k.of.App, k.of.User) })
	slices.SortStableFunc(found, func(a, b *view) int { return cmp.Compare(a.StartTime, b.StartTime) })
	doc, err := json.Marshal(found)
	if err != nil { // an attribute that is not a valid number
		return []byte("[]")
	}
	return doc
}

// Event returns the attributes of the span that led to an event as JSON; nil if none is known. Of several tools, it is
// the last.
func (s *Spans) Event(id string, visible func(app, user string) bool) []byte {
	found := s.find(true, func(k *kept) bool {
		if !visible(k.of.App, k.of.User) {
			return false
		}
		for _, a := range k.span.Attributes() {
			if a.Key == eventID {
				return a.Value.AsString() == id
			}
		}
		return false
	})
	if len(found) == 0 {
		return nil
	}
	last := found[len(found)-1]
	last.Attributes["trace_id"], last.Attributes["span_id"] = last.TraceID, last.SpanID
	doc, err := json.Marshal(last.Attributes)
	if err != nil {
		return nil
	}
	return doc
}

func (s *Spans) find(content bool, wanted func(*kept) bool) []*view {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []*view{}
	now := time.Now()
	for at := s.order.Front(); at != nil; at = at.Next() {
		if k, _ := at.Value.(*kept); wanted(k) {
			found = append(found, k.view(content, now))
		}
	}
	return found
}

// view is a span as developers see it.
type view struct {
	Name         string         `json:"name"`
	SpanID       string         `json:"span_id"`
	TraceID      string         `json:"trace_id"`
	ParentSpanID *string        `json:"parent_span_id"`
	StartTime    int64          `json:"start_time"` // in nanoseconds since 1970
	EndTime      int64          `json:"end_time"`
	Attributes   map[string]any `json:"attributes"`
}

func (k *kept) view(content bool, now time.Time) *view {
	at, end := k.span.SpanContext(), k.span.EndTime()
	v := &view{
		Name: k.span.Name(), SpanID: at.SpanID().String(), TraceID: at.TraceID().String(),
		StartTime: k.span.StartTime().UnixNano(), Attributes: map[string]any{},
	}
	if parent := k.span.Parent(); parent.HasSpanID() {
		id := parent.SpanID().String()
		v.ParentSpanID = &id
	}
	for _, a := range k.span.Attributes() {
		v.Attributes[string(a.Key)] = a.Value.AsInterface()
	}
	for name, text := range k.content {
		if content {
			v.Attributes[name] = text
		} else {
			delete(v.Attributes, name) // the exported one may be shorter
		}
	}
	if end.IsZero() {
		end = k.ended
	}
	if end.IsZero() {
		end = now
		v.Attributes[isOpen] = true
	}
	v.EndTime = max(end.UnixNano(), v.StartTime)
	if status := k.span.Status(); status.Code == codes.Error {
		v.Attributes[statusText] = status.Description
	}
	var linked []string
	for _, link := range k.span.Links() {
		linked = append(linked, link.SpanContext.TraceID().String())
	}
	if linked != nil {
		v.Attributes[linkedTo] = linked
	}
	// ADK's developer UI drops all spans if one of these has no event: it may be open, or have failed.
	if v.Attributes[operationName] == generateContent && v.Attributes[eventID] == nil {
		v.Attributes[eventID] = ""
	}
	return v
}
