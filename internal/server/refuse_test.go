package server_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/server"
)

// inPaths replaces the parameters of routes by values.
var inPaths = strings.NewReplacer("{app}", "weather", "{user}", "u", "{session}", "s1", "{run}", "e-1", "{name}", "f.txt", "{version}", "0", "{event}", "1", "{set}", "smoke", "{case}", "one", "{result}", "r")

// A check before the handler, or after reading the body, applies to every route, and the contract documents it: do
// looks it up.
func TestRefusalsAreDocumented(t *testing.T) {
	t.Parallel()
	address, err := url.Parse("https://parley.example") // enables the pages of logins
	if err != nil {
		t.Fatal(err)
	}
	gate := func(answer func() (*access.Caller, error)) func(*server.Options) {
		return func(o *server.Options) { o.Gate = func(*http.Request) (*access.Caller, error) { return answer() } }
	}
	const body = `{"stateDelta":{"k":"0123456789"}}`
	for name, tt := range map[string]struct {
		change func(*server.Options)
		header []string
		// want is the expected status; routes without authentication may return something else
		want   int
		public int // the same for routes without authentication, 0 for anything
	}{
		"host":        {func(o *server.Options) { o.LoopbackOnly = true }, []string{"Host: evil.example"}, 403, 403},
		"origin":      {nil, []string{"Origin: https://evil.example"}, 403, 403},
		"no token":    {gate(func() (*access.Caller, error) { return nil, access.ErrNoToken }), nil, 401, 0},
		"bad token":   {gate(func() (*access.Caller, error) { return nil, &access.RefusedError{Why: "expired"} }), nil, 401, 0},
		"issuer away": {gate(func() (*access.Caller, error) { return nil, &access.UnavailableError{Cause: errors.New("timeout")} }), nil, 503, 0},
		"panic":       {gate(func() (*access.Caller, error) { panic("no") }), nil, 500, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, weather(), withUI, func(o *server.Options) {
				o.PublicURL = address
				if tt.change != nil {
					tt.change(o)
				}
			})
			for _, route := range srv.Routes() {
				method, path, _ := strings.Cut(route, " ")
				sent := body
				if method == http.MethodGet {
					sent = ""
				}
				rec := do(t, srv, method, inPaths.Replace(path), sent, tt.header...)
				want := tt.want
				if isOpen(route) {
					want = tt.public
				}
				if want != 0 && rec.Code != want {
					t.Errorf("%s: %d, want %d: %s", route, rec.Code, want, rec.Body)
				}
			}
		})
	}
	t.Run("too often", func(t *testing.T) {
		t.Parallel()
		for _, route := range serve(t, weather(), withUI).Routes() {
			srv := serve(t, weather(), withUI, func(o *server.Options) { o.Gate, o.Rate = access.Local, access.NewRate(1) })
			method, path, _ := strings.Cut(route, " ")
			sent := ""
			if method != http.MethodGet {
				sent = message("hi")
			}
			var rec *httptest.ResponseRecorder
			for range 2 {
				rec = do(t, srv, method, inPaths.Replace(path), sent)
			}
			if !isOpen(route) && (rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") == "") {
				t.Errorf("%s: %d, Retry-After %q", route, rec.Code, rec.Header().Get("Retry-After"))
			}
		}
	})
}

func isOpen(route string) bool {
	_, path, _ := strings.Cut(route, " ")
	return open[path] || route == "POST /apps/{app}/triggers/{name}"
}

// open lists the routes without authentication, on a server with the UI.
var open = map[string]bool{
	"/": true, "/health": true, "/healthz": true, "/readyz": true, "/oauth/start": true, "/oauth/callback": true, "/inbox/link": true,
	"/dev-ui/caller": true, "/dev-ui/signin": true, "/dev-ui/signin/callback": true, "/dev-ui/signout": true,
	"/shared/{token}": true, "/shared/{token}/conversation": true, "/shared/{token}/files/{file}": true,
}

// Every route with a body refuses bad bodies in the same way.
func TestBadBodiesAreDocumented(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(" ", 100)
	for name, tt := range map[string]struct {
		body, kind string
		want       int
	}{
		"too large":  {`{"stateDelta":{}}` + long, "application/json", 413},
		"not JSON":   {"hello", "text/plain", 415},
		"broken":     {`{"a":`, "application/json", 422},
		"an array":   {`[1]`, "application/json", 422},
		"not a text": {"{\"a\":\"\xff\"}", "application/json", 422},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, weather(), withUI, func(o *server.Options) { o.MaxBody, o.MaxArtifact = 64, 64 })
			wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
			for _, route := range srv.Routes() {
				method, path, _ := strings.Cut(route, " ")
				if method == http.MethodGet || method == http.MethodDelete {
					continue
				}
				rec := do(t, srv, method, inPaths.Replace(path), tt.body, "Content-Type: "+tt.kind)
				switch path {
				case "/run", "/run_sse", "/apps/{app}/users/{user}/sessions":
					wantStatus(t, rec, tt.want)
				}
				if rec.Code >= 500 && rec.Code != http.StatusNotImplemented {
					t.Errorf("%s: %d: %s", route, rec.Code, rec.Body)
				}
			}
		})
	}
}

