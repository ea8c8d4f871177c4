package gemini_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/gemini"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // where the SDK writes what it also returns
	leak.Main(m)
}

const key = "key-0123456789-secret"

// received is a request as the server saw it.
type received struct {
	path, query string
	header      http.Header
	body        json.RawMessage
}

// api is a local server in place of Google's.
type api struct {
	*httptest.Server
	mu   sync.Mutex
	seen []received
}

// serve answers the nth request with the nth handler, and more with the last.
func serve(t *testing.T, handlers ...http.HandlerFunc) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.seen = append(a.seen, received{r.URL.Path, r.URL.RawQuery, r.Header, body})
		handle := handlers[min(len(a.seen), len(handlers))-1]
		a.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) requests() []received {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen)
}

// model is one that asks a through the Gemini API.
func (a *api) model(t *testing.T) *gemini.Model {
	t.Helper()
	return newModel(t, "gemini-test", &gemini.Options{APIKey: key, BaseURL: a.URL, HTTPClient: a.Client()})
}

func newModel(t *testing.T, name string, opts *gemini.Options) *gemini.Model {
	t.Helper()
	m, err := gemini.New(name, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func reply(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// sse answers with one event for each chunk, in writes of so many bytes.
func sse(size int, end string, chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		var all strings.Builder
		for _, c := range chunks {
			all.WriteString("data: " + c + end)
		}
		for piece := range slices.Chunk([]byte(all.String()), size) {
			_, _ = w.Write(piece)
			w.(http.Flusher).Flush()
		}
	}
}

// said is a chunk of an answer with these parts, more members of the candidate,
// and more members of the response, all in JSON.
func said(parts, candidate, response string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + candidate + `}]` + response + `}`
}

func ask(stream bool, text string) *model.Request {
	req := &model.Request{Stream: stream}
	req.SetContents([]*event.Content{event.Text(event.RoleUser, text)})
	return req
}

// generate drains one call.
func generate(t *testing.T, m model.Model, req *model.Request) (pieces []*model.Response, whole *model.Response, err error) {
	t.Helper()
	for resp, err := range m.Generate(t.Context(), req) {
		switch {
		case err != nil:
			return pieces, nil, err
		case resp.Partial:
			pieces = append(pieces, resp)
		case whole != nil:
			t.Error("two complete responses")
		default:
			whole = resp
		}
	}
	return pieces, whole, nil
}

// equal compares; raw JSON counts by its meaning.
func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	meaning := cmp.FilterValues(func(a, b json.RawMessage) bool { return json.Valid(a) && json.Valid(b) },
		cmp.Transformer("JSON", func(doc json.RawMessage) (v any) { _ = json.Unmarshal(doc, &v); return v }))
	if diff := cmp.Diff(want, got, meaning, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: -want +got:\n%s", what, diff)
	}
}

func raw(doc string) json.RawMessage { return json.RawMessage(doc) }

func compact(t *testing.T, doc string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(doc)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// hold sends one chunk, and the rest when the client has said to continue or has
// gone away.
func hold(goOn <-chan struct{}, first string, rest ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sse(1<<20, "\n\n", first)(w, r)
		select {
		case <-goOn:
			sse(1<<20, "\n\n", rest...)(w, r)
		case <-r.Context().Done():
		}
	}
}
