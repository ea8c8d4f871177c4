package testkit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/parley-run/parley/api"
)

const (
	eventStream = "text/event-stream"
	jsonLines   = "application/jsonl"
)

type document struct {
	doc    *openapi3.T
	router routers.Router
}

var contract = sync.OnceValues(func() (*document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		return nil, err
	}
	for _, item := range doc.Paths.Map() {
		others, _ := item.Extensions["x-also"].([]any) // the same is there
		for _, other := range others {
			path, _ := other.(string)
			doc.Paths.Set(path, item)
		}
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	// The format's own check, a regular expression, takes its time over images.
	openapi3.DefineStringFormatValidator("byte", openapi3.NewCallbackValidator(func(s string) error {
		_, err := base64.StdEncoding.DecodeString(s)
		return err
	}))
	for _, kind := range []string{eventStream, jsonLines, "application/x-ndjson", "text/html", "application/xml"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.PlainBodyDecoder)
	}
	return &document{doc, router}, nil
})

// Operations are the methods and paths of the contract, as in "GET /health".
func Operations(tb testing.TB) []string {
	tb.Helper()
	c, err := contract()
	if err != nil {
		tb.Fatal(err)
	}
	var list []string
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			list = append(list, method+" "+path)
		}
	}
	return list
}

// Checked is a RoundTripper that holds every exchange against the contract and
// fails the test when it is not as documented. A stream is checked when it has
// been read or closed.
func Checked(tb testing.TB, next http.RoundTripper) http.RoundTripper {
	tb.Helper()
	return &checked{tb, next}
}

type checked struct {
	tb   testing.TB
	next http.RoundTripper
}

func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if media(resp.Header) == eventStream {
		resp.Body = &watched{ReadCloser: resp.Body, done: func(seen []byte, whole bool) { c.check(resp, seen, whole) }}
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	c.check(resp, body, true)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (c *checked) check(resp *http.Response, body []byte, whole bool) {
	c.tb.Helper()
	if !whole { // a truncated body cannot be checked
		frames := bytes.SplitAfter(body, []byte("\n\n"))
		body = bytes.Join(frames[:len(frames)-1], nil)
	}
	CheckExchange(c.tb, resp, body)
}

// CheckExchange fails the test when a response, whose body has been read, or
// the request that it answers is not as documented.
func CheckExchange(tb testing.TB, resp *http.Response, body []byte) {
	tb.Helper()
	req := resp.Request
	if err := exchange(resp, body); err != nil {
		tb.Errorf("%s %s: %d is not as documented: %v\n%.2000s", req.Method, req.URL, resp.StatusCode, err, body)
	}
}

func exchange(resp *http.Response, body []byte) error {
	c, err := contract()
	if err != nil {
		return err
	}
	if resp.Header.Get("X-Request-Id") == "" {
		return errors.New("no X-Request-Id")
	}
	req := resp.Request
	route, params, err := c.router.FindRoute(req)
	if err != nil || resp.StatusCode == http.StatusRequestURITooLong { // which is answered before there is a route
		return c.unrouted(resp, body)
	}
	for name, value := range params { // the router leaves them as they are in the path
		params[name], _ = url.PathUnescape(value)
	}
	input := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}
	err = openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input,
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		return err
	}
	switch {
	case media(resp.Header) == eventStream && slices.Contains(route.Operation.Tags, "other clients"):
		return nil // the frames are those of another protocol
	case media(resp.Header) == eventStream:
		return c.frames(body, strings.HasSuffix(route.Path, "/events"))
	case media(resp.Header) == jsonLines:
		err = c.lines(body)
	}
	if err == nil && resp.StatusCode < 300 {
		err = requested(input)
	}
	return err
}

// unrouted checks the response to a request that is not an operation: an error in the common shape, or the response to
// a preflight.
func (c *document) unrouted(resp *http.Response, body []byte) error {
	if resp.StatusCode == http.StatusNoContent && resp.Request.Method == http.MethodOptions {
		return nil
	}
	if resp.StatusCode < 400 || media(resp.Header) != "application/json" {
		return errors.New("there is no such operation, and this is no JSON error")
	}
	return c.visit("Error", body)
}

