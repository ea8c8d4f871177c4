// Package collector takes spans over OTLP/HTTP, as an observability backend does.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collected "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it was exported.
type Span struct {
	Name, TraceID, ID, Parent string
	Service                   string
	Kind                      string
	Attributes                map[string]any
	Failed                    bool
	Links                     []string // the traces
	Took                      uint64
}

// Collector is a backend.
type Collector struct {
	// URL is where spans are to be sent to.
	URL string

	mu    sync.Mutex
	spans []*Span
	all   []byte
}

// Start starts a collector, for as long as the test runs.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			tb.Errorf("the collector was sent something that it cannot read: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	tb.Cleanup(srv.Close)
	c.URL = srv.URL + "/v1/traces"
	return c
}

func (c *Collector) take(r *http.Request) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	doc, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var sent collected.ExportTraceServiceRequest
	if err := proto.Unmarshal(doc, &sent); err != nil {
		return err
	}
	text, err := protojson.Marshal(&sent)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, text...)
	for _, from := range sent.GetResourceSpans() {
		service, _ := attributes(from.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range from.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, read(s, service))
			}
		}
	}
	return nil
}

func read(s *trace.Span, service string) *Span {
	span := &Span{
		Name: s.GetName(), TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Service: service, Kind: s.GetKind().String(), Attributes: attributes(s.GetAttributes()),
		Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR, Took: s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano(),
	}
	for _, link := range s.GetLinks() {
		span.Links = append(span.Links, hex.EncodeToString(link.GetTraceId()))
	}
	return span
}

func attributes(list []*common.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range list {
		all[a.GetKey()] = value(a.GetValue())
	}
	return all
}

func value(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_ArrayValue:
		list := []any{}
		for _, one := range v.ArrayValue.GetValues() {
			list = append(list, value(one))
		}
		return list
	}
	return nil
}

// Spans are those that have come so far.
func (c *Collector) Spans() []*Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Named is the one span of a name.
func (c *Collector) Named(tb testing.TB, name string) *Span {
	tb.Helper()
	var found []*Span
	var names []string
	for _, s := range c.Spans() {
		if names = append(names, s.Name); s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		tb.Fatalf("%d spans are called %q; there are %q", len(found), name, names)
	}
	return found[0]
}

// All is everything that was sent, as text.
func (c *Collector) All() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}
