package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/gemini"
)

func refusal(code int, status, message string, details string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"status":%q,"message":%q,"details":[%s]}}`, code, status, message, details)
}

const overloaded = "The model is overloaded."

// TestRefusals has what the API answers instead, and how often it is asked.
func TestRefusals(t *testing.T) {
	retryInfo := `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"21.5s"}`
	busy := reply(429, refusal(429, "RESOURCE_EXHAUSTED", "Quota.", ""), "Retry-After", "20")
	unavailable := reply(503, refusal(503, "UNAVAILABLE", overloaded, ""))
	tests := []struct {
		name          string
		answers       []http.HandlerFunc
		code, message string          // empty when it works in the end
		waits         []time.Duration // at least
	}{
		{"400", []http.HandlerFunc{reply(400, refusal(400, "INVALID_ARGUMENT", "Bad: "+key, ""))}, "INVALID_ARGUMENT", "Bad: [redacted]", nil},
		{"401", []http.HandlerFunc{reply(401, refusal(401, "UNAUTHENTICATED", "Who?", ""))}, "UNAUTHENTICATED", "Who?", nil},
		{"403", []http.HandlerFunc{reply(403, refusal(403, "PERMISSION_DENIED", "No.", ""))}, "PERMISSION_DENIED", "No.", nil},
		{"404 in an array", []http.HandlerFunc{reply(404, "["+refusal(404, "NOT_FOUND", "No such model.", "")+"]")}, "NOT_FOUND", "No such model.", nil},
		{"text", []http.HandlerFunc{reply(418, "I am a teapot")}, "HTTP_418", "I am a teapot", nil},
		{"much", []http.HandlerFunc{reply(400, strings.Repeat("é", 2000))}, "INVALID_ARGUMENT", strings.Repeat("é", 1000) + " …", nil},
		{"a page", []http.HandlerFunc{reply(413, "<html>…")}, "INVALID_ARGUMENT", "Request Entity Too Large", nil},
		{"an error without a status", []http.HandlerFunc{reply(400, `{"error":{"message":"Odd."}}`)}, "INVALID_ARGUMENT", "Odd.", nil},
		{"a redirection", []http.HandlerFunc{reply(307, "", "Location", "http://127.0.0.1:1/")}, "HTTP_307", "Temporary Redirect", nil},
		{"429, then 200", []http.HandlerFunc{busy, nil}, "", "", []time.Duration{20 * time.Second}},
		{"429 with details", []http.HandlerFunc{reply(429, refusal(429, "RESOURCE_EXHAUSTED", "Quota.", retryInfo)), nil}, "", "", []time.Duration{21500 * time.Millisecond}},
		{"429 for long", []http.HandlerFunc{reply(429, refusal(429, "RESOURCE_EXHAUSTED", "Quota.", ""), "Retry-After", "3600")}, "RESOURCE_EXHAUSTED", "Quota.", nil},
		{"429 until far away", []http.HandlerFunc{reply(429, "", "Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT")}, "RESOURCE_EXHAUSTED", "Too Many Requests", nil},
		{"408, 500, then 200", []http.HandlerFunc{reply(408, ""), reply(500, "{}"), nil}, "", "", []time.Duration{500 * time.Millisecond, time.Second}},
		{"503 for good", []http.HandlerFunc{unavailable}, "UNAVAILABLE", overloaded, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
		{"502 by a proxy", []http.HandlerFunc{reply(502, "<html>…")}, "HTTP_502", "Bad Gateway", []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
	}
	for _, tt := range tests {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", tt.name, stream), func(t *testing.T) {
				good := reply(200, ok)
				if stream {
					good = sse(1, "\n\n", ok)
				}
				answers := slices.Clone(tt.answers)
				for i := range answers {
					if answers[i] == nil {
						answers[i] = good
					}
				}
				a := serve(t, answers...)
				m := a.model(t)
				var waits []time.Duration
				m.SetWait(func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil })
				_, got, err := generate(t, m, ask(stream, "Hello"))
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "code", tt.code, got.ErrorCode)
				equal(t, "message", tt.message, got.ErrorMessage)
				if tt.code == "" {
					equal(t, "text", "ok", got.Content.Text())
				}
				if len(waits) != len(tt.waits) {
					t.Fatalf("waited %v, want %v", waits, tt.waits)
				}
				for i, least := range tt.waits {
					if waits[i] < least || waits[i] > 2*least {
						t.Errorf("wait %d was %v, want about %v", i, waits[i], least)
					}
				}
				for _, saw := range a.requests() {
					equal(t, "each try's body", a.requests()[0].body, saw.body)
				}
			})
		}
	}
}

// TestBrokenAnswers has failures: what cannot be read ends with an error, what
// the API says of itself in the middle with a response.
func TestBrokenAnswers(t *testing.T) {
	first := said(`{"text":"one "},{"functionCall":{"name":"f"}}`, "", "")
	cut := func(w http.ResponseWriter, r *http.Request) {
		sse(1<<20, "\n\n", first)(w, r)
		panic(http.ErrAbortHandler)
	}
	tests := []struct {
		name   string
		stream bool
		answer http.HandlerFunc
		pieces int
		err    string // else
		want   *model.Response
	}{
		{"invalid JSON", false, reply(200, `{"candidates":[`+key), 0, "cannot be read", nil},
		{"another shape", false, reply(200, `{"candidates":[{"finishReason":5}]}`), 0, "cannot be read", nil},
		{"invalid JSON in a stream", true, sse(1, "\n\n", first, `{"cand`), 1, "cannot be read", nil},
		{"no events in a stream", true, reply(200, "hello: world"), 0, "cannot be read", nil},
		{"cut", true, cut, 1, "the call of the Gemini API failed: unexpected EOF", nil},
		{
			"error in a stream", true, sse(1, "\n\n", first, refusal(503, "UNAVAILABLE", overloaded, "")), 1, "",
			&model.Response{ErrorCode: "UNAVAILABLE", ErrorMessage: overloaded, Content: model.Text("one ").Content, Interrupted: true},
		},
		{
			"odd error in a stream", true, sse(1, "\n\n", `{"error":{"status":"what?"}}`), 0, "",
			&model.Response{ErrorCode: "UNKNOWN_ERROR", ErrorMessage: "The Gemini API gave no reason."},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, tt.answer)
			pieces, got, err := generate(t, a.model(t), ask(tt.stream, "Hello"))
			if len(pieces) != tt.pieces {
				t.Errorf("got %d pieces, want %d", len(pieces), tt.pieces)
			}
			if n := len(a.requests()); n != 1 {
				t.Errorf("asked %d times", n)
			}
			if tt.err == "" {
				equal(t, "response", tt.want, got)
			} else if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), key) {
				t.Errorf("got %v, want …%s…", err, tt.err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	a := serve(t, reply(200, ok))
	a.Close()
	for _, stream := range []bool{false, true} {
		m, waits := a.model(t), 0
		m.SetWait(func(context.Context, time.Duration) error { waits++; return nil })
		_, _, err := generate(t, m, ask(stream, "Hello"))
		if waits != 3 {
			t.Errorf("asked again %d times", waits)
		}
		if err == nil || strings.Contains(err.Error(), "alt=") || strings.Contains(err.Error(), "gemini-test") || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v", err)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Run("in a stream", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := serve(t, hold(nil, said(`{"text":"one"}`, "", "")))
		var last error
		for _, err := range a.model(t).Generate(ctx, ask(true, "Hello")) {
			cancel()
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("got %v", last)
		}
	})
	t.Run("before the answer", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
		for resp, err := range a.model(t).Generate(ctx, ask(false, "Hello")) {
			if resp != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, %v", resp, err)
			}
		}
	})
	t.Run("while waiting to ask again", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := serve(t, reply(429, "", "Retry-After", "29")).model(t)
		m.SetWait(func(ctx context.Context, d time.Duration) error { cancel(); return gemini.Sleep(ctx, d) })
		for resp, err := range m.Generate(ctx, ask(false, "Hello")) {
			if resp != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, %v", resp, err)
			}
		}
	})
	t.Run("by the caller, who stops reading", func(t *testing.T) {
		a := serve(t, hold(nil, said(`{"text":"one"}`, "", "")))
		for range a.model(t).Generate(t.Context(), ask(true, "Hello")) {
			break // closes the connection, which lets the server end
		}
	})
}

