package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// slowServer is a server with an agent whose tool waits until gate is closed.
type slowServer struct {
	*parley.Server
	begun, gate chan struct{}
}

func newSlowServer(t *testing.T, change func(*parley.Config), script ...scripted.Step) *slowServer {
	t.Helper()
	g := &slowServer{begun: make(chan struct{}, 10), gate: make(chan struct{})}
	slow := tool.Must(tool.New(tool.Declaration{Name: "slow"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		g.begun <- struct{}{}
		select {
		case <-g.gate:
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "helper", Tools: []tool.Tool{slow}, Model: scripted.New(script...)})
	if err != nil {
		t.Fatal(err)
	}
	cfg := parley.Config{Agents: map[string]*agent.Agent{"app": root}}
	if change != nil {
		change(&cfg)
	}
	if g.Server, err = parley.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close(context.WithoutCancel(t.Context())) })
	return g
}

// said is a request of the user u in the session s.
func said(text string) parley.Request {
	return parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, text)}
}

func (g *slowServer) start(t *testing.T, req parley.Request) *parley.Run {
	t.Helper()
	started, err := g.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

func TestAsk(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Say("Hello there."), scripted.Fail(errors.New("boom")))
	text, err := g.Ask(t.Context(), "app", "u", "", "Hi")
	if err != nil || text != "Hello there." {
		t.Errorf("answer %q, %v", text, err)
	}
	_, err = g.Ask(t.Context(), "app", "u", "s", "Hi")
	if failure, ok := errors.AsType[*session.Failure](err); !ok || !errors.Is(err, parley.ErrFailed) || failure.Message == "" {
		t.Errorf("error %v, want ErrFailed and a *session.Failure", err)
	}
}

func TestRunWait(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Call("slow", nil), scripted.Say("Done."))
	close(g.gate)
	req := said("go")
	req.RunID = "e-my-own"
	started := g.start(t, req)
	if started.ID() != "e-my-own" || started.Key() != (session.Key{App: "app", User: "u", ID: "s"}) {
		t.Errorf("run %s of %v", started.ID(), started.Key())
	}
	result, err := started.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if result.Text() != "Done." || result.Run.Status != session.Completed || result.Waiting() || len(result.Events) != 3 {
		t.Errorf("result %q, %s, %d events", result.Text(), result.Run.Status, len(result.Events))
	}
	for _, ev := range result.Events {
		if ev.InvocationID != "e-my-own" {
			t.Errorf("an event of the invocation %q", ev.InvocationID)
		}
	}
	if _, err := g.Start(t.Context(), req); !errors.Is(err, parley.ErrExists) {
		t.Errorf("a second run with this id: %v, want ErrExists", err)
	}
}

// A run id that is in use is refused while its run is active, too.
func TestRunIDOfAnActiveRun(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Call("slow", nil), scripted.Say("Done."))
	req := said("go")
	req.RunID = "e-my-own"
	g.start(t, req)
	<-g.begun
	if _, err := g.Start(t.Context(), req); !errors.Is(err, parley.ErrExists) {
		t.Errorf("error %v, want ErrExists", err)
	}
	close(g.gate)
}

// An id that was used in another session, perhaps of another user, does not lead to
// the run there.
func TestRunIDOfAnotherSession(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Say("For ann."), scripted.Call("slow", nil), scripted.Say("Done."))
	ann, bob := said("hello"), said("go")
	ann.User, ann.RunID = "ann", "e-my-own"
	bob.User, bob.RunID = "bob", "e-my-own"
	ended := g.start(t, ann)
	if _, err := ended.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.start(t, bob)
	<-g.begun
	defer close(g.gate)
	found, err := g.FindRun(t.Context(), ended.Key(), ended.ID())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := found.Wait(ctx)
	if err != nil || result.Text() != "For ann." {
		t.Fatalf("the run of ann: %+v, %v", result, err)
	}
	var texts []string
	for ev, err := range found.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, ev.Content.Text())
	}
	if strings.Join(texts, "|") != "For ann." {
		t.Errorf("the events of ann's run are %q", texts)
	}
}

