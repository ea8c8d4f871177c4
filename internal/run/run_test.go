package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

func TestMain(m *testing.M) { leak.Main(m) }

var key = session.Key{App: "app", User: "u", ID: "s"}

// fixture is an engine with one application and one session.
type fixture struct {
	*run.Engine
	t     *testing.T
	store session.Backend
}

func newFixture(t *testing.T, store session.Backend, root *agent.Agent) *fixture {
	t.Helper()
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Agent: func(app string) (*agent.Agent, error) {
			if app != key.App {
				return nil, run.ErrUnknownApp
			}
			return root, nil
		},
	})}
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	return h
}

func (h *fixture) start(text string) *run.Run {
	h.t.Helper()
	r, err := h.Start(h.t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, text), Stream: true})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// wait waits for the end of a run.
func (h *fixture) wait(r *run.Run) *run.Result {
	h.t.Helper()
	result, err := r.Wait(context.Background())
	if result == nil {
		h.t.Fatal(err)
	}
	return result
}

// info is the run as it is stored.
func (h *fixture) info(r *run.Run) *session.Run {
	h.t.Helper()
	row, err := h.Run(context.Background(), r.Key(), r.ID())
	if err != nil {
		h.t.Fatal(err)
	}
	return row
}

func (h *fixture) list() []*session.Run {
	h.t.Helper()
	rows, _, err := h.Runs(context.Background(), key, session.Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

func (h *fixture) cancel(r *run.Run) {
	h.t.Helper()
	if err := r.Cancel(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

// history is the log of the session, one word an event.
func (h *fixture) history() string {
	h.t.Helper()
	s, err := h.store.Get(context.Background(), key, session.Read{})
	if err != nil {
		h.t.Fatal(err)
	}
	return words(s.Entries)
}

func words(entries []*session.Entry) string {
	var list []string
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			panic(err)
		}
		word := ev.Author + ":"
		if ev.Content != nil {
			for _, p := range ev.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					word += "call-" + p.FunctionCall.Name
				case p.FunctionResponse != nil:
					var r struct{ Status string }
					_ = json.Unmarshal(p.FunctionResponse.Response, &r)
					word += "response-" + r.Status
				default:
					word += p.Text
				}
			}
		}
		if ev.ErrorCode != "" {
			word += "!" + ev.ErrorCode
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

func llm(m model.Model, tools ...tool.Tool) *agent.Agent {
	a, err := agent.NewLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools})
	if err != nil {
		panic(err)
	}
	return a
}

func echo(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return scripted.Say("re:"+scripted.LastUserText(req))(ctx, req)
}

func TestRunsOfASessionAreQueued(t *testing.T) {
	gate := make(chan struct{})
	h := newFixture(t, memstore.New(0), llm(scripted.Func(scripted.Wait(gate, echo))))
	var runs []*run.Run
	var want []string
	for i := range 16 {
		text := fmt.Sprint("m", i)
		runs = append(runs, h.start(text))
		want = append(want, "user:"+text, "a:re:"+text)
	}
	if first, second := h.info(runs[0]).Status, h.info(runs[1]).Status; first != session.Running || second != session.Queued {
		t.Errorf("the first is %s, the second %s", first, second)
	}
	close(gate)
	for _, r := range runs {
		h.wait(r)
		if got := h.info(r).Status; got != session.Completed {
			t.Errorf("a run ended as %s", got)
		}
	}
	if got := h.history(); got != strings.Join(want, " ") {
		t.Errorf("history %s", got)
	}
	if got := len(h.list()); got != 16 {
		t.Errorf("%d runs are listed", got)
	}
}

func TestRefusals(t *testing.T) {
	h := newFixture(t, memstore.New(0), llm(scripted.Func(echo)))
	start := func(key session.Key, id string) error {
		m := event.Text(event.RoleUser, "x")
		if id != "" {
			m.Parts = []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: id, Name: "n", Response: json.RawMessage(`{}`)}}}
		}
		_, err := h.Start(t.Context(), run.Request{Key: key, Message: m})
		return err
	}
	if err := start(session.Key{App: "other", User: "u", ID: "s"}, ""); !errors.Is(err, run.ErrUnknownApp) {
		t.Errorf("unknown application: %v", err)
	}
	if err := start(session.Key{App: "app", User: "u", ID: "none"}, ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
	if err := start(key, "nope"); !errors.Is(err, run.ErrUnknownCall) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("unknown call: %v", err)
	}
	if got := h.history(); got != "" {
		t.Errorf("a refused message left %q", got)
	}
	if got := len(h.list()); got != 0 {
		t.Errorf("%d runs are listed that never were", got)
	}
	h.start("fine") // a refusal must not keep the session
	h.Shutdown(t.Context())
	if err := start(key, ""); !errors.Is(err, run.ErrClosing) {
		t.Errorf("after shutdown: %v", err)
	}
}

