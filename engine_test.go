package parley_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit/sessionservice"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// A session service that fails in the middle of a run ends the run, in words that
// are for clients. When it is back, the conversation continues, with a history that
// models accept.
func TestSessionServiceFailsInARun(t *testing.T) {
	service := sessionservice.New(t)
	var broken atomic.Bool
	service.Break(func(r *http.Request) *sessionservice.Fault {
		if broken.Load() && strings.HasSuffix(r.URL.Path, ":appendEvent") {
			return &sessionservice.Fault{Status: http.StatusForbidden}
		}
		return nil
	})
	breaks, err := tool.New(tool.Declaration{Name: "cut", Description: "Cuts the line."}, func(*tool.Context, struct{}) (string, error) {
		broken.Store(true)
		return "done", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/run", "/run_sse"} {
		t.Run(path, func(t *testing.T) {
			broken.Store(false)
			script := scripted.New(scripted.Call("cut", struct{}{}), scripted.Say("All is well."))
			root, err := agent.NewLLM(agent.LLMConfig{Name: "echo", Model: script, Tools: []tool.Tool{breaks}})
			if err != nil {
				t.Fatal(err)
			}
			srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Sessions: parley.SessionConfig{URL: service.StoreURL()}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(t.Context())
			web := httptest.NewServer(srv.Handler())
			defer web.Close()
			user := strings.Trim(path, "/")
			post := func(path, body string) (int, string) {
				t.Helper()
				resp, err := http.Post(web.URL+path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return resp.StatusCode, string(text)
			}
			if status, text := post("/apps/app/users/"+user+"/sessions/s", ""); status != http.StatusOK {
				t.Fatal(status, text)
			}
			message := fmt.Sprintf(`{"appName":"app","userId":%q,"sessionId":"s","newMessage":{"parts":[{"text":"Go."}]}}`, user)

			status, text := post(path, message)
			if path == "/run" && status != http.StatusInternalServerError || !strings.Contains(text, "the session store failed") {
				t.Errorf("%d %s", status, text)
			}
			if !strings.Contains(text, `"name":"cut"`) {
				t.Errorf("what was stored before is not in the answer: %s", text)
			}
			for _, private := range []string{"secret-internal-host", "PERMISSION_DENIED", "reasoningEngines", service.URL} {
				if strings.Contains(text, private) {
					t.Errorf("%q leaks: %s", private, text)
				}
			}
			if status, text := post(path, message); path == "/run" && status == http.StatusOK || strings.Contains(text, "All is well") {
				t.Errorf("a message was accepted that is stored nowhere: %d %s", status, text)
			}

			broken.Store(false)
			if status, text = post(path, message); status != http.StatusOK || !strings.Contains(text, "All is well.") {
				t.Errorf("the session does not continue: %d %s", status, text)
			}
			resp, err := http.Get(web.URL + "/apps/app/users/" + user + "/sessions/s")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			log, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			calls, answers := strings.Count(string(log), `"functionCall"`), strings.Count(string(log), `"functionResponse"`)
			if calls != 1 || answers != 1 || !strings.Contains(string(log), `"status":"interrupted"`) {
				t.Errorf("%d calls have %d answers: %s", calls, answers, log)
			}
		})
	}
}

// The session service has no index of texts and of feedback: the routes that need one say so.
func TestSessionServiceCannotSearch(t *testing.T) {
	root, err := agent.NewLLM(agent.LLMConfig{Name: "echo", Model: scripted.New()})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{
		Agents: map[string]*agent.Agent{"app": root}, Sessions: parley.SessionConfig{URL: sessionservice.New(t).StoreURL()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	for path, want := range map[string]string{"/apps/app/users/u/search?q=word": "cannot search", "/apps/app/feedback": "feedback"} {
		rec := httptest.NewRecorder()
		srv.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code != http.StatusNotImplemented || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}
