package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/testkit/nodes"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// keyed is a login with the given key.
func keyed(key string) *credential.Config {
	return &credential.Config{
		CredentialKey: key,
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
			AuthorizationURL: "https://idp.example/auth", TokenURL: "https://idp.example/token",
		}}},
		Raw: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "client", ClientSecret: "hunter2"}},
	}
}

// member is a node that needs a login. Its output has the input and the token.
func member(name string, calls *int, asks bool) *workflow.Node {
	auth := keyed("k")
	return workflow.Func(name, func(ctx *workflow.Context, in string) (string, error) {
		*calls++
		got, err := ctx.AuthResponse(auth)
		if err != nil {
			return "", err
		}
		if asks {
			answer, err := ctx.RequestInput(workflow.InputRequest{Message: "Sure?"})
			if err != nil {
				return "", err
			}
			in += string(answer)
		}
		return in + " with " + got.OAuth2.AccessToken, nil
	}, workflow.NodeConfig{Auth: auth})
}

func newNodeChat(t *testing.T, edges ...[]workflow.Edge) *loginChat {
	t.Helper()
	return &loginChat{t: t, log: agentrt.NewPrivateLog(nil, nil), desk: &fakeCredentials{keys: map[string]string{}}, root: nodes.Workflow("wf", slices.Concat(edges...))}
}

func outputOf(t *testing.T, events []*event.Event, author string) string {
	t.Helper()
	for _, ev := range slices.Backward(events) {
		if doc := ev.Extra["output"]; ev.Author == author && doc != nil {
			var text string
			if err := json.Unmarshal(doc, &text); err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	return ""
}

func TestNodeLogsIn(t *testing.T) {
	t.Parallel()
	calls := 0
	o := newNodeChat(t, workflow.Chain(workflow.Start, member("mail", &calls, false), nodes.Adds("end")))
	resume := &agentrt.Resume{Agent: "wf", InvocationID: "run-1"}
	events, err := o.run(event.Text(event.RoleUser, "go"), nil)
	if !errors.Is(err, agent.ErrWaiting) || calls > 0 || len(events) != 1 || !tool.IsCredentialCall(events[0].FunctionCalls()[0].Name) || len(events[0].LongRunningToolIDs) != 1 {
		t.Fatalf("the end is %v after %d calls:\n%s", err, calls, story(events))
	}
	if doc, err := json.Marshal(events[0]); err != nil || strings.Contains(string(doc), "hunter2") {
		t.Errorf("the request has the secret: %s, %v", doc, err)
	}
	// An answer that is not a login: the user is asked again.
	answer := func(call *event.FunctionCall) *event.Content {
		return &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage("{}")}}}}
	}
	first := events[0].FunctionCalls()[0]
	events, err = o.run(answer(first), resume)
	if !errors.Is(err, agent.ErrWaiting) || calls > 0 || len(events) != 1 || events[0].FunctionCalls()[0].ID == first.ID {
		t.Fatalf("the end is %v after %d calls:\n%s", err, calls, story(events))
	}
	o.desk.keys["k"] = "token"
	resume.InvocationID = "run-2"
	events, err = o.run(answer(events[0].FunctionCalls()[0]), resume)
	if got := outputOf(t, events, "end"); err != nil || calls != 1 || got != "go with token+end" {
		t.Errorf("the output is %q, %v after %d calls:\n%s", got, err, calls, story(events))
	}
	// The login is kept.
	if events, err = o.run(event.Text(event.RoleUser, "again"), nil); err != nil || outputOf(t, events, "end") != "again with token+end" {
		t.Errorf("the end is %v:\n%s", err, story(events))
	}
}

// The answer to a login is not the answer to a question of the function.
func TestNodeLogsInAndAsks(t *testing.T) {
	t.Parallel()
	calls := 0
	o := newNodeChat(t, workflow.Chain(workflow.Start, member("mail", &calls, true), nodes.Adds("end")))
	events, err := o.run(event.Text(event.RoleUser, "go"), nil)
	if !errors.Is(err, agent.ErrWaiting) {
		t.Fatal(err)
	}
	o.desk.keys["k"] = "token"
	events[0].Author = "wf"
	if events, err = o.answer(events[0]); !errors.Is(err, agent.ErrWaiting) || calls != 1 || events[0].FunctionCalls()[0].Name != "adk_request_input" {
		t.Fatalf("the end is %v after %d calls:\n%s", err, calls, story(events))
	}
	events[0].Author = "wf"
	events, err = o.answer(events[0])
	if got := outputOf(t, events, "end"); err != nil || calls != 1 || got != `{"ok":true}+end` {
		t.Errorf("the output is %q, %v after %d calls:\n%s", got, err, calls, story(events))
	}
}

// One answer is enough for nodes that need the same login.
func TestNodesShareALogin(t *testing.T) {
	t.Parallel()
	one, two := 0, 0
	join := workflow.Join("join")
	o := newNodeChat(t, workflow.Chain(workflow.Start, member("a", &one, false), join), workflow.Chain(workflow.Start, member("b", &two, false), join))
	events, err := o.run(event.Text(event.RoleUser, "go"), nil)
	if !errors.Is(err, agent.ErrWaiting) || len(events) != 2 {
		t.Fatalf("the end is %v:\n%s", err, story(events))
	}
	o.desk.keys["k"] = "token"
	events[1].Author = "wf"
	events, err = o.answer(events[1])
	if err != nil || one != 1 || two != 1 || outputOf(t, events, "a") != "go with token" || outputOf(t, events, "b") != "go with token" {
		t.Errorf("the end is %v after %d and %d calls:\n%s", err, one, two, story(events))
	}
}