func TestQueuedRunIsRefusedWhenItsTurnComes(t *testing.T) {
	gate := make(chan struct{})
	h := newFixture(t, memstore.New(0), llm(scripted.Func(scripted.Wait(gate, echo))))
	h.start("one")
	m := &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: "nope", Name: "n"}}}}
	r, err := h.Start(t.Context(), run.Request{Key: key, Message: m})
	if err != nil {
		t.Fatal(err)
	}
	third := h.start("three")
	close(gate)
	if _, err := r.Wait(t.Context()); !errors.Is(err, run.ErrUnknownCall) {
		t.Errorf("refusal %v", err)
	}
	h.wait(third)
	if got := h.history(); got != "user:one a:re:one user:three a:re:three" {
		t.Errorf("history %s", got)
	}
}

// sleeper is a tool that works until it is cancelled.
func sleeper(started chan<- struct{}) tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: "sleep"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		close(started)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}))
}

func TestCancelClosesOpenCalls(t *testing.T) {
	started := make(chan struct{})
	m := scripted.New(scripted.Call("sleep", nil), scripted.Say("next"))
	h := newFixture(t, memstore.New(0), llm(m, sleeper(started)))
	r := h.start("go")
	<-started
	h.cancel(r)
	h.wait(r)
	h.cancel(r) // twice is once
	if got := h.info(r); got.Status != session.Cancelled || got.Failure == nil {
		t.Errorf("info %+v", got)
	}
	if got := h.history(); got != "user:go a:call-sleep a:response-cancelled!INVOCATION_ABORTED" {
		t.Errorf("history %s", got)
	}
	if got := words(h.wait(r).Entries); got != "a:call-sleep a:response-cancelled!INVOCATION_ABORTED" {
		t.Errorf("followers see %s", got)
	}
	h.wait(h.start("again"))
	if got := h.history(); !strings.HasSuffix(got, "user:again a:next") {
		t.Errorf("the session is not usable: %s", got)
	}
}

func TestCancelWithoutOpenCallsLeavesAnEnd(t *testing.T) {
	h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Wait(nil, echo))))
	r := h.start("go")
	h.cancel(r)
	h.wait(r)
	if got := h.history(); got != "user:go a:!INVOCATION_ABORTED" {
		t.Errorf("history %s", got)
	}
}

func TestCancelInTheQueue(t *testing.T) {
	gate := make(chan struct{})
	h := newFixture(t, memstore.New(0), llm(scripted.Func(scripted.Wait(gate, echo))))
	h.start("one")
	second, third := h.start("two"), h.start("three")
	h.cancel(second)
	h.wait(second)
	close(gate)
	h.wait(third)
	if got := h.history(); got != "user:one a:re:one user:three a:re:three" {
		t.Errorf("history %s", got)
	}
	if _, err := second.Wait(t.Context()); !errors.Is(err, run.ErrCancelled) {
		t.Errorf("a run that was cancelled in the queue was never admitted: %v", err)
	}
}

// A tool that ignores its context must not keep its session forever.
func TestCancelDoesNotWaitForTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		deaf := tool.Must(tool.New(tool.Declaration{Name: "deaf"}, func(ctx *tool.Context, _ struct{}) (any, error) {
			<-let
			return "late", ctx.State.Set("late", true)
		}))
		h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Call("deaf", nil), scripted.Say("next")), deaf))
		r := h.start("go")
		synctest.Wait()
		begin := time.Now()
		h.cancel(r)
		h.wait(r)
		if waited := time.Since(begin); waited > 2*time.Second {
			t.Errorf("it took %v", waited)
		}
		h.wait(h.start("again"))
		close(let)
		synctest.Wait()
		want := "user:go a:call-deaf a:response-cancelled!INVOCATION_ABORTED user:again a:next"
		if got := h.history(); got != want {
			t.Errorf("history %s, want %s", got, want)
		}
	})
}

func TestPanicClosesOpenCalls(t *testing.T) {
	boom := tool.Must(tool.New(tool.Declaration{Name: "boom"}, func(*tool.Context, struct{}) (any, error) { panic("boom") }))
	h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Call("boom", nil), scripted.Say("next")), boom))
	r := h.start("go")
	h.wait(r)
	if got := h.info(r); got.Status != session.Failed || got.Failure.Message != "tool boom panicked" {
		t.Errorf("info %+v, failure %v", got, got.Failure)
	}
	h.wait(h.start("again"))
	if got := h.history(); got != "user:go a:call-boom a:response-interrupted!INVOCATION_ABORTED user:again a:next" {
		t.Errorf("history %s", got)
	}
}