func TestRunCancel(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Call("slow", nil), scripted.Say("Done."))
	started := g.start(t, said("go"))
	<-g.begun
	again, err := g.FindRun(t.Context(), started.Key(), started.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	result, err := started.Wait(t.Context())
	if !errors.Is(err, parley.ErrCancelled) || result == nil || result.Run.Status != session.Cancelled {
		t.Errorf("result %+v, %v; want ErrCancelled", result, err)
	}
	var last error
	for _, err := range started.Events(t.Context()) {
		last = err
	}
	if !errors.Is(last, parley.ErrCancelled) {
		t.Errorf("the events end with %v, want ErrCancelled", last)
	}
	if err := started.Cancel(t.Context()); err != nil {
		t.Errorf("a second cancel: %v", err)
	}
}

// A run that is queued and cancelled never begins.
func TestRunCancelQueued(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Call("slow", nil), scripted.Say("Done."))
	first := g.start(t, said("go"))
	<-g.begun
	queued := g.start(t, said("and then"))
	if err := queued.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := queued.Wait(t.Context()); !errors.Is(err, parley.ErrCancelled) {
		t.Errorf("error %v, want ErrCancelled", err)
	}
	close(g.gate)
	if _, err := first.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// A reader that left continues after the last event that it has.
func TestFollow(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Call("slow", nil), scripted.Say("Done."))
	started := g.start(t, said("go"))
	var after string
	for ev, err := range started.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		after = ev.ID // the function call
		break
	}
	close(g.gate)
	var rest []*event.Event
	for ev, err := range g.Follow(t.Context(), started.Key(), started.ID(), after) {
		if err != nil {
			t.Fatal(err)
		}
		rest = append(rest, ev)
	}
	if len(rest) != 2 || len(rest[0].FunctionResponses()) != 1 || rest[1].Content.Text() != "Done." {
		t.Errorf("%d events after the call", len(rest))
	}
	all := 0
	for _, err := range g.Follow(t.Context(), started.Key(), started.ID(), "") {
		if all++; err != nil {
			t.Fatal(err)
		}
	}
	if all != 3 {
		t.Errorf("%d events in all, want 3", all)
	}
	for _, bad := range []struct{ run, after string }{{started.ID(), "no-such-event"}, {"no-such-run", ""}} {
		for _, err := range g.Follow(t.Context(), started.Key(), bad.run, bad.after) {
			if !errors.Is(err, parley.ErrNotFound) {
				t.Errorf("%v: error %v, want ErrNotFound", bad, err)
			}
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Say("Once."), scripted.Say("Twice."))
	req := said("go")
	req.IdempotencyKey, req.RunID = "k", "e-my-own"
	first, second := g.start(t, req), g.start(t, req)
	if first.ID() != second.ID() || first.Repeated() || !second.Repeated() {
		t.Errorf("runs %s and %s, repeated %v and %v", first.ID(), second.ID(), first.Repeated(), second.Repeated())
	}
	if result, err := second.Wait(t.Context()); err != nil || result.Text() != "Once." {
		t.Errorf("result %v, %v", result, err)
	}
	req.Message = event.Text(event.RoleUser, "something else")
	if _, err := g.Start(t.Context(), req); !errors.Is(err, parley.ErrReused) {
		t.Errorf("error %v, want ErrReused", err)
	}
}

func TestOnBusy(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Call("slow", nil), scripted.Say("Instead."))
	first := g.start(t, said("go"))
	<-g.begun
	req := said("now")
	req.OnBusy = session.Reject
	if _, err := g.Start(t.Context(), req); !errors.Is(err, parley.ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	if _, err := g.Sessions().Rewind(t.Context(), first.Key(), first.ID()); !errors.Is(err, parley.ErrBusy) {
		t.Errorf("rewind of a busy session: %v, want ErrBusy", err)
	}
	req.OnBusy = session.Interrupt
	if result, err := g.start(t, req).Wait(t.Context()); err != nil || result.Text() != "Instead." {
		t.Errorf("result %v, %v", result, err)
	}
	if _, err := first.Wait(t.Context()); !errors.Is(err, parley.ErrCancelled) {
		t.Errorf("the run that was interrupted: %v, want ErrCancelled", err)
	}
}

