package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// fakeCredentials gives out logins by the key of what is asked for.
type fakeCredentials struct {
	keys map[string]string // tokens

	mu    sync.Mutex
	bound []string
}

func (d *fakeCredentials) Request(_ context.Context, cfg *credential.Config) (*credential.Config, error) {
	asked := cfg.Redacted()
	asked.Exchanged = &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{
		ClientID: cfg.Raw.OAuth2.ClientID, AuthURI: "https://idp.example/auth?state=" + cfg.Key(),
	}}
	return asked, nil
}

func (d *fakeCredentials) Bind(_ context.Context, id string, asked *credential.Config) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bound = append(d.bound, id+" "+asked.Key())
	return nil
}

func (d *fakeCredentials) Response(_ context.Context, cfg *credential.Config) (*credential.Credential, error) {
	token := d.keys[cfg.Key()]
	if token == "" {
		return nil, nil
	}
	return &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{AccessToken: token}}, nil
}

func (d *fakeCredentials) Drop(_ context.Context, cfg *credential.Config) error {
	delete(d.keys, cfg.Key())
	return nil
}

// protected is a tool that needs a login with the given key.
func protected(name, key string) tool.Tool {
	cfg := keyed(key)
	return tool.Must(tool.New(tool.Declaration{Name: name}, func(ctx *tool.Context, _ struct{}) (any, error) {
		got, err := ctx.AuthResponse(cfg)
		if err != nil {
			return nil, err
		}
		if got == nil {
			if err := ctx.RequestCredential(cfg); err != nil {
				return nil, err
			}
			return tool.Pending("Log in, please."), nil
		}
		return map[string]string{"status": "success", "data": got.OAuth2.AccessToken}, nil
	}))
}

// loginChat is a conversation with an agent that has protected tools.
type loginChat struct {
	t    *testing.T
	log  *agentrt.PrivateLog
	desk *fakeCredentials
	root *agent.Agent
	runs int
}

func (o *loginChat) run(message *event.Content, resume *agentrt.Resume) ([]*event.Event, error) {
	o.t.Helper()
	o.runs++
	id := fmt.Sprint("run-", o.runs)
	if err := o.log.Emit(&event.Event{Author: event.User, Content: message, InvocationID: id}); err != nil {
		o.t.Fatal(err)
	}
	inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: id, UserContent: message, Log: o.log, Resume: resume, Credentials: o.desk, MaxModelCalls: 9}
	var (
		mu     sync.Mutex // nodes run at the same time
		events []*event.Event
	)
	err := inv.Start(o.t.Context(), o.root, func(ev *event.Event) error {
		mu.Lock()
		defer mu.Unlock()
		ev.InvocationID = id
		events = append(events, ev)
		return o.log.Emit(ev)
	})
	return events, err
}

// answer answers the request in ev.
func (o *loginChat) answer(ev *event.Event) ([]*event.Event, error) {
	o.t.Helper()
	call := ev.FunctionCalls()[0]
	return o.run(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(`{"ok":true}`)},
	}}}, &agentrt.Resume{Agent: ev.Author, InvocationID: ev.InvocationID})
}