func TestWaitingReleasesTheSession(t *testing.T) {
	ask := tool.Must(tool.New(tool.Declaration{Name: "ask", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Call("ask", nil), scripted.Say("chat"), scripted.Say("done")), ask))
	first := h.start("go")
	h.wait(first)
	if got := h.info(first).Status; got != session.Waiting {
		t.Errorf("status %s", got)
	}
	h.wait(h.start("hello"))
	id := h.wait(first).Entries[0].Event.LongRunningToolIDs[0]
	reply := func(name string) (*run.Run, error) {
		return h.Start(t.Context(), run.Request{Key: key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
			{FunctionResponse: &event.FunctionResponse{ID: id, Name: name, Response: json.RawMessage(`{"ok":true}`)}},
		}}})
	}
	if _, err := reply("other"); !errors.Is(err, run.ErrUnknownCall) {
		t.Errorf("another name: %v", err)
	}
	r, err := reply("ask")
	if err != nil {
		t.Fatal(err)
	}
	h.wait(r)
	if got := h.info(r); got.Resumes != first.ID() || got.Status != session.Completed {
		t.Errorf("info %+v", got)
	}
	if _, err := reply("ask"); !errors.Is(err, run.ErrAnswered) {
		t.Errorf("twice: %v", err)
	}
}

func TestTempStateLivesForOneRun(t *testing.T) {
	type in struct{ Set bool }
	var seen []bool
	temp := tool.Must(tool.New(tool.Declaration{Name: "temp"}, func(ctx *tool.Context, in in) (string, error) {
		_, ok := ctx.State.Raw("temp:x")
		seen = append(seen, ok)
		return "ok", errors.Join(ctx.State.Set("temp:x", 1), ctx.State.Set("x", 2))
	}))
	call := scripted.Call("temp", map[string]bool{"Set": true})
	h := newFixture(t, memstore.New(0), llm(scripted.New(call, call, scripted.Say("ok"), call, scripted.Say("ok")), temp))
	h.wait(h.start("one"))
	r := h.start("two")
	h.wait(r)
	if fmt.Sprint(seen) != "[false true false]" {
		t.Errorf("the key was there: %v", seen)
	}
	s, _ := h.store.Get(t.Context(), key, session.Read{})
	for _, e := range s.Entries {
		if strings.Contains(string(e.JSON), "temp:") {
			t.Errorf("stored: %s", e.JSON)
		}
	}
	if _, ok := s.State["temp:x"]; ok || string(s.State["x"]) != "2" {
		t.Errorf("state %v", s.State)
	}
}

func TestShutdownLetsRunsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon, never := make(chan struct{}), (chan struct{})(nil)
		h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Wait(soon, echo), scripted.Wait(never, echo))))
		first := h.start("one")
		other := session.Key{App: "app", User: "u", ID: "other"}
		if _, err := h.Create(t.Context(), session.NewSession{Key: other}, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		second, err := h.Start(t.Context(), run.Request{Key: other, Message: event.Text(event.RoleUser, "two")})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { close(soon) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		h.Shutdown(ctx)
		if got := h.info(first).Status; got != session.Completed {
			t.Errorf("the run that could end is %s", got)
		}
		if got := h.info(second).Status; got != session.Cancelled {
			t.Errorf("the run that could not is %s", got)
		}
	})
}

func TestDeleteEndsRuns(t *testing.T) {
	h := newFixture(t, memstore.New(0), llm(scripted.Func(scripted.Wait(nil, echo))))
	active, queued := h.start("one"), h.start("two")
	if err := h.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got := h.wait(active).Run.Status; got != session.Cancelled {
		t.Errorf("status %s", got)
	}
	if _, err := queued.Wait(t.Context()); !errors.Is(err, run.ErrCancelled) {
		t.Errorf("the queued run: %v", err)
	}
	if _, err := h.store.Get(t.Context(), key, session.Read{}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}

// brokenStore fails to append from some entry on.
type brokenStore struct {
	session.Store
	appends int
}

func (b *brokenStore) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	if b.appends--; b.appends < 0 {
		return errFull
	}
	return b.Store.Append(ctx, key, epoch, notes, entries...)
}

func (b *brokenStore) Begin(ctx context.Context, r session.NewRun) (*session.Begun, error) {
	if b.appends--; b.appends < 0 {
		return nil, errFull
	}
	return b.Store.Begin(ctx, r)
}

var errFull = errors.New("disk /var/lib/secret is full")

