package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	_ "github.com/parley-run/parley/faces" // all of them
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// withFaces serves the protocols of other clients, and what platforms call.
func withFaces(o *server.Options) {
	for _, name := range registry.Names[face.New]() {
		if create, ok := registry.Find[face.New](name); ok {
			o.Faces = append(o.Faces, create)
		}
	}
	for _, name := range registry.Names[face.Platform]() {
		if create, ok := registry.Find[face.Platform](name); ok {
			o.Platforms = append(o.Platforms, create)
		}
	}
}

func TestRoutesAreTheContract(t *testing.T) {
	t.Parallel()
	got, want := serve(t, weather(), withUI, withFaces).Routes(), testkit.Operations(t)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-documented +served):\n%s", diff)
	}
}

func TestLoopbackOnly(t *testing.T) {
	t.Parallel()
	guarded := serve(t, weather(), func(o *server.Options) { o.LoopbackOnly = true })
	open := serve(t, weather())
	for host, want := range map[string]int{
		"127.0.0.1":              200,
		"127.0.0.1:8000":         200,
		"127.9.9.9:8000":         200,
		"localhost":              200,
		"LocalHost:8000":         200,
		"[::1]":                  200,
		"[::1]:8000":             200,
		"evil.example":           403,
		"evil.example:8000":      403,
		"127.0.0.1.evil.example": 403,
		"localhost.evil.example": 403,
		"192.168.0.1:8000":       403,
		"0.0.0.0:8000":           403,
		"[2001:db8::1]:8000":     403,
	} {
		for path, method := range map[string]string{"/health": "GET", "/nope": "GET", "/run": "POST"} {
			rec := do(t, guarded, method, path, "", "Host: "+host)
			if (rec.Code == http.StatusForbidden) != (want == http.StatusForbidden) {
				t.Errorf("%s %s of %s: %d", method, path, host, rec.Code)
			} else if rec.Code == http.StatusForbidden && !strings.Contains(rec.Body.String(), "--allow_hosts") {
				t.Errorf("%s %s of %s: it does not say what to do: %s", method, path, host, rec.Body)
			}
		}
		wantStatus(t, do(t, open, "GET", "/health", "", "Host: "+host), http.StatusOK)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	allowed := func(origins ...string) func(*server.Options) {
		return func(o *server.Options) { o.AllowOrigins = origins }
	}
	for name, tt := range map[string]struct {
		allow  []string
		origin string
		want   int
	}{
		"none":                 {nil, "", 200},
		"own":                  {nil, "http://parley.test:8000", 200},
		"own, other case":      {nil, "http://Parley.Test:8000", 200},
		"own, other port":      {nil, "http://parley.test:9000", 403},
		"own as a prefix":      {nil, "http://parley.test:8000.evil.example", 403},
		"foreign":              {nil, "http://evil.example", 403},
		"null":                 {nil, "null", 403},
		"null beside others":   {[]string{"https://a.example"}, "null", 403},
		"nonsense":             {nil, "://", 403},
		"listed":               {[]string{"https://a.example"}, "https://a.example", 200},
		"listed, other scheme": {[]string{"https://a.example"}, "http://a.example", 403},
		"pattern":              {[]string{"https://*.a.example"}, "https://x.a.example", 200},
		"pattern, not matched": {[]string{"https://*.a.example"}, "https://x.b.example", 403},
		"all":                  {[]string{"*"}, "http://evil.example", 200},
		"a port":               {[]string{"http://localhost:*"}, "http://localhost:3000", 200},
		"a port, an extension": {[]string{"chrome-extension://abc*"}, "chrome-extension://abcdefgh", 200},
		"within a label":       {[]string{"https://pr-*.a.example"}, "https://pr-7.a.example", 200},
		"an empty label":       {[]string{"https://*.a.example"}, "https://.a.example", 403},
		"two dots":             {[]string{"https://*.a.example"}, "https://x..a.example", 403},
		"a path":               {[]string{"https://*.a.example"}, "https://evil.example/.a.example", 403},
		"a query":              {[]string{"https://*.a.example"}, "https://evil.example?.a.example", 403},
		"a fragment":           {[]string{"https://*.a.example"}, "https://evil.example#.a.example", 403},
		"a user":               {[]string{"https://*.a.example"}, "https://evil.example@x.a.example", 403},
		"a port in the host":   {[]string{"https://*.a.example"}, "https://evil.example:1.a.example", 403},
		"two origins":          {[]string{"https://*.a.example"}, "https://evil.example https://x.a.example", 403},
		"a percent sign":       {[]string{"https://*.a.example"}, "https://evil%2e.a.example", 403},
		"a name as a port":     {[]string{"http://localhost:*"}, "http://localhost:3000.evil.example", 403},
		"a user as a port":     {[]string{"http://localhost:*"}, "http://localhost:x@evil.example", 403},
		"no port":              {[]string{"http://localhost:*"}, "http://localhost:", 403},
		"a large port":         {[]string{"http://localhost:*"}, "http://localhost:65536", 403},
		"a port with a zero":   {[]string{"http://localhost:*"}, "http://localhost:080", 403},
		"a port left out":      {[]string{"http://localhost:*"}, "http://localhost:80", 403},
	} {
		srv := serve(t, weather(), allowed(tt.allow...))
		headers := []string{"Host: parley.test:8000"}
		if tt.origin != "" {
			headers = append(headers, "Origin: "+tt.origin)
		}
		if rec := do(t, srv, "GET", "/health", "", headers...); rec.Code != tt.want {
			t.Errorf("%s: %d, want %d", name, rec.Code, tt.want)
		} else if rec.Code == http.StatusForbidden && !strings.Contains(rec.Body.String(), "--allow_origins") {
			t.Errorf("%s: it does not say what to do: %s", name, rec.Body)
		}
	}
}

// Clients in browsers read the id of a session of MCP, without which they cannot go on.
func TestExposedHeaders(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), func(o *server.Options) { o.AllowOrigins = []string{"https://a.example"} })
	rec := do(t, srv, "GET", "/health", "", "Host: parley.test", "Origin: https://a.example")
	if got := rec.Header().Get("Access-Control-Expose-Headers"); !strings.Contains(got, "Mcp-Session-Id") {
		t.Errorf("pages can read %s", got)
	}
}

