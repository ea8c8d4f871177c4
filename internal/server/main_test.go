package server_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// apps maps names to applications.
type apps map[string]*agent.Agent

func (a apps) Names() []string { return slices.Sorted(maps.Keys(a)) }

func (a apps) Agent(name string) (*agent.Agent, error) {
	if root, ok := a[name]; ok {
		return root, nil
	}
	return nil, run.ErrUnknownApp
}

func (a apps) Language(string) string   { return "go" }
func (a apps) ReloadError(string) error { return nil }

func (a apps) Dir(string) string { return "" }

// weather is the fixture's application.
func weather() apps { return apps{"weather": testkit.WeatherApp()} }

// scripts returns an application with the tool tick whose model plays steps.
func scripts(t *testing.T, steps ...scripted.Step) apps {
	t.Helper()
	return scriptedApp(t, scripted.New(steps...))
}

func scriptedApp(t *testing.T, m *scripted.Model) apps {
	t.Helper()
	tick := tool.Must(tool.New(tool.Declaration{Name: "tick", Description: "Ticks."},
		func(*tool.Context, struct{}) (string, error) { return "tock", nil }))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "clock", Model: m, Tools: []tool.Tool{tick}})
	if err != nil {
		t.Fatal(err)
	}
	return apps{"weather": root}
}

// serve starts a server that ends with the test. It has no socket: tests call its handler.
func serve(t *testing.T, found apps, change ...func(*server.Options)) *server.Server {
	t.Helper()
	o := server.Options{Store: memstore.New(0), Apps: found, Log: slog.New(slog.DiscardHandler), Version: "1.2.3"}
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "parley_up 1\n") })
	for _, f := range change {
		f(&o)
	}
	o.Engine = run.NewEngine(run.Options{Store: o.Store, Agent: found.Agent, Log: o.Log})
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		o.Engine.Shutdown(ctx)
	})
	return server.New(o)
}

// withUI enables everything that depends on the UI.
func withUI(o *server.Options) {
	o.UI = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html>"))
	})
	o.SignIn.Takes = server.TakesToken
	o.Evals = &eval.Service{Dir: o.Apps.Dir}
}

const session1 = "/apps/weather/users/u/sessions/s1"

// message returns the body of a run request for session1.
func message(text string) string {
	return `{"appName":"weather","userId":"u","sessionId":"s1","newMessage":{"parts":[{"text":"` + text + `"}]}}`
}

// request creates a request. Headers are written as "Name: value".
func request(t *testing.T, method, path, body string, headers ...string) *http.Request {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	if body == "" {
		req.Body, req.GetBody = http.NoBody, func() (io.ReadCloser, error) { return http.NoBody, nil }
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	return req
}

// do sends a request and checks the response against the contract.
func do(t *testing.T, srv http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := request(t, method, path, body, headers...)
	rec := httptest.NewRecorder()
	srv.ServeHTTP(rec, req)
	resp := rec.Result()
	resp.Request = req
	testkit.CheckExchange(t, resp, rec.Body.Bytes())
	return rec
}

// later posts in the background.
func later(t *testing.T, srv http.Handler, path, body string) <-chan *httptest.ResponseRecorder {
	t.Helper()
	c := make(chan *httptest.ResponseRecorder, 1)
	go func() { c <- do(t, srv, http.MethodPost, path, body) }()
	return c
}

func wantStatus(t *testing.T, rec *httptest.ResponseRecorder, want int) {
	t.Helper()
	if rec.Code != want {
		t.Fatalf("status %d, want %d: %s", rec.Code, want, rec.Body)
	}
}

var key1 = session.Key{App: "weather", User: "u", ID: "s1"}
