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
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// FuzzRunRequest checks that the decoder of run requests handles every body, and that what passes it and the engine's
// checks has a valid key and a message that is stored as the contract says.
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
		store := memstore.New(0)
		engine := run.NewEngine(run.Options{
			Store: store, Log: slog.New(slog.DiscardHandler),
			Agent: func(string) (*agent.Agent, error) { return root, nil },
		})
		defer engine.Shutdown(t.Context())
		s := New(Options{Engine: engine, Store: store, Network: Network{MaxBody: 1 << 16}})
		refused := func(err error) {
			if e := toHTTP(err, subject{}); e.status < 400 || e.status >= 500 || e.message == "" {
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

// FuzzImport checks that an import handles every body, that the result conforms to the contract, and that it can be
// exported again.
func FuzzImport(f *testing.F) {
	const head = `{"parley":1,"state":{"a":1,"temp:c":3,"user:d":null}}` + "\n"
	for _, events := range []string{
		``,
		`{"id":"1","invocationId":"e-1","author":"user","timestamp":1.5,"content":{"role":"user","parts":[{"text":"hi"}]}}`,
		`{"id":"1","author":"a","content":{"parts":[{"functionCall":{"id":"c","name":"f","args":{}}}]},"longRunningToolIds":["c"]}`,
		`{"id":"1","author":"a","actions":{"stateDelta":{"k":[null],"temp:t":1,"secret:s":1},"rewindBeforeInvocationId":"e-0"}}`,
		`{"id":"1","author":"a","usageMetadata":{"promptTokenCount":0},"customMetadata":{},"branch":"","errorCode":""}`,
		`{"id":"1","author":"a","timestamp":1e300}`, `{"id":"1\n","author":"\u0000"}`, "{}\n{", "\r\n", "\xff",
	} {
		f.Add(head + events)
	}
	f.Add("")
	f.Add(`{"parley":1e0}`)
	f.Add(`{"parley":1,"state":{"secret:b":2}}`)
	root, err := agent.New(agent.Config{Name: "root"}, func(*agent.Context, agent.Emit) error { return nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		store := memstore.New(0)
		engine := run.NewEngine(run.Options{
			Store: store, Log: slog.New(slog.DiscardHandler),
			Agent: func(string) (*agent.Agent, error) { return root, nil },
		})
		defer engine.Shutdown(t.Context())
		s := New(Options{Engine: engine, Store: store, Log: slog.New(slog.DiscardHandler), Network: Network{MaxBody: 1 << 16}})
		send := func(method, path, body string) *httptest.ResponseRecorder {
			req := httptest.NewRequest(method, "/apps/a/users/u/sessions/"+path, strings.NewReader(body))
			req.Header.Set("Content-Type", linesType)
			rec := httptest.NewRecorder()
			s.ServeHTTP(rec, req)
			resp := rec.Result()
			resp.Request = req
			testkit.CheckExchange(t, resp, rec.Body.Bytes())
			return rec
		}
		if made := send(http.MethodPost, "s/import", body); made.Code != http.StatusOK {
			if made.Code < 400 || made.Code >= 500 {
				t.Errorf("refused with %d", made.Code)
			}
			return
		}
		export := send(http.MethodGet, "s/export", "").Body.String()
		if strings.Contains(export, `"secret:b":`) {
			t.Errorf("exported %s", export)
		}
		if again := send(http.MethodPost, "t/import", export); again.Code != http.StatusOK {
			t.Fatalf("the export\n%s\nis refused: %s", export, again.Body)
		}
		_, events, _ := strings.Cut(export, "\n")
		if _, again, _ := strings.Cut(send(http.MethodGet, "t/export", "").Body.String(), "\n"); again != events {
			t.Errorf("exported\n%s\nand then\n%s", events, again)
		}
	})
}