func TestLimited(t *testing.T) {
	g := newSlowServer(t, func(cfg *parley.Config) { cfg.Limits.QueueDepth = 1 }, scripted.Call("slow", nil), scripted.Say("Done."), scripted.Say("Next."))
	g.start(t, said("go"))
	<-g.begun
	queued := g.start(t, said("next"))
	_, err := g.Start(t.Context(), said("too many"))
	if !errors.Is(err, parley.ErrLimited) || parley.RetryAfter(err) != time.Second {
		t.Errorf("error %v, retry after %v; want ErrLimited", err, parley.RetryAfter(err))
	}
	close(g.gate)
	if _, err := queued.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// An answer to a call counts once.
func TestAnswered(t *testing.T) {
	remote := tool.Must(tool.New(tool.Declaration{Name: "remote", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "helper", Tools: []tool.Tool{remote}, Model: scripted.New(scripted.Call("remote", nil), scripted.Say("All done."))})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	if _, err := srv.Ask(t.Context(), "app", "u", "s", "go"); !errors.Is(err, parley.ErrWaiting) {
		t.Fatalf("error %v, want ErrWaiting", err)
	}
	found, err := srv.Sessions().Get(t.Context(), session.Key{App: "app", User: "u", ID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	events, err := found.Events()
	if err != nil {
		t.Fatal(err)
	}
	var call *event.FunctionCall
	for _, ev := range events {
		if calls := ev.FunctionCalls(); len(calls) > 0 {
			call = calls[0]
		}
	}
	req := said("")
	answer := func(id string) *event.Content {
		return &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
			FunctionResponse: &event.FunctionResponse{ID: id, Name: call.Name, Response: json.RawMessage(`{"status":"ok"}`)},
		}}}
	}
	req.Message = answer(call.ID)
	started, err := srv.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := started.Wait(t.Context()); err != nil || result.Text() != "All done." {
		t.Fatalf("result %v, %v", result, err)
	}
	if _, err := srv.Start(t.Context(), req); !errors.Is(err, parley.ErrAnswered) {
		t.Errorf("a second answer: %v, want ErrAnswered", err)
	}
	req.Message = answer("no-such-call")
	if _, err := srv.Start(t.Context(), req); !errors.Is(err, parley.ErrInvalid) {
		t.Errorf("an answer to nothing: %v, want ErrInvalid", err)
	}
}

func TestRefusedRequests(t *testing.T) {
	g := newSlowServer(t, nil)
	for name, bad := range map[string]struct {
		change func(*parley.Request)
		want   error
	}{
		"app":         {func(r *parley.Request) { r.App = "other" }, parley.ErrUnknownApp},
		"user":        {func(r *parley.Request) { r.User = "" }, parley.ErrInvalid},
		"no message":  {func(r *parley.Request) { r.Message = nil }, parley.ErrInvalid},
		"state":       {func(r *parley.Request) { r.StateDelta = map[string]json.RawMessage{"secret:x": json.RawMessage("1")} }, parley.ErrInvalid},
		"policy":      {func(r *parley.Request) { r.OnBusy = "perhaps" }, parley.ErrInvalid},
		"idempotency": {func(r *parley.Request) { r.IdempotencyKey = "\x00" }, parley.ErrInvalid},
		"run id":      {func(r *parley.Request) { r.RunID = "." }, parley.ErrInvalid},
	} {
		req := said("go")
		bad.change(&req)
		if _, err := g.Start(t.Context(), req); !errors.Is(err, bad.want) {
			t.Errorf("%s: error %v, want %v", name, err, bad.want)
		}
	}
	if _, err := g.FindRun(t.Context(), session.Key{App: "app", User: "u", ID: "s"}, "x"); !errors.Is(err, parley.ErrNotFound) {
		t.Errorf("a run of no session: %v, want ErrNotFound", err)
	}
	g.Close(t.Context())
	if _, err := g.Start(t.Context(), said("go")); !errors.Is(err, parley.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

// Who waits no longer gets the cause; the run continues.
func TestWaitIsLeft(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Call("slow", nil), scripted.Say("Done."))
	started := g.start(t, said("go"))
	<-g.begun
	cause := errors.New("no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := started.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	close(g.gate)
	if result, err := started.Wait(t.Context()); err != nil || result.Text() != "Done." {
		t.Errorf("result %v, %v", result, err)
	}
}

func TestSessions(t *testing.T) {
	g := newSlowServer(t, nil, scripted.Say("One."), scripted.Say("Two."))
	sessions := g.Sessions()
	made, err := sessions.Create(t.Context(), parley.NewSession{
		Key: session.Key{App: "app", User: "u"}, State: session.State{"a": json.RawMessage("1")},
		Events: []*event.Event{{Author: event.User, Content: event.Text(event.RoleUser, "Earlier.")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := made.Key
	if _, err := sessions.Create(t.Context(), parley.NewSession{Key: key}); !errors.Is(err, parley.ErrExists) {
		t.Errorf("a second create: %v, want ErrExists", err)
	}
	req := said("first")
	req.Session = key.ID
	first := g.start(t, req)
	if _, err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.Patch(t.Context(), key, map[string]json.RawMessage{"b": json.RawMessage("2")}); err != nil {
		t.Fatal(err)
	}
	second := g.start(t, req)
	if _, err := second.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	texts := func(s *session.Session, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		events, err := s.Events()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, ev := range events {
			if text := ev.Content.Text(); text != "" {
				out = append(out, text)
			}
		}
		return out
	}
	if got := texts(sessions.Get(t.Context(), key)); fmt.Sprint(got) != "[Earlier. first One. first Two.]" {
		t.Errorf("events %q", got)
	}
	forked, err := sessions.Fork(t.Context(), key, parley.Fork{BeforeInvocation: second.ID(), ID: "fork"})
	if got := texts(forked, err); fmt.Sprint(got) != "[Earlier. first One.]" || forked.ID != "fork" {
		t.Errorf("the fork %s has %q", forked.ID, got)
	}
	rewound, err := sessions.Rewind(t.Context(), key, first.ID())
	if got := texts(rewound, err); fmt.Sprint(got) != "[Earlier.]" || rewound.State["b"] != nil {
		t.Errorf("rewound to %q with %s", got, rewound.State)
	}
	list, next, err := sessions.List(t.Context(), "app", "u", session.Page{Size: 1})
	if err != nil || len(list) != 1 || next == "" {
		t.Errorf("%d sessions, next %q, %v", len(list), next, err)
	}
	if runs, _, err := sessions.Runs(t.Context(), key, session.Page{}); err != nil || !slices.ContainsFunc(runs, func(r *session.Run) bool { return r.ID == first.ID() }) {
		t.Errorf("runs %v, %v", runs, err)
	}
	if err := sessions.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.Get(t.Context(), key); !errors.Is(err, parley.ErrNotFound) {
		t.Errorf("after Delete: %v, want ErrNotFound", err)
	}
}

func TestRefusedSessions(t *testing.T) {
	g := newSlowServer(t, nil)
	sessions, key := g.Sessions(), session.Key{App: "app", User: "u", ID: "s"}
	_, create := sessions.Create(t.Context(), parley.NewSession{Key: session.Key{App: "other", User: "u"}})
	_, null := sessions.Create(t.Context(), parley.NewSession{Key: key, State: session.State{"a": json.RawMessage("null")}})
	_, history := sessions.Create(t.Context(), parley.NewSession{Key: key, Events: []*event.Event{{}}})
	_, ttl := sessions.Create(t.Context(), parley.NewSession{Key: key, TTL: -1})
	_, get := sessions.Get(t.Context(), key)
	_, _, list := sessions.List(t.Context(), "other", "u", session.Page{})
	_, _, token := sessions.List(t.Context(), "app", "u", session.Page{Size: 1, Token: "x"})
	_, patch := sessions.Patch(t.Context(), key, map[string]json.RawMessage{"a": json.RawMessage("1")})
	_, fork := sessions.Fork(t.Context(), key, parley.Fork{})
	_, both := sessions.Fork(t.Context(), key, parley.Fork{AtEvent: "a", BeforeInvocation: "b"})
	_, rewind := sessions.Rewind(t.Context(), key, "x")
	_, _, runs := sessions.Runs(t.Context(), key, session.Page{})
	for name, got := range map[string]struct{ err, want error }{
		"create": {create, parley.ErrUnknownApp}, "null": {null, parley.ErrInvalid}, "history": {history, parley.ErrInvalid}, "ttl": {ttl, parley.ErrInvalid},
		"get": {get, parley.ErrNotFound}, "list": {list, parley.ErrUnknownApp}, "token": {token, parley.ErrInvalid}, "patch": {patch, parley.ErrNotFound},
		"fork": {fork, parley.ErrNotFound}, "both": {both, parley.ErrInvalid}, "rewind": {rewind, parley.ErrNotFound}, "runs": {runs, parley.ErrNotFound},
		"delete": {sessions.Delete(t.Context(), session.Key{App: "app"}), parley.ErrInvalid},
	} {
		if !errors.Is(got.err, got.want) {
			t.Errorf("%s: error %v, want %v", name, got.err, got.want)
		}
	}
}
