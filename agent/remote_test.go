package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// otherServer is a server with one agent, which survives the processes that call it.
type otherServer struct {
	// says is what the agent says to a message.
	says func(m *agent.RemoteMessage) []*agent.RemoteUpdate
	// breaks is after how many updates each connection breaks; 0 for never.
	breaks int

	mu        sync.Mutex
	messages  []*agent.RemoteMessage // each once
	tasks     map[string][]*agent.RemoteUpdate
	byMessage map[string]string // tasks
	follows   int
	cancelled []string
	tokens    []string
}

func (o *otherServer) Send(_ context.Context, auth *agent.RemoteAuth, m *agent.RemoteMessage) iter.Seq2[*agent.RemoteUpdate, error] {
	o.mu.Lock()
	defer o.mu.Unlock()
	if auth != nil {
		o.tokens = append(o.tokens, auth.Credential.OAuth2.AccessToken)
	}
	task, known := o.byMessage[m.ID]
	if !known {
		if task = m.Task; task == "" {
			task = fmt.Sprintf("task-%d", len(o.tasks)+1)
		}
		if o.tasks == nil {
			o.tasks, o.byMessage = map[string][]*agent.RemoteUpdate{}, map[string]string{}
		}
		o.messages = append(o.messages, m)
		o.byMessage[m.ID] = task
		updates := []*agent.RemoteUpdate{{}}
		for i, u := range o.says(m) {
			if u.Event != nil {
				u.ID = fmt.Sprintf("%s/%d", m.ID, i)
			}
			updates = append(updates, u)
		}
		for _, u := range updates {
			u.Task, u.Conversation = task, "conversation"
		}
		o.tasks[task] = updates
	}
	return o.updates(task)
}

func (o *otherServer) Follow(_ context.Context, _ *agent.RemoteAuth, task string) iter.Seq2[*agent.RemoteUpdate, error] {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.follows++
	return o.updates(task)
}

func (o *otherServer) updates(task string) iter.Seq2[*agent.RemoteUpdate, error] {
	updates, breaks := o.tasks[task], o.breaks
	if o.breaks > 0 {
		o.breaks++ // the next connection lasts longer
	}
	return func(yield func(*agent.RemoteUpdate, error) bool) {
		for i, u := range updates {
			if breaks > 0 && i == breaks {
				yield(nil, &agent.RemoteError{Err: errors.New("connection reset")})
				return
			}
			c := *u
			if u.Event != nil {
				ev := *u.Event
				c.Event = &ev
			}
			if !yield(&c, nil) {
				return
			}
		}
	}
}

func (o *otherServer) Cancel(_ context.Context, _ *agent.RemoteAuth, task string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cancelled = append(o.cancelled, task)
	return nil
}

func (o *otherServer) agent(name string) *agent.Agent {
	return agent.Must(agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: name, Description: "Far away."}, Remote: o}))
}

func remoteText(text string) *agent.RemoteUpdate {
	return &agent.RemoteUpdate{Event: &event.Event{Content: event.Text(event.RoleModel, text)}}
}

func oneLine(events []*event.Event) string {
	return strings.ReplaceAll(strings.ReplaceAll(story(events), " (end)", ""), "\n", "|")
}