// brief is the story without what is in a request.
func brief(events []*event.Event) string {
	var lines []string
	for line := range strings.SplitSeq(story(events), "\n") {
		if at := strings.Index(line, tool.CredentialCall); at >= 0 {
			line = line[:at] + tool.CredentialCall
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func wantBrief(t *testing.T, events []*event.Event, want string) {
	t.Helper()
	if got := brief(events); got != strings.TrimSpace(want) {
		t.Errorf("events:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

func newLoginChat(t *testing.T, m model.Model, tools ...tool.Tool) *loginChat {
	t.Helper()
	return &loginChat{
		t: t, log: agentrt.NewPrivateLog(nil, nil), desk: &fakeCredentials{keys: map[string]string{}},
		root: mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools}),
	}
}

func TestLogin(t *testing.T) {
	m := scripted.New(scripted.Call("calendar", nil), scripted.Say("Here it is."))
	o := newLoginChat(t, m, protected("calendar", "k"))
	events, err := o.run(event.Text(event.RoleUser, "What is on?"), nil)
	if !errors.Is(err, agent.ErrWaiting) {
		t.Fatalf("error %v, want ErrWaiting", err)
	}
	wantBrief(t, events, `
a: call calendar{}
a: call svc_request_credential
a: calendar returned {"message":"Log in, please.","pending":true}`)

	request := events[1]
	call := request.FunctionCalls()[0]
	if request.Content.Role != event.RoleModel || len(request.LongRunningToolIDs) != 1 || request.LongRunningToolIDs[0] != call.ID {
		t.Errorf("the request is %+v", request)
	}
	if len(o.desk.bound) != 1 || o.desk.bound[0] != call.ID+" k" {
		t.Errorf("bound are %v", o.desk.bound)
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(call.Args, &args); err != nil {
		t.Fatal(err)
	}
	original := fmt.Sprintf("%q", events[0].FunctionCalls()[0].ID)
	if string(args["function_call_id"]) != original || string(args["functionCallId"]) != original {
		t.Errorf("args %s", call.Args)
	}
	for member, word := range map[string]string{"auth_config": `"auth_uri":"https://idp.example/auth`, "authConfig": `"authUri":"https://idp.example/auth`} {
		if !strings.Contains(string(args[member]), word) {
			t.Errorf("%s is %s", member, args[member])
		}
	}
	if all := fmt.Sprintf("%s%s", call.Args, events[2].Actions.RequestedAuthConfigs); strings.Contains(all, "hunter2") {
		t.Errorf("the client secret is in %s", all)
	}
	if len(events[2].Actions.RequestedAuthConfigs) != 1 {
		t.Errorf("the pending answer asks for %v", events[2].Actions.RequestedAuthConfigs)
	}

	o.desk.keys["k"] = "token"
	events, err = o.answer(request)
	if err != nil {
		t.Fatal(err)
	}
	wantBrief(t, events, `
a: calendar returned {"data":"token","status":"success"}
a: Here it is. (end)`)
	// The model has never seen the login.
	for _, content := range m.Requests()[1].Contents() {
		for _, p := range content.Parts {
			if p.FunctionCall != nil && tool.IsCredentialCall(p.FunctionCall.Name) || p.FunctionResponse != nil && tool.IsCredentialCall(p.FunctionResponse.Name) {
				t.Error("the model sees the request")
			}
		}
	}
}

// Calls that share a credential are resumed by one answer; others stay pending.
func TestLoginsOfSeveralCalls(t *testing.T) {
	m := scripted.New(
		scripted.Calls(&event.FunctionCall{Name: "one", Args: json.RawMessage("{}")}, &event.FunctionCall{Name: "two", Args: json.RawMessage("{}")}, &event.FunctionCall{Name: "other", Args: json.RawMessage("{}")}, &event.FunctionCall{Name: "free", Args: json.RawMessage(`{"of":"x"}`)}),
		scripted.Say("Half of it."), scripted.Say("All of it."))
	o := newLoginChat(t, m, protected("one", "k"), protected("two", "k"), protected("other", "l"), lookup("free"))
	events, err := o.run(event.Text(event.RoleUser, "go"), nil)
	if !errors.Is(err, agent.ErrWaiting) {
		t.Fatal(err)
	}
	const pending = `returned {"message":"Log in, please.","pending":true}`
	wantBrief(t, events, `
a: call one{} call two{} call other{} call free{"of":"x"}
a: call svc_request_credential
a: call svc_request_credential
a: one `+pending+` two `+pending+` other `+pending+` free returned {"found":"x"}`)
	first, second := events[1], events[2]

	o.desk.keys["k"] = "K"
	events, err = o.answer(first)
	if !errors.Is(err, agent.ErrWaiting) {
		t.Errorf("one login is still open: %v", err)
	}
	wantBrief(t, events, `
a: one returned {"data":"K","status":"success"} two returned {"data":"K","status":"success"}
a: Half of it. (end)`)

	o.desk.keys["l"] = "L"
	events, err = o.answer(second)
	if err != nil {
		t.Fatal(err)
	}
	wantBrief(t, events, `
a: other returned {"data":"L","status":"success"}
a: All of it. (end)`)
}

// A login that brought nothing is asked for again.
func TestLoginAgain(t *testing.T) {
	o := newLoginChat(t, scripted.New(scripted.Call("calendar", nil), scripted.Say("Here it is.")), protected("calendar", "k"))
	events, _ := o.run(event.Text(event.RoleUser, "go"), nil)
	again, err := o.answer(events[1])
	if !errors.Is(err, agent.ErrWaiting) {
		t.Fatal(err)
	}
	wantBrief(t, again, `
a: call svc_request_credential
a: calendar returned {"message":"Log in, please.","pending":true}`)
	o.desk.keys["k"] = "token"
	events, err = o.answer(again[0])
	if err != nil {
		t.Fatal(err)
	}
	wantBrief(t, events, `
a: calendar returned {"data":"token","status":"success"}
a: Here it is. (end)`)
}