// Bodies may be compressed. Their compressed and their decompressed size are both limited.
func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	zip := func(text string, flushes int) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		for range flushes { // an empty block
			_ = z.Flush()
		}
		_ = z.Close()
		return b.String()
	}
	body := message("hi")
	for name, tt := range map[string]struct {
		encoding, body string
		want           int
	}{
		"gzip":                {"gzip", zip(body, 0), 200},
		"its other name":      {"X-GZIP", zip(body, 0), 200},
		"two members":         {"gzip", zip(body[:20], 0) + zip(body[20:], 0), 200},
		"not compressed":      {"identity", body, 200},
		"a bomb":              {"gzip", zip(body+strings.Repeat(" ", 1<<20), 0), 413},
		"nothing, at length":  {"gzip", zip(body, 1<<14), 413},
		"not gzip":            {"gzip", body, 400},
		"damaged":             {"gzip", zip(body, 0)[:20] + "xxxxxxxx" + zip(body, 0)[28:], 400},
		"cut off":             {"gzip", zip(body, 0)[:30], 400},
		"cut off at the head": {"gzip", zip(body, 0)[:5], 400},
		"another":             {"br", body, 415},
		"twice":               {"gzip, gzip", zip(zip(body, 0), 0), 415},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, weather(), withUI, func(o *server.Options) { o.MaxBody = 64 << 10 })
			wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
			rec := do(t, srv, "POST", "/run", tt.body, "Content-Encoding: "+tt.encoding)
			wantStatus(t, rec, tt.want)
			if got := rec.Header().Get("Accept-Encoding"); (got == "gzip") != (tt.want == 415) {
				t.Errorf("Accept-Encoding: %q", got)
			}
		})
	}
}

// An unknown application is 404 on every route.
func TestUnknownApp(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), withUI, func(o *server.Options) {
		o.Logins, o.Artifacts = broker.New(broker.Options{Secrets: o.Store}), artifact.NewMemory()
		o.Schedules = &schedule.Service{Store: o.Store.Schedules}
	})
	for _, route := range srv.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if !strings.Contains(path, "{app}") || strings.HasSuffix(path, "/debug/trace/session/{session}") { // traces are addressed by session id
			continue
		}
		body := ""
		switch {
		case strings.HasSuffix(path, "/memory") && method == http.MethodPatch:
			body = `{"sessionId":"s1"}`
		case strings.HasSuffix(path, "/memory/{memory}") && method == http.MethodPatch:
			body = `{"text":"x"}`
		case strings.HasSuffix(path, "/tools/call"):
			body = `{"agent":"a","tool":"t"}`
		case method == http.MethodPatch:
			body = `{"stateDelta":{}}`
		case strings.HasSuffix(path, "/runs") && method == http.MethodPost:
			body = `{"newMessage":{"parts":[{"text":"hi"}]}}`
		case strings.HasSuffix(path, "/rewind"):
			body = `{"rewindBeforeInvocationId":"e-1"}`
		}
		if strings.HasSuffix(path, "/search") {
			path += "?q=word"
		}
		rec := do(t, srv, method, inPaths.Replace(strings.Replace(path, "{app}", "nope", 1)), body)
		if rec.Code < 400 || rec.Code != http.StatusNotFound && method != http.MethodPost && method != http.MethodPut {
			t.Errorf("%s: %d %s", route, rec.Code, rec.Body)
		}
	}
}

// The data of a removed application can be read and deleted.
func TestRemovedApp(t *testing.T) {
	t.Parallel()
	found := weather()
	srv := serve(t, found)
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	delete(found, "weather")
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/apps/weather/users/u/sessions", 200},
		{"GET", session1, 200},
		{"DELETE", session1, 200},
		{"DELETE", session1, 404},
		{"GET", "/apps/weather/users/u/sessions", 404},
		{"DELETE", "/apps/weather/users/u/memory", 404},
	} {
		if rec := do(t, srv, tt.method, tt.path, ""); rec.Code != tt.want {
			t.Errorf("%s %s: %d, want %d: %s", tt.method, tt.path, rec.Code, tt.want, rec.Body)
		}
	}
}