// The log names each refused origin once, and the flag that allows it.
func TestRefusedOriginsAreLogged(t *testing.T) {
	t.Parallel()
	for _, allow := range [][]string{nil, {"https://a.example"}} {
		var log bytes.Buffer
		srv := serve(t, weather(), func(o *server.Options) {
			o.AllowOrigins = allow
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		from := func(origin string) {
			t.Helper()
			wantStatus(t, do(t, srv, "GET", "/health", "", "Host: parley.test", "Origin: "+origin), http.StatusForbidden)
		}
		for range 3 {
			from("http://localhost:3000")
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "http://localhost:3000") || !strings.Contains(got, "--allow_origins") {
			t.Errorf("the log is %q", got)
		}
		from("https://" + strings.Repeat("x", 5000))
		for i := range 1000 {
			from(fmt.Sprintf("https://%d.example", i))
		}
		if lines := strings.Count(log.String(), "\n"); lines > 110 || log.Len() > 64<<10 {
			t.Errorf("the log has %d lines, and %d bytes", lines, log.Len())
		}
	}
}

// panicking fails in the worst way when the applications are listed.
type panicking struct{}

func (panicking) Names() []string                    { panic(secret) }
func (panicking) Agent(string) (*agent.Agent, error) { panic(secret) }
func (panicking) Language(string) string             { panic(secret) }
func (panicking) ReloadError(string) error           { panic(secret) }
func (panicking) Dir(string) string                  { panic(secret) }

const secret = "postgres://parley:hunter2@db/sessions"

func TestPanicInAHandler(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	srv := serve(t, weather(), func(o *server.Options) {
		o.Apps = panicking{}
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	rec := do(t, srv, "GET", "/list-apps", "", "X-Request-Id: mine-1")
	wantStatus(t, rec, http.StatusInternalServerError)
	if got := rec.Body.String(); got != `{"error":"Internal Server Error","detail":"Internal Server Error"}` {
		t.Errorf("body %s", got)
	}
	if got := rec.Header().Get("X-Request-Id"); got != "mine-1" {
		t.Errorf("request id %q", got)
	}
	for _, want := range []string{secret, "request_id=mine-1", "guard_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &log)
		}
	}
	wantStatus(t, do(t, srv, "GET", "/health", ""), http.StatusOK)
}

func TestAbortedHandlerStaysAborted(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), func(o *server.Options) { o.Apps = aborting{} })
	defer func() {
		if v := recover(); v != any(http.ErrAbortHandler) {
			t.Errorf("recovered %v", v)
		}
	}()
	do(t, srv, "GET", "/list-apps", "")
}

type aborting struct{ apps }

func (aborting) Names() []string { panic(http.ErrAbortHandler) }

// faulty is a store that fails.
type faulty struct {
	session.Store
	appends int // the number of appends that succeed
}

var errStore = errors.New(secret + ": connection refused; SELECT * FROM sessions")

func (f *faulty) Create(context.Context, session.NewSession) (*session.Session, error) {
	return nil, errStore
}

func (f *faulty) Get(context.Context, session.Key, session.Read) (*session.Session, error) {
	return nil, errStore
}

func (f *faulty) List(context.Context, string, string, session.Page) ([]*session.Session, string, error) {
	return nil, "", errStore
}
func (f *faulty) Delete(context.Context, session.Key) error                { return errStore }
func (f *faulty) Patch(context.Context, session.Key, *session.Entry) error { return errStore }

func (f *faulty) ListRuns(context.Context, session.Key, session.Page) ([]*session.Run, string, error) {
	return nil, "", errStore
}

func (f *faulty) Begin(ctx context.Context, run session.NewRun) (*session.Begun, error) {
	if f.appends--; f.appends < 0 { // Begin stores the message
		return nil, errStore
	}
	return f.Store.Begin(ctx, run)
}

func (f *faulty) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	if f.appends--; f.appends < 0 {
		return errStore
	}
	return f.Store.Append(ctx, key, epoch, notes, entries...)
}