func TestMissing(t *testing.T) {
	gone := func(name string) string {
		return map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/credentials.json"}[name]
	}
	tests := []struct {
		name, code string
		opts       *gemini.Options
		names      []string
	}{
		{"no options", "MISSING_API_KEY", nil, []string{"GOOGLE_GENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"}},
		{"no project", "MISSING_API_KEY", &gemini.Options{VertexAI: true}, []string{"GOOGLE_CLOUD_PROJECT", "GOOGLE_API_KEY"}},
		{"no credentials", "MISSING_CREDENTIALS", &gemini.Options{VertexAI: true, Project: "p", Getenv: gone}, []string{"GOOGLE_APPLICATION_CREDENTIALS"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := generate(t, newModel(t, "gemini-x", tt.opts), ask(true, "Hello"))
			if err != nil || got.ErrorCode != tt.code {
				t.Fatalf("got %+v, %v", got, err)
			}
			for _, name := range append(tt.names, "--offline", "gemini-x") {
				if !strings.Contains(got.ErrorMessage, name) {
					t.Errorf("%q does not name %s", got.ErrorMessage, name)
				}
			}
			if strings.Contains(got.ErrorMessage, "/nowhere") {
				t.Errorf("%q shows a path", got.ErrorMessage)
			}
		})
	}
}
