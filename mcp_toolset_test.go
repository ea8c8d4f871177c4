package parley_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/mcp"
)

// An agent has an application of another server as a tool: it holds a conversation with
// it, answers its question, and cannot approve a call in place of the user.
func TestToolsetOfAnotherServer(t *testing.T) {
	t.Parallel()
	far, err := parley.Open(t.Context(), parley.Config{Agents: testkit.NewFixture().Apps()})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(far.Handler())
	t.Cleanup(func() {
		web.Close()
		far.Close(context.Background())
	})
	toolset, err := mcp.New(mcp.Config{HTTP: &mcp.HTTP{URL: web.URL + "/apps/weather/mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	// The model passes the message of the user on, in the session of the last result,
	// and answers questions with 4 or yes.
	root, err := agent.NewLLM(agent.LLMConfig{Name: "near", Toolsets: []tool.Toolset{toolset}, Model: scripted.Func(relay)})
	if err != nil {
		t.Fatal(err)
	}
	near, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"near": root}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(context.Background()) })
	key := parley.NewSession{Key: session.Key{App: "near", User: "u", ID: "s"}}
	if _, err := near.Sessions().Create(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	say := func(text string) (answer string) {
		t.Helper()
		for ev, err := range near.Stream(t.Context(), parley.Request{App: "near", User: "u", Session: "s", Message: event.Text(event.RoleUser, text)}) {
			if err != nil {
				t.Fatal(err)
			}
			if said := ev.Content.Text(); said != "" {
				answer = said
			}
		}
		return answer
	}
	for _, tt := range [][2]string{
		{"weather in Oslo", "It is sunny in Oslo."}, {"keep color blue", "keep returned"}, {"recall color", "blue"}, // one session
		{"ask", `"n":4`}, {"danger one", "cannot approve"},
	} {
		if got := say(tt[0]); !strings.Contains(got, tt[1]) {
			t.Errorf("%s: %s", tt[0], got)
		}
	}
}

// relay is a model that uses the tool weather.
func relay(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	type result struct {
		Session, Text string
		Error         string `json:"error_message"`
		Questions     []struct{ ID, Kind string }
	}
	var last result // of the session, and what the latest call has said
	for _, c := range req.Contents() {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				got := result{Session: last.Session}
				_ = json.Unmarshal(p.FunctionResponse.Response, &got)
				last = got
			}
		}
	}
	args := map[string]any{"message": scripted.LastUserText(req)}
	if last.Session != "" {
		args["session"] = last.Session
	}
	switch {
	case len(scripted.LastResponses(req)) == 0:
	case len(last.Questions) > 0:
		answers := map[string]any{}
		for _, q := range last.Questions {
			answers[q.ID] = map[string]any{"n": 4}
			if q.Kind == "confirmation" {
				answers[q.ID] = true
			}
		}
		args["message"], args["answers"] = "", answers
	default:
		return scripted.Say(fmt.Sprint(last.Text, last.Error))(ctx, req)
	}
	return scripted.Call("weather", args)(ctx, req)
}
