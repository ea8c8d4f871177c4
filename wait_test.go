package parley_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// careful is an agent with a tool that has to be confirmed.
func careful() *agent.Agent {
	remove := tool.Must(tool.New(tool.Declaration{Name: "remove"}, func(*tool.Context, struct{}) (string, error) { return "removed", nil }))
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "calendar", Tools: []tool.Tool{tool.Confirm(remove, nil)},
		Model: scripted.New(scripted.Call("remove", nil), scripted.Say("That is all.")),
	})
	if err != nil {
		panic(err)
	}
	return root
}

// Whatever a run waits for, it does so for the same time. Then the answer is
// refused, and the run has failed.
func TestLateAnswers(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		ttl, after time.Duration
		status     int
	}{
		{0, 6 * day, http.StatusOK},
		{0, 8 * day, http.StatusConflict},
		{time.Hour, 2 * time.Hour, http.StatusConflict},
		{-1, 100 * day, http.StatusOK},
	} {
		for _, kind := range []string{"login", "confirmation"} {
			t.Run(fmt.Sprint(kind, tt.ttl, tt.after), func(t *testing.T) {
				var ahead atomic.Int64
				p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
				root := careful()
				if kind == "login" {
					root = calendar.Agent(p)
				}
				srv, err := parley.Open(t.Context(), parley.Config{
					Agents: map[string]*agent.Agent{"calendar": root}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
					Sessions: parley.SessionConfig{WaitTTL: tt.ttl}, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
					Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
				})
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Close(t.Context())
				v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
				v.do("POST", "/apps/calendar/users/u/sessions/s", "")
				events := v.run(`{"text":"Go on."}`)
				asked := events[1].FunctionCalls()[0]
				answer := fmt.Sprintf(`{"functionResponse":{"id":%q,"name":%q,"response":{"confirmed":true}}}`, asked.ID, asked.Name)
				if kind == "login" {
					answer = v.login(p, events)
				}
				ahead.Store(int64(tt.after))
				rec := v.do("POST", "/run", `{"appName":"calendar","userId":"u","sessionId":"s","newMessage":{"parts":[`+answer+`]}}`)
				if rec.Code != tt.status {
					t.Fatalf("status %d, want %d: %s", rec.Code, tt.status, rec.Body)
				}
				if tt.status == http.StatusOK {
					return
				}
				text := "the time to answer this function call is over: " + asked.ID + ". Send a message, and you are asked again if it is still needed"
				if want := fmt.Sprintf(`{"error":%q,"detail":%q}`, text, text); rec.Body.String() != want {
					t.Errorf("the error is %s, want %s", rec.Body, want)
				}
				var list []struct {
					Status string
					Error  struct{ Type, Message string }
				}
				body := v.do("GET", "/apps/calendar/users/u/sessions/s/runs", "").Body
				if err := json.Unmarshal(body.Bytes(), &list); err != nil || len(list) != 1 || list[0].Status != "failed" ||
					list[0].Error.Type != "expired" || !strings.Contains(list[0].Error.Message, "there was no answer") {
					t.Errorf("the runs are %s, %v", body, err)
				}
				// The user may continue, and is asked again if necessary.
				if kind == "confirmation" {
					if events := v.run(`{"text":"Never mind."}`); events[0].Content.Text() != "That is all." {
						t.Errorf("events %v", events)
					}
				}
			})
		}
	}
}
