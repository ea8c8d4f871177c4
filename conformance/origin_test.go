package conformance

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

const (
	friend = "https://app.example.com"
	branch = "https://pr-7.preview.example.com"
	evil   = "http://evil.example"
)

// alone is a talk with a server of the test's own.
func alone(t *testing.T, cfg parley.Config) *talk {
	t.Helper()
	return &talk{testkit.NewClient(t, serve(t, cfg)), "weather", unique("u"), "s1"}
}

func TestC71_ForeignOrigin(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	for _, origin := range []string{evil, "null", "file://", strings.Replace(*baseURL, "//", "//x.", 1), "http://127.0.0.1:1"} {
		from := testkit.Header("Origin", origin)
		for path, method := range map[string]string{
			"/run": "POST", "/run_sse": "POST", "/health": "GET", "/list-apps": "GET", s.path(): "PATCH", s.sessions(): "POST", "/nope": "GET",
		} {
			r := s.Do(t, method, path, s.request("hello"), from)
			refusal(t, r, http.StatusForbidden)
			if got := r.Header.Get("Access-Control-Allow-Origin"); got != "" {
				t.Errorf("%s %s: the origin is allowed as %q", method, path, got)
			}
		}
		// What a page can send without asking first.
		form := testkit.Header("Content-Type", "text/plain")
		refusal(t, s.Do(t, http.MethodPost, "/run", s.request("hello"), from, form), http.StatusForbidden)
		refusal(t, s.Do(t, http.MethodOptions, "/run", nil, from, testkit.Header("Access-Control-Request-Method", "POST")), http.StatusForbidden)
	}
	if got := s.get(t).Events; len(got) != 0 {
		t.Errorf("a foreign page left %q", brief(got))
	}
}

func TestOwnOrigin(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	wantBrief(t, s.run(t, s.request("hello"), testkit.Header("Origin", *baseURL)), "weather_agent: You said: hello")
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	s := alone(t, parley.Config{Network: parley.NetworkConfig{AllowOrigins: []string{friend, "https://*.preview.example.com"}}})
	for _, origin := range []string{friend, branch} {
		for method, path := range map[string]string{"GET": s.path(), "POST": "/run_sse", "PATCH": s.path(), "DELETE": s.path()} {
			r := s.Do(t, http.MethodOptions, path, nil, testkit.Header("Origin", origin),
				testkit.Header("Access-Control-Request-Method", method),
				testkit.Header("Access-Control-Request-Headers", "content-type,x-adk-telemetry-request")).Want(t, http.StatusNoContent)
			for name, want := range map[string]string{
				"Origin": origin, "Methods": method, "Headers": "content-type,x-adk-telemetry-request", "Credentials": "true",
			} {
				if got := r.Header.Get("Access-Control-Allow-" + name); got != want {
					t.Errorf("%s from %s: Access-Control-Allow-%s is %q, want %q", method, origin, name, got, want)
				}
			}
		}
	}
}

func TestAllowedOrigin(t *testing.T) {
	t.Parallel()
	s := alone(t, parley.Config{Network: parley.NetworkConfig{AllowOrigins: []string{friend}}})
	from := testkit.Header("Origin", friend)
	s.create(t, nil, from)
	missing := with(s.request("hello"), "sessionId", "none")
	for name, r := range map[string]*testkit.Response{
		"run":             s.Do(t, http.MethodPost, "/run", s.request("hello"), from).Want(t, http.StatusOK),
		"stream":          s.Do(t, http.MethodPost, "/run_sse", s.request("hello"), from).Want(t, http.StatusOK),
		"failed stream":   s.Do(t, http.MethodPost, "/run_sse", s.request("fail"), from).Want(t, http.StatusOK),
		"error of run":    s.Do(t, http.MethodPost, "/run", missing, from).Want(t, http.StatusNotFound),
		"error of stream": s.Do(t, http.MethodPost, "/run_sse", missing, from).Want(t, http.StatusNotFound),
		"unknown path":    s.Do(t, http.MethodGet, "/nope", nil, from).Want(t, http.StatusNotFound),
	} {
		if got := r.Header.Get("Access-Control-Allow-Origin"); got != friend {
			t.Errorf("%s: Access-Control-Allow-Origin is %q", name, got)
		}
		if got := r.Header.Get("Access-Control-Allow-Credentials"); got != "true" {
			t.Errorf("%s: Access-Control-Allow-Credentials is %q", name, got)
		}
		if exposed := r.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "X-Request-Id") {
			t.Errorf("%s: Access-Control-Expose-Headers is %q", name, exposed)
		}
		if !slices.Contains(r.Header.Values("Vary"), "Origin") {
			t.Errorf("%s: Vary is %q", name, r.Header.Values("Vary"))
		}
	}
	for _, origin := range []string{evil, friend + ".evil.example", "http://app.example.com", friend + ":8443"} {
		refusal(t, s.Do(t, http.MethodPost, "/run", s.request("hello"), testkit.Header("Origin", origin)), http.StatusForbidden)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 1000
	s := alone(t, parley.Config{Limits: parley.Limits{BodyBytes: limit}})
	s.create(t, nil)
	pad := func(size int) string {
		head := `{"appName":"weather","userId":"` + s.User + `","sessionId":"s1","stateDelta":{"k":1},"newMessage":{"parts":[{"text":"`
		const tail = `"}]}}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	for path, method := range map[string]string{"/run": "POST", "/run_sse": "POST", s.path(): "PATCH", s.sessions(): "POST"} {
		for _, body := range []any{pad(limit), strings.NewReader(pad(limit))} {
			if r := s.Do(t, method, path, body); r.Status == http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %s", path, r.Body)
			}
		}
		for _, body := range []any{pad(limit + 1), strings.NewReader(pad(limit + 1)), strings.NewReader(pad(100 * limit))} {
			if f := refusal(t, s.Do(t, method, path, body), http.StatusRequestEntityTooLarge); !strings.Contains(f.Error, "1000") {
				t.Errorf("%s: error %q does not name the limit", path, f.Error)
			}
		}
	}
}

// The limit of a server that has no other is the documented one, and a client
// that asks first need not send the body.
func TestTooLargeByDefault(t *testing.T) {
	t.Parallel()
	ask := testkit.Header("Expect", "100-continue")
	r := client(t).Do(t, http.MethodPost, "/run", strings.Repeat(" ", 32<<20+1), ask)
	if f := refusal(t, r, http.StatusRequestEntityTooLarge); !strings.Contains(f.Error, "33554432") {
		t.Errorf("error %q does not name the limit", f.Error)
	}
}
