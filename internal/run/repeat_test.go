package run_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// A request that is repeated, or refused, leaves nothing behind: no version of a
// file, and no plugin was called.
func TestRepeatedRequestDoesNothing(t *testing.T) {
	t.Parallel()
	var heard atomic.Int64
	gate := make(chan struct{})
	root, err := agent.WithPlugins(llm(scripted.New(scripted.Wait(gate, echo), scripted.Wait(gate, echo))), &agent.Plugin{
		Name: "p", OnUserMessage: func(*tool.Context, *event.Content) (*event.Content, error) {
			heard.Add(1)
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	files := artifact.NewMemory()
	h := &fixture{t: t, store: memstore.New(0)}
	h.Engine = run.NewEngine(run.Options{
		Store: session.NewStore(h.store), Artifacts: files, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Limits: run.Limits{Queue: 1},
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	ask := func(id string, busy session.Policy) (*run.Run, error) {
		return h.Start(t.Context(), run.Request{
			Key: key, SaveFiles: true, Busy: busy, IdempotencyKey: id, Fingerprint: id,
			Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
				{Text: "look"}, {InlineData: &event.Blob{MIMEType: "text/plain", Data: []byte("x"), DisplayName: "f"}},
			}},
		})
	}
	left := func(when string, versions, messages int64) {
		t.Helper()
		list, err := files.In(artifact.Place{App: key.App, User: key.User, Session: key.ID}).Versions(t.Context(), "f")
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(list)) != versions || heard.Load() != messages {
			t.Errorf("%s there are %d versions, and the plugin has heard %d messages; want %d and %d", when, len(list), heard.Load(), versions, messages)
		}
	}
	first, err := ask("one", "")
	if err != nil {
		t.Fatal(err)
	}
	left("after the first", 1, 1)
	again, err := ask("one", "")
	if err != nil || !again.Repeat || again.ID() != first.ID() {
		t.Errorf("the same again is %+v, %v", again, err)
	}
	left("after the same again", 1, 1)
	if _, err := ask("other", session.Reject); err == nil {
		t.Error("a busy session took one")
	}
	left("after one was refused", 1, 1)
	if _, err := ask("two", ""); err != nil {
		t.Fatal(err)
	}
	left("after one that waits", 2, 2)
	if _, err := ask("three", ""); !errors.Is(err, session.ErrQueueFull) {
		t.Errorf("a full line says %v", err)
	}
	left("after one for whom the line was full", 2, 2)
	if again, err := ask("two", ""); err != nil || !again.Repeat {
		t.Errorf("the same again is %+v, %v", again, err)
	}
	left("in the end", 2, 2)
	close(gate)
}

// An answer that is sent twice, since the client did not hear that it was taken,
// is one.
func TestRepeatedAnswer(t *testing.T) {
	t.Parallel()
	pay := tool.Confirm(tool.Must(tool.New(tool.Declaration{Name: "pay"}, func(*tool.Context, struct{}) (any, error) { return nil, nil })), nil)
	h := newFixture(t, memstore.New(0), llm(scripted.New(scripted.Call("pay", nil), scripted.Say("paid")), pay))
	first := h.wait(h.start("go"))
	var id string
	for _, e := range first.Entries {
		if ev, err := e.Decode(); err == nil && len(ev.LongRunningToolIDs) > 0 {
			id = ev.LongRunningToolIDs[0]
		}
	}
	answer := run.Request{Key: key, IdempotencyKey: "k", Fingerprint: "f", Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
		{FunctionResponse: &event.FunctionResponse{ID: id, Name: tool.ConfirmationCall, Response: []byte(`{"confirmed":true}`)}},
	}}}
	r, err := h.Start(t.Context(), answer)
	if err != nil {
		t.Fatal(err)
	}
	h.wait(r)
	again, err := h.Start(t.Context(), answer)
	if err != nil || !again.Repeat || again.ID() != r.ID() {
		t.Errorf("the same again is %+v, %v", again, err)
	}
}