func TestStoreFailureEndsTheRunAndRevealsNothing(t *testing.T) {
	store := &brokenStore{Store: memstore.New(0), appends: 1}
	h := newFixture(t, store, llm(scripted.Func(echo)))
	r := h.start("go")
	h.wait(r)
	info := h.info(r)
	if info.Status != session.Failed || strings.Contains(info.Failure.Message, "secret") {
		t.Errorf("status %s, %v", info.Status, info.Failure)
	}
	_, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "x")})
	if _, ok := errors.AsType[*run.StoreError](err); !ok || strings.Contains(err.Error(), "secret") {
		t.Errorf("start: %v", err)
	}
	store.appends = 100
	h.wait(h.start("again"))
	// What was shown of the answer is kept, since the end could be stored.
	if got := h.history(); got != "user:go a:re:go user:again a:re:again" || h.marked() != "a:re:go!" {
		t.Errorf("history %s, interrupted %s", got, h.marked())
	}
}

// A process that lost its lease cannot write, and a reader that reads the run from
// it gets the events of the new owner.
func TestStaleOwnerCannotWrite(t *testing.T) {
	gate := make(chan struct{})
	store := memstore.New(-1)
	h := newFixture(t, store, llm(scripted.New(scripted.Wait(gate, echo))))
	r := h.start("go")
	claimed, err := store.Claim(t.Context(), key, session.Read{}) // another process takes over
	if err != nil {
		t.Fatal(err)
	}
	reader := r.Read()
	defer reader.Close()
	close(gate)
	// The stale owner learns of the other one when it stores something, so a piece may be
	// seen before that.
	if item, _, err := reader.Take(t.Context()); err != nil || item.Entry != nil {
		t.Errorf("the stale owner's words are read: %s, %v", item.JSON, err)
	}
	entry, err := session.NewEntry(&event.Event{ID: "e", InvocationID: r.ID(), Author: "a", Content: event.Text(event.RoleModel, "other")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.End(t.Context(), key, claimed.Run.Epoch, session.End{Status: session.Completed, Entries: []*session.Entry{entry}}); err != nil {
		t.Fatal(err)
	}
	var read []*session.Entry
	for {
		item, err := reader.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if item.Entry != nil {
			read = append(read, item.Entry)
		}
	}
	result := h.wait(r)
	if got := result.Run.Status; got != session.Completed {
		t.Errorf("status %s", got)
	}
	for _, got := range []string{words(read), words(result.Entries)} {
		if got != "a:other" {
			t.Errorf("read are %s", got)
		}
	}
	if got := h.history(); got != "user:go a:other" {
		t.Errorf("history %s", got)
	}
}

func TestImport(t *testing.T) {
	h := newFixture(t, memstore.New(0), llm(scripted.Func(echo)))
	call := &event.Event{Author: "a", Content: &event.Content{Role: "model", Parts: []*event.Part{{FunctionCall: &event.FunctionCall{ID: "1", Name: "n"}}}}}
	done := &event.Event{Author: "a", Content: &event.Content{Role: "user", Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: "1", Name: "n"}}}}}
	for name, tc := range map[string]struct {
		events []*event.Event
		error  string
	}{
		"whole":          {[]*event.Event{call, done}, ""},
		"unanswered":     {[]*event.Event{call}, "event 0 has a function call"},
		"answered twice": {[]*event.Event{call, done, done}, "2 responses"},
		"partial":        {[]*event.Event{done, {Author: "a", Partial: true}}, "event 1 cannot be partial"},
		"actions":        {[]*event.Event{{Author: "a", Actions: event.Actions{Escalate: true}}}, "cannot include event actions"},
		"long-running":   {[]*event.Event{{Author: "a", LongRunningToolIDs: []string{"1"}}}, "long-running"},
		"no author":      {[]*event.Event{{}}, "needs an author"},
		"of no time":     {[]*event.Event{{Author: "a", Timestamp: -1}}, "not a time in seconds"},
		"of no role":     {[]*event.Event{{Author: "a", Content: event.Text("system", "x")}}, "role"},
		"milliseconds":   {[]*event.Event{{Author: "a", Timestamp: 1794719700054}}, ""},
		"nothing there":  {nil, ""},
	} {
		s, err := h.Create(t.Context(), session.NewSession{Key: session.Key{App: "app", User: "u", ID: name}}, tc.events)
		if tc.error == "" {
			if err != nil || len(s.Entries) != len(tc.events) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.error) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Wait(nil, echo))))
	r := h.start("go")
	f := r.Read()
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	h.cancel(r)
	if _, err := f.Next(t.Context()); err != nil {
		t.Errorf("the closing event: %v", err)
	}
	if _, err := f.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}