// heard is what the agent of the other server was sent.
func (o *otherServer) heard() string {
	var lines []string
	for _, m := range o.messages {
		doc, err := json.Marshal(&event.Content{Parts: m.Parts})
		if err != nil {
			panic(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", m.Task, m.Conversation, doc))
	}
	return strings.Join(lines, "\n")
}

func TestRemote(t *testing.T) {
	t.Parallel()
	echo := func(m *agent.RemoteMessage) []*agent.RemoteUpdate {
		last := m.Parts[len(m.Parts)-1].Text
		return []*agent.RemoteUpdate{remoteText("heard"), remoteText(last), {Ended: true}}
	}
	asks := func(m *agent.RemoteMessage) []*agent.RemoteUpdate {
		if len(m.Parts) == 1 && m.Parts[0].FunctionResponse != nil {
			return []*agent.RemoteUpdate{remoteText("thanks"), {Ended: true}}
		}
		question := &event.Event{
			Content:            &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{ID: "q1", Name: "choose", Args: json.RawMessage(`{}`)}}}},
			LongRunningToolIDs: []string{"q1"},
		}
		return []*agent.RemoteUpdate{remoteText("hm"), {Event: question, Input: true, Ended: true}}
	}
	tests := map[string]struct {
		says  func(m *agent.RemoteMessage) []*agent.RemoteUpdate
		tree  func(o *otherServer) *agent.Agent
		turns []string
		want  string // the log
		heard string // what was sent
		from  int    // the first moments are left out, by the number of events
	}{
		"two turns": {
			says: echo, turns: []string{"one", "two"},
			want:  "user: one|far: heard|far: one|user: two|far: heard|far: two",
			heard: `  {"parts":[{"text":"one"}]}|` + ` conversation {"parts":[{"text":"two"}]}`,
		},
		"a question": {
			says: asks, turns: []string{"one", "answer choose"},
			want:  `user: one|far: hm|far: call choose{}|user: choose returned {"ok":true}|far: thanks`,
			heard: `  {"parts":[{"text":"one"}]}|task-1 conversation {"parts":[{"functionResponse":{"id":"q1","name":"choose","response":{"ok":true}}}]}`,
		},
		"more input": {
			says: func(m *agent.RemoteMessage) []*agent.RemoteUpdate {
				u := remoteText("which one?")
				u.Input, u.Ended = m.Task == "", true
				return []*agent.RemoteUpdate{u}
			},
			turns: []string{"one", "this"},
			want:  "user: one|far: which one?|user: this|far: which one?",
			heard: `  {"parts":[{"text":"one"}]}|task-1 conversation {"parts":[{"text":"this"}]}`,
		},
		"after another agent": {
			says: echo, turns: []string{"one"},
			tree: func(o *otherServer) *agent.Agent {
				first := mustLLM(agent.LLMConfig{Name: "first", Model: scripted.New(scripted.Say("well"), scripted.Say("well"))})
				return agent.Must(agent.NewSequential(agent.Config{Name: "both", SubAgents: []*agent.Agent{first, o.agent("far")}}))
			},
			want:  "user: one|first: well|far: heard|far: [first] said: well",
			heard: `  {"parts":[{"text":"one"},{"text":"For context:"},{"text":"[first] said: well"}]}`,
		},
		"twice": {
			says: echo, turns: []string{"one"},
			tree: func(o *otherServer) *agent.Agent {
				return agent.Must(agent.NewSequential(agent.Config{Name: "both", SubAgents: []*agent.Agent{o.agent("far"), o.agent("farther")}}))
			},
			want:  "user: one|far: heard|far: one|farther: heard|farther: [far] said: one",
			heard: `  {"parts":[{"text":"one"}]}|` + `  {"parts":[{"text":"one"},{"text":"For context:"},{"text":"[far] said: heard"},{"text":"For context:"},{"text":"[far] said: one"}]}`,
		},
		"as a tool": {
			says: echo, turns: []string{"one"}, from: 2, // before that, the model makes another call
			tree: func(o *otherServer) *agent.Agent {
				steps := []scripted.Step{scripted.Call("far", map[string]string{"request": "help"}), scripted.Say("done")}
				m := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
					return steps[len(req.Contents())/2](ctx, req)
				})
				return mustLLM(agent.LLMConfig{Name: "near", Model: m, Tools: []tool.Tool{agent.AsTool(o.agent("far"))}})
			},
			want:  `user: one|near: call far{"request":"help"}|near: far returned {"result":"help"}|near: done`,
			heard: `  {"parts":[{"text":"help"}]}`,
		},
		"it fails": {
			says: func(*agent.RemoteMessage) []*agent.RemoteUpdate {
				return []*agent.RemoteUpdate{{Event: &event.Event{ErrorCode: "FAILED", ErrorMessage: "no"}, Ended: true}}
			},
			turns: []string{"one"},
			want:  "user: one|far: error FAILED", heard: `  {"parts":[{"text":"one"}]}`,
		},
	}
	for name, test := range tests {
		if test.tree == nil {
			test.tree = func(o *otherServer) *agent.Agent { return o.agent("far") }
		}
		for _, breaks := range []int{0, 1, 2} {
			t.Run(fmt.Sprintf("%s/breaks after %d", name, breaks), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := &otherServer{says: test.says, breaks: breaks}
					tp := &tape{state: map[string]json.RawMessage{}}
					for i, text := range test.turns {
						tp.id, tp.notes, tp.pending, tp.moments = fmt.Sprintf("run-%d", i+1), map[string][]byte{}, map[string][]byte{}, nil
						message, resume := messageOf(t, tp, text)
						if err := tp.emit(&event.Event{Author: event.User, Content: message}); err != nil {
							t.Fatal(err)
						}
						play := func(tp *tape, takeover bool) {
							inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: tp.id, UserContent: message, Log: tp, Journal: journal{tp}, Takeover: takeover, Resume: resume, MaxModelCalls: 5}
							if err := inv.Start(t.Context(), test.tree(o), tp.emit); err != nil && !errors.Is(err, agent.ErrWaiting) {
								t.Fatal(err)
							}
						}
						play(tp, false)
						for _, at := range tp.moments {
							if at.events < test.from {
								continue
							}
							found := tp.cut(t, at)
							play(found, true)
							if got, want := oneLine(found.events), oneLine(tp.events); got != want {
								t.Fatalf("continued after %d events with %q:\n%s\nwithout the crash:\n%s", at.events, at.notes, got, want)
							}
						}
					}
					if got := oneLine(tp.events); got != test.want {
						t.Errorf("the log is\n%s\nwant\n%s", got, test.want)
					}
					if got := strings.ReplaceAll(o.heard(), "\n", "|"); got != test.heard {
						t.Errorf("the other server was sent\n%s\nwant\n%s", got, test.heard)
					}
					if breaks > 0 && o.follows == 0 && name != "as a tool" {
						t.Error("no task was followed again")
					}
				})
			})
		}
	}
}