// Internal errors appear in the log only.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	for operation, body := range map[string]string{
		"POST /apps/weather/users/u/sessions": "", "GET /apps/weather/users/u/sessions": "", "POST " + session1: "", "GET " + session1: "",
		"PATCH " + session1: `{"stateDelta":{}}`, "DELETE " + session1: "", "POST /run": message("hi"), "POST /run_sse": message("hi"),
	} {
		var log bytes.Buffer
		srv := serve(t, weather(), func(o *server.Options) {
			o.Store = session.NewStore(&faulty{})
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		method, path, _ := strings.Cut(operation, " ")
		rec := do(t, srv, method, path, body, "X-Request-Id: mine-1")
		wantStatus(t, rec, http.StatusInternalServerError)
		if got := rec.Body.String(); got != `{"error":"Internal Server Error","detail":"Internal Server Error"}` {
			t.Errorf("%s: %s", operation, got)
		}
		if !strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "request_id=mine-1") {
			t.Errorf("%s: the log lacks the cause or the request: %s", operation, &log)
		}
	}
}

func TestStoreFailsInARun(t *testing.T) {
	t.Parallel()
	const want = `"could not append an event: the session store failed"`
	for path, status := range map[string]int{"/run": http.StatusInternalServerError, "/run_sse": http.StatusOK} {
		memory := memstore.New(0)
		if _, err := memory.Create(t.Context(), session.NewSession{Key: key1}); err != nil {
			t.Fatal(err)
		}
		srv := serve(t, scripts(t, scripted.Call("tick", nil), scripted.Say("Done.")), func(o *server.Options) {
			o.Store = session.NewStore(&faulty{Store: memory, appends: 2}) // the message and the call
		})
		rec := do(t, srv, "POST", path, message("hi"))
		wantStatus(t, rec, status)
		got := rec.Body.String()
		if !strings.Contains(got, `"error":`+want) || !strings.Contains(got, `"functionCall"`) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestShuttingDown(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather())
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	wantStatus(t, do(t, srv, "GET", "/readyz", ""), http.StatusOK)
	srv.Engine.Shutdown(t.Context())
	for operation, want := range map[string]int{
		"GET /readyz": 503, "POST /run": 503, "POST /run_sse": 503, "GET /health": 200, "GET " + session1: 200,
	} {
		method, path, _ := strings.Cut(operation, " ")
		body := ""
		if method == "POST" {
			body = message("hi")
		}
		rec := do(t, srv, method, path, body)
		wantStatus(t, rec, want)
		if retry := rec.Header().Get("Retry-After"); (retry != "") != (want == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After is %q", operation, retry)
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather())
	const header = "X-Request-Id"
	for name, tt := range map[string]struct {
		sent string
		kept bool
	}{
		"custom":     {"trace-1", true},
		"longest":    {strings.Repeat("x", 256), true},
		"overlong":   {strings.Repeat("x", 257), false},
		"control":    {"a\x01b", false},
		"not text":   {"\xff", false},
		"not there":  {"", false},
		"line break": {"a\r\nSet-Cookie: x=y", false},
	} {
		var headers []string
		if tt.sent != "" {
			headers = []string{header + ": " + tt.sent}
		}
		got := do(t, srv, "GET", "/health", "", headers...).Header().Get(header)
		if (got == tt.sent) != tt.kept || got == "" {
			t.Errorf("%s: sent %q, got %q", name, tt.sent, got)
		}
	}
}

// An agent without output yields an empty array, or an empty stream.
func TestRunWithoutEvents(t *testing.T) {
	t.Parallel()
	mute, err := agent.New(agent.Config{Name: "mute"}, func(*agent.Context, agent.Emit) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	srv := serve(t, apps{"weather": mute})
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	for path, want := range map[string]string{"/run": "[]", "/run_sse": ""} {
		rec := do(t, srv, "POST", path, message("hi"))
		wantStatus(t, rec, http.StatusOK)
		if got := rec.Body.String(); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// ServeMux searches the route table for each segment of a path.
func TestPathsAreBounded(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), withUI)
	longest := strings.Repeat("%F0%9F%98%80", 256)
	for name, tt := range map[string]struct {
		path string
		want int
	}{
		"longest identifiers":   {"/apps/weather/users/" + longest + "/sessions/" + longest + "/runs/" + longest, 404},
		"longest artifact":      {session1 + "/artifacts" + strings.Repeat("/a", 256), 400}, // no artifact store is configured
		"many segments":         {strings.Repeat("/a", 200_000), 414},
		"many below a resource": {session1 + "/artifacts" + strings.Repeat("/a", 200_000), 414},
		"just too many":         {strings.Repeat("/a", 301), 414},
		"a long segment":        {"/" + strings.Repeat("a", 16<<10), 414},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := do(t, srv, "GET", tt.path, "")
			wantStatus(t, rec, tt.want)
			if len(rec.Body.String()) > 10_000 {
				t.Errorf("the answer has %d bytes", rec.Body.Len())
			}
		})
	}
}
