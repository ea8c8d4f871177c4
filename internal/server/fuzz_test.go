package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/testkit"
)

// FuzzRunRequest makes sure that no body is too much for the decoder of run
// requests, and that what passes it and the engine's checks has a valid key and
// a message that is stored as the contract says.
func FuzzRunRequest(f *testing.F) {
	for _, message := range []string{
		`{"role":"user","parts":[{"text":"hi"}]}`,
		`{"parts":[{"inline_data":{"mime_type":"image/png","data":"_-8"}},{"fileData":{"fileUri":"f"}}]}`,
		`{"parts":[{"functionResponse":{"id":"c","name":"f","response":"{\"a\":1}","willContinue":true}}]}`,
		`{"parts":[{"functionCall":{"name":"f","args":{}}}]}`,
		`{"parts":[{"text":"","thought":true,"thoughtSignature":"AA==","videoMetadata":{}}]}`,
		`{"parts":[{"executableCode":{"code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}]}`,
		`{"role":"model","parts":[]}`, `{"parts":[{}]}`, `null`, `[`,
	} {
		f.Add(`{"appName":"a","userId":"u","sessionId":"s","streaming":true,"stateDelta":{"k":null},"customMetadata":{"m":1},"newMessage":` + message + `}`)
	}
	f.Add(`{"app_name":"a","user_id":"\u0000","session_id":"","new_message":{"parts":[{"text":"\ud800"}]}}`)
	f.Add(``)
	f.Add("{\"appName\":\"\xff\"}")

	root, err := agent.New(agent.Config{Name: "root"}, func(*agent.Context, agent.Emit) error { return nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		store := session.NewMemory(0)
		engine := run.NewEngine(run.Options{
			Store: store, Log: slog.New(slog.DiscardHandler),
			Agent: func(string) (*agent.Agent, error) { return root, nil },
		})
		defer engine.Shutdown(t.Context())
		s := New(Options{Engine: engine, Store: store, MaxBody: 1 << 16})
		refused := func(err error) {
			if e := toHTTP(err); e.status < 400 || e.status >= 500 || e.message == "" {
				t.Errorf("%v is answered with %d", err, e.status)
			}
		}

		req, err := s.runRequest(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/run", strings.NewReader(body)))
		if err != nil {
			refused(err)
			return
		}
		if err := req.Key.Check(); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Create(t.Context(), session.NewSession{Key: req.Key}, nil); err != nil {
			t.Fatal(err)
		}
		started, err := engine.Start(t.Context(), req.Request)
		if err != nil {
			refused(err)
			return
		}
		if _, err := started.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := req.Message; m.Role != event.RoleUser || len(m.Parts) == 0 || len(m.FunctionCalls()) > 0 {
			t.Errorf("message %+v", m)
		}
		stored, err := store.Get(t.Context(), req.Key, session.Read{})
		if err != nil {
			t.Fatal(err)
		}
		testkit.CheckSchema(t, "Event", stored.Entries[0].JSON)
	})
}