// TestRemoteCancel ends a run in the middle of a task.
func TestRemoteCancel(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]int{errors.New("cancelled"): 1, agentrt.Moved("elsewhere"): 0} {
		o := &otherServer{says: func(*agent.RemoteMessage) []*agent.RemoteUpdate {
			return []*agent.RemoteUpdate{remoteText("heard"), {Ended: true}}
		}}
		ctx, cancel := context.WithCancelCause(t.Context())
		tp := newTape()
		if err := tp.emit(&event.Event{Author: event.User, Content: event.Text(event.RoleUser, "go")}); err != nil {
			t.Fatal(err)
		}
		inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: tp.id, Log: tp, Journal: journal{tp}}
		err := inv.Start(ctx, o.agent("far"), func(*event.Event) error {
			cancel(cause)
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || len(o.cancelled) != want {
			t.Errorf("%v: %v, cancelled %q, want %d tasks", cause, err, o.cancelled, want)
		}
	}
}

// TestRemotePatience has a server that never comes back.
func TestRemotePatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tp := newTape()
		if err := tp.emit(&event.Event{Author: event.User, Content: event.Text(event.RoleUser, "go")}); err != nil {
			t.Fatal(err)
		}
		a := agent.Must(agent.NewRemote(agent.RemoteConfig{Config: agent.Config{Name: "far"}, Remote: &absent{}}))
		inv := &agentrt.Invocation{ID: tp.id, Log: tp, Journal: journal{tp}}
		if err := inv.Start(t.Context(), a, tp.emit); err != nil {
			t.Fatal(err)
		}
		last := tp.events[len(tp.events)-1]
		if last.ErrorCode != "REMOTE_AGENT" || last.ErrorMessage != "far: the server of the agent did not answer for 2m0s: connection refused" {
			t.Errorf("%s: %s", last.ErrorCode, last.ErrorMessage)
		}
	})
}

type absent struct{ otherServer }

func (*absent) Send(context.Context, *agent.RemoteAuth, *agent.RemoteMessage) iter.Seq2[*agent.RemoteUpdate, error] {
	return func(yield func(*agent.RemoteUpdate, error) bool) {
		yield(nil, &agent.RemoteError{Err: errors.New("connection refused")})
	}
}

// TestRemoteLogin asks the user to log in before anything is sent.
func TestRemoteLogin(t *testing.T) {
	t.Parallel()
	o := &otherServer{says: func(*agent.RemoteMessage) []*agent.RemoteUpdate {
		return []*agent.RemoteUpdate{remoteText("hello"), {Ended: true}}
	}}
	a := agent.Must(agent.NewRemote(agent.RemoteConfig{
		Config: agent.Config{Name: "far"}, Remote: o,
		Auth: keyed("k"),
	}))
	p := &played{tape: newTape()}
	if err := p.emit(&event.Event{Author: event.User, Content: event.Text(event.RoleUser, "go")}); err != nil {
		t.Fatal(err)
	}
	start := func(resume *agentrt.Resume) error {
		inv := &agentrt.Invocation{ID: p.id, Log: p.tape, Journal: journal{p.tape}, Credentials: p.logins(), Resume: resume}
		return inv.Start(t.Context(), a, p.emit)
	}
	if err := start(nil); !errors.Is(err, agent.ErrWaiting) || len(o.messages) != 0 {
		t.Fatalf("%v, %d messages:\n%s", err, len(o.messages), story(p.events))
	}
	answer, resume := messageOf(t, p.tape, "answer "+tool.CredentialCall)
	p.id = "run-2"
	if err := p.emit(&event.Event{Author: event.User, Content: answer}); err != nil {
		t.Fatal(err)
	}
	if err := start(resume); err != nil {
		t.Fatal(err)
	}
	if got, want := o.heard(), `  {"parts":[{"text":"go"}]}`; got != want || !slices.Equal(o.tokens, []string{"token"}) {
		t.Errorf("sent %s, with %q", got, o.tokens)
	}
}