// frames checks what is in a stream. One that follows a run has names for some
// of its frames, and the id of each event that is stored.
func (c *document) frames(stream []byte, follows bool) error {
	for frame := range strings.SplitSeq(string(stream), "\n\n") {
		var name, id, data string
		for line := range strings.SplitSeq(frame, "\n") {
			field, value, _ := strings.Cut(line, ": ")
			switch field {
			case "event":
				name = value
			case "id":
				id = value
			case "data":
				data = value
			}
		}
		schema := map[string]string{"": "Event", "end": "Run", "resume": "Resume"}[name]
		if !follows {
			schema = "StreamFrame"
		}
		if data == "" {
			continue
		}
		if err := c.visit(schema, []byte(data)); err != nil {
			return err
		}
		if follows && schema == "Event" {
			if err := identified(id, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// identified checks the id of a frame: that of the event, or none for a piece.
func identified(id, data string) error {
	var ev struct {
		ID      string
		Partial bool
	}
	if err := json.Unmarshal([]byte(data), &ev); err != nil {
		return err
	}
	if ev.Partial {
		ev.ID = ""
	}
	if id != ev.ID {
		return fmt.Errorf("the id of a frame is %q, not %q", id, ev.ID)
	}
	return nil
}

// lines checks an export.
func (c *document) lines(export []byte) error {
	schema := "ExportHead"
	for line := range bytes.Lines(export) {
		if err := c.visit(schema, line); err != nil {
			return err
		}
		schema = "Event"
	}
	return nil
}

func (c *document) visit(schema string, doc []byte) error {
	var value any
	if err := json.Unmarshal(doc, &value); err != nil {
		return err
	}
	if err := c.doc.Components.Schemas[schema].Value.VisitJSON(value); err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	return nil
}

// CheckSchema fails the test when a JSON text is not as a schema of the
// contract says.
func CheckSchema(tb testing.TB, schema string, doc []byte) {
	tb.Helper()
	c, err := contract()
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.visit(schema, doc); err != nil {
		tb.Errorf("%v\n%.2000s", err, doc)
	}
}

// CheckRequest fails the test when a request is not as documented.
func CheckRequest(tb testing.TB, req *http.Request) {
	tb.Helper()
	c, err := contract()
	if err != nil {
		tb.Fatal(err)
	}
	route, params, err := c.router.FindRoute(req)
	if err == nil {
		err = requested(&openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}) //nolint:contextcheck // the request has it
	}
	if err != nil {
		tb.Errorf("%s %s is not as documented: %v", req.Method, req.URL, err)
	}
}

// requested checks a request that was accepted: what the server takes is what
// it is documented to take, unless the test is about something Odd.
func requested(input *openapi3filter.RequestValidationInput) error {
	original := input.Request
	req := original.Clone(context.WithoutCancel(original.Context()))
	input.Request = req
	// Who may call depends on the server; that it has answered says enough.
	input.Options = &openapi3filter.Options{SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	compressed := original.Header.Get("Content-Encoding") != ""
	if original.GetBody == nil || compressed || original.Context().Value(oddKey{}) != nil {
		input.Options.ExcludeRequestBody = true
	} else {
		var err error
		if req.Body, err = original.GetBody(); err != nil {
			return err
		}
		if kind := media(req.Header); kind == "" || strings.HasSuffix(kind, "+json") {
			req.Header.Set("Content-Type", "application/json") // may be absent, or more exact
		}
	}
	return openapi3filter.ValidateRequest(req.Context(), input)
}

type oddKey struct{}

// Odd marks a request whose body is not as documented and accepted all the
// same, such as one in snake_case.
func Odd(req *http.Request) {
	*req = *req.WithContext(context.WithValue(req.Context(), oddKey{}, true))
}

func media(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind
}

// watched keeps a copy of what is read and hands it over once, at the end.
type watched struct {
	io.ReadCloser
	seen []byte
	done func(seen []byte, whole bool)
	once sync.Once
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.seen = append(w.seen, p[:n]...)
	if errors.Is(err, io.EOF) {
		w.once.Do(func() { w.done(w.seen, true) })
	}
	return n, err
}

func (w *watched) Close() error {
	w.once.Do(func() { w.done(w.seen, false) })
	return w.ReadCloser.Close()
}