func TestNodeNeedsLogin(t *testing.T) {
	t.Parallel()
	calls := 0
	for _, n := range []*workflow.Node{
		member("a", &calls, false),
		workflow.ParallelWorker(member("a", &calls, false), 0),
		workflow.Tool(agent.AsTool(nodes.Workflow("wf", workflow.Chain(workflow.Start, member("a", &calls, false)))), workflow.NodeConfig{}),
	} {
		if !n.NeedsLogin() {
			t.Errorf("the %s does not need a login", n.Kind())
		}
	}
	if nodes.Adds("end").NeedsLogin() {
		t.Error("a node without Auth needs a login")
	}
}

// A process that takes over a run asks for the login once, and does not run the
// function before it is there.
func TestNodeLogsInAfterATakeover(t *testing.T) {
	t.Parallel()
	calls := 0
	o := newNodeChat(t, workflow.Chain(workflow.Start, nodes.Adds("start"), member("mail", &calls, false), nodes.Adds("end")))
	if _, err := o.run(event.Text(event.RoleUser, "go"), nil); !errors.Is(err, agent.ErrWaiting) {
		t.Fatal(err)
	}
	takeOver := func() ([]*event.Event, error) {
		inv := &agentrt.Invocation{
			App: "app", User: "u", Session: "s", ID: "run-1", UserContent: event.Text(event.RoleUser, "go"), Log: o.log,
			Credentials: o.desk, MaxModelCalls: 9, Takeover: true,
		}
		var events []*event.Event
		err := inv.Start(t.Context(), o.root, func(ev *event.Event) error {
			events = append(events, ev)
			return nil
		})
		return events, err
	}
	if events, err := takeOver(); !errors.Is(err, agent.ErrWaiting) || calls > 0 || len(events) > 0 {
		t.Fatalf("the end is %v after %d calls:\n%s", err, calls, story(events))
	}
	o.desk.keys["k"] = "token"
	events, err := takeOver()
	if got := outputOf(t, events, "end"); err != nil || calls != 1 || got != "go+start with token+end" {
		t.Errorf("the output is %q, %v after %d calls:\n%s", got, err, calls, story(events))
	}
}

// A function that finds out that its login is no longer valid drops it and fails. The
// next attempt asks for another one before the function runs again.
func TestNodeLogsInForTheNextAttempt(t *testing.T) {
	t.Parallel()
	calls, auth := 0, keyed("k")
	mail := workflow.Func("mail", func(ctx *workflow.Context, in string) (string, error) {
		calls++
		got, err := ctx.AuthResponse(auth)
		if err != nil {
			return "", err
		}
		if got.OAuth2.AccessToken == "old" {
			return "", errors.Join(errors.New("401"), ctx.DropCredential(auth))
		}
		return in + " with " + got.OAuth2.AccessToken, nil
	}, workflow.NodeConfig{Auth: auth, Retry: &workflow.Retry{InitialDelay: 1}})
	o := newNodeChat(t, workflow.Chain(workflow.Start, mail))
	o.desk.keys["k"] = "old"
	events, err := o.run(event.Text(event.RoleUser, "go"), nil)
	asked := events[len(events)-1]
	if !errors.Is(err, agent.ErrWaiting) || calls != 1 || asked.Partial || !tool.IsCredentialCall(asked.FunctionCalls()[0].Name) {
		t.Fatalf("the end is %v after %d calls:\n%s", err, calls, story(events))
	}
	o.desk.keys["k"] = "new"
	asked.Author = "wf"
	if events, err = o.answer(asked); err != nil || calls != 2 || outputOf(t, events, "mail") != "go with new" {
		t.Errorf("the end is %v after %d calls:\n%s", err, calls, story(events))
	}
}

const answerLogin = "answer " + tool.CredentialCall

// A run that is taken over at any moment asks for a login once, and runs the function
// when it is there.
func TestTakeoverNodeLogin(t *testing.T) {
	t.Parallel()
	start, chain := workflow.Start, workflow.Chain
	member := func(w *world, name string, cfg workflow.NodeConfig, asks bool) *workflow.Node {
		cfg.Auth = keyed("k")
		return w.node(name, cfg, func(ctx *workflow.Context, in any) (any, error) {
			got, err := ctx.AuthResponse(cfg.Auth)
			if err != nil {
				return nil, err
			}
			if asks {
				answer, err := ctx.RequestInput(workflow.InputRequest{Message: "Sure?"})
				if err != nil {
					return nil, err
				}
				in = string(answer)
			}
			return fmt.Sprintf("%v with %s", in, got.OAuth2.AccessToken), ctx.State.Set(name, "done")
		})
	}
	for name, s := range map[string]scene{
		"one": {turns: []string{"go", answerLogin}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"), member(w, "b", workflow.NodeConfig{}, false), w.adds("c")))
		}},
		"then a question": {turns: []string{"go", answerLogin, answerInput}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, member(w, "b", workflow.NodeConfig{RerunOnResume: true}, true), w.adds("c")))
		}},
		"two nodes share it": {turns: []string{"go", answerLogin}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, workflow.Fan{member(w, "b", workflow.NodeConfig{}, false), member(w, "c", workflow.NodeConfig{}, false)}, workflow.Join("join"), w.adds("d")))
		}},
		"an agent after it": {turns: []string{"go", answerLogin}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, member(w, "b", workflow.NodeConfig{}, false), nodeOf(w.llm("llm_c", tools(w.tool("once")), calls("once"), scripted.Say("c")))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t)
		})
	}
}
