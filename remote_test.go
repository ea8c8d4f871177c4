package parley_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/a2a"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/session"
)

// remoteServers are two servers: the agent of the first is one of the second.
func remoteServers(t *testing.T) (near *parley.Server, far string, fixture *testkit.Fixture) {
	t.Helper()
	fixture = testkit.NewFixture()
	open := func(cfg parley.Config) *parley.Server {
		srv, err := parley.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { srv.Close(context.Background()) })
		return srv
	}
	other := open(parley.Config{Agents: fixture.Apps()})
	web := httptest.NewServer(other.Handler())
	t.Cleanup(web.Close)
	remote, err := a2a.New(a2a.Config{Card: web.URL + "/a2a/weather"})
	if err != nil {
		t.Fatal(err)
	}
	root := agent.Must(agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: "far", Description: "Far away."}, Remote: remote}))
	near = open(parley.Config{Agents: map[string]*agent.Agent{"near": root}})
	return near, web.URL, fixture
}

// TestRemoteAgent has conversations with an agent of another server.
func TestRemoteAgent(t *testing.T) {
	t.Parallel()
	near, _, _ := remoteServers(t)
	answer := func(name, id, response string) *event.Content {
		return &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: id, Name: name, Response: json.RawMessage(response)}}}}
	}
	for name, turns := range map[string][]struct {
		say  string // or the answer to the open call
		want string
	}{
		"two turns":            {{"hello", "far: You said: hello"}, {"again", "far: You said: again"}},
		"a tool":               {{"weather Paris", "sunny"}},
		"a confirmation":       {{"danger logs", "adk_request_confirmation"}, {`{"confirmed":true}`, `"deleted"`}},
		"a refused one":        {{"danger logs", "adk_request_confirmation"}, {`{"confirmed":false}`, "rejected"}},
		"a question":           {{"ask", "adk_request_input"}, {`{"n":3}`, "3"}},
		"a long-running tool":  {{"long", "ask_approval"}, {`{"status":"approved"}`, "approved"}},
		"the model has failed": {{"fail", "error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := session.Key{App: "near", User: "user", ID: strings.ReplaceAll(name, " ", "-")}
			var open *event.FunctionCall
			for _, turn := range turns {
				message := event.Text(event.RoleUser, turn.say)
				if strings.HasPrefix(turn.say, "{") {
					if open == nil {
						t.Fatal("there is no open call")
					}
					message = answer(open.Name, open.ID, turn.say)
				}
				run, err := near.Start(t.Context(), parley.Request{App: key.App, User: key.User, Session: key.ID, Message: message})
				if err != nil {
					t.Fatal(err)
				}
				var said []string
				open = nil
				for ev, err := range run.Events(t.Context()) {
					if err != nil {
						said = append(said, "error "+err.Error())
						break
					}
					if ev.Author == event.User {
						continue
					}
					doc, err := ev.MarshalJSON()
					if err != nil {
						t.Fatal(err)
					}
					said = append(said, ev.Author+": "+ev.Content.Text()+" "+string(doc))
					if len(ev.LongRunningToolIDs) > 0 {
						for _, call := range ev.FunctionCalls() {
							open = call
						}
					}
				}
				if got := strings.Join(said, "\n"); !strings.Contains(got, turn.want) {
					t.Errorf("%s: %s\nwant %s", turn.say, got, turn.want)
				}
			}
		})
	}
}

// TestRemoteAgentCancelled cancels a run in the middle of a text, and with it the task
// of the other server.
func TestRemoteAgentCancelled(t *testing.T) {
	t.Parallel()
	near, far, _ := remoteServers(t)
	run, err := near.Start(t.Context(), parley.Request{App: "near", User: "user", Session: "s", Stream: true, Message: event.Text(event.RoleUser, "story gate")})
	if err != nil {
		t.Fatal(err)
	}
	var task string
	for ev, err := range run.Events(t.Context()) {
		if err != nil {
			break // the run was cancelled
		}
		if ev.Partial && task == "" {
			if err := json.Unmarshal(ev.CustomMetadata["a2a:task_id"], &task); err != nil {
				t.Fatal(err)
			}
			if err := run.Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if task == "" {
		t.Fatal("there was no partial event")
	}
	remote, err := a2a.New(a2a.Config{Card: far + "/a2a/weather"})
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range remote.Follow(t.Context(), nil, task) { // to its end
		if err != nil {
			t.Fatal(err)
		}
		if u.Ended && (u.Event == nil || u.Event.ErrorCode != "TASK_CANCELED") {
			t.Errorf("the task ended with %+v", u.Event)
		}
	}
}

// TestRemoteAgentLogin has an agent of another server that needs a login there. Its
// task goes on by itself when the user has logged in.
func TestRemoteAgentLogin(t *testing.T) {
	t.Parallel()
	far := newManaged(t)
	remote, err := a2a.New(a2a.Config{Card: far.public + "/a2a/calendar"})
	if err != nil {
		t.Fatal(err)
	}
	root := agent.Must(agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: "far"}, Remote: remote}))
	near, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"near": root}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(context.Background()) })
	run, err := near.Start(t.Context(), parley.Request{App: "near", User: "user", Session: "s", Message: event.Text(event.RoleUser, "What is on?")})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for ev, err := range run.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		text := ev.Content.Text()
		said = append(said, text)
		if _, address, ok := strings.Cut(text, "Log in to continue. "); ok {
			b := newBrowser(t)
			back, err := far.provider.Login(t.Context(), far.begin(b, address), "ann", true)
			if err != nil {
				t.Fatal(err)
			}
			if last := b.get(back); last.StatusCode != http.StatusOK {
				t.Fatalf("the way back: %d %s", last.StatusCode, last.text)
			}
		}
	}
	if len(said) != 2 || said[len(said)-1] != "That is all." {
		t.Errorf("the conversation is %q", said)
	}
}
