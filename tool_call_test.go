package parley_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// The call of a single tool can be repeated like any other run: without calling the tool.
func TestReplayToolCall(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]bool{"recorded": true, "from the log": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made atomic.Int64
			count := tool.Must(tool.New(tool.Declaration{Name: "count"}, func(*tool.Context, struct{}) (int64, error) { return made.Add(1), nil }))
			root := must(t)(agent.NewLLM(agent.LLMConfig{Name: "counter", Model: scripted.New(), Tools: []tool.Tool{count}}))
			cfg := parley.Config{Agents: map[string]*agent.Agent{"app": root}, UI: parley.UIConfig{Enabled: true}}
			if cfg.Recording.Share = 1; !records {
				cfg.Recording.Share = -1
			}
			srv, err := parley.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { srv.Close(context.Background()) })
			listening := httptest.NewServer(srv.Handler())
			t.Cleanup(listening.Close)
			post := func(path, body string, into any) {
				t.Helper()
				resp, err := http.Post(listening.URL+path, "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				doc, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode >= 300 {
					t.Fatalf("%d %s %v", resp.StatusCode, doc, err)
				}
				if err := json.Unmarshal(doc, into); err != nil {
					t.Fatal(err)
				}
			}
			var run struct{ ID, SessionID string }
			post("/dev/apps/app/users/u/tools/call", `{"agent":"counter","tool":"count"}`, &run)
			path := "/apps/app/users/u/sessions/" + run.SessionID + "/runs/" + run.ID
			resp, err := http.Get(listening.URL + path + "/events") // until it has ended
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			before := made.Load()
			var report struct {
				Same  bool
				Calls []struct{ Name string }
			}
			post("/dev"+path+"/replay", `{}`, &report)
			if !report.Same || len(report.Calls) != 1 || report.Calls[0].Name != "count" || made.Load() != before {
				t.Errorf("the replay: %+v, and the tool was called %d times", report, made.Load()-before)
			}
		})
	}
}
