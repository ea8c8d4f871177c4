package run_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// commits is a store that lists what is stored together, and may be slow or fail.
type commits struct {
	session.Store
	before func(entries []*session.Entry) error // of an append

	mu   sync.Mutex
	list []string
}

func (c *commits) add(what string, entries []*session.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, strings.TrimSpace(what+" "+words(entries)))
}

func (c *commits) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.list, "; ")
}

func (c *commits) Begin(ctx context.Context, r session.NewRun) (*session.Begun, error) {
	c.add("begin", []*session.Entry{r.Message})
	return c.Store.Begin(ctx, r)
}

func (c *commits) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	if c.before != nil {
		if err := c.before(entries); err != nil {
			return err
		}
	}
	c.add("append", entries)
	return c.Store.Append(ctx, key, epoch, notes, entries...)
}

func (c *commits) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	c.add("end", end.Entries)
	return c.Store.End(ctx, key, epoch, end)
}

func (c *commits) HandOver(ctx context.Context, key session.Key, epoch int64) error {
	c.add("hand over", nil)
	return c.Store.HandOver(ctx, key, epoch)
}

// deferring returns an engine whose store others may share. It is called in a bubble.
func deferring(t *testing.T, root *agent.Agent, store session.Backend) *fixture {
	t.Helper()
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Lease: time.Hour, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// inMemory returns an empty store.
func inMemory(before func([]*session.Entry) error) *commits {
	return &commits{Store: memstore.New(0), before: before}
}

// about returns whether one of the events has a word.
func about(entries []*session.Entry, word string) bool { return strings.Contains(words(entries), word) }

// whole starts a run without pieces.
func (h *fixture) whole() *run.Run {
	h.t.Helper()
	r, err := h.Start(h.t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go")})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// A run with a tool call needs three commits, and the call is stored when the tool is
// called.
func TestEventsAreStoredTogether(t *testing.T) {
	t.Parallel()
	var stored func() string
	atCall := ""
	work := tool.Must(tool.New(tool.Declaration{Name: "work"}, func(*tool.Context, struct{}) (map[string]string, error) {
		atCall = stored()
		return map[string]string{"status": "done"}, nil
	}))
	root := llm(scripted.New(scripted.Call("work", nil), scripted.Call("work", nil), scripted.Say("end")), work)
	synctest.Test(t, func(t *testing.T) {
		store := inMemory(nil)
		h := deferring(t, root, store)
		stored = h.history
		result := h.wait(h.whole())
		const want = "a:call-work a:response-done a:call-work a:response-done a:end"
		if got := words(result.Entries); got != want || h.history() != "user:go "+want || result.Run.Status != session.Completed {
			t.Errorf("%s: read is %s, and stored %s", result.Run.Status, got, h.history())
		}
		const together = "begin user:go; append a:call-work; append a:response-done a:call-work; end a:response-done a:end"
		if got := store.all(); got != together {
			t.Errorf("the commits are: %s", got)
		}
		if atCall != "user:go a:call-work a:response-done a:call-work" {
			t.Errorf("when the tool was called for the last time, the log was: %s", atCall)
		}
		h.healthy()
	})
}

// An agent made of a function relies on what it has emitted.
func TestEventsOfAFunctionAreStored(t *testing.T) {
	t.Parallel()
	var stored func() string
	inner := llm(scripted.Func(scripted.Say("inner")))
	root, err := agent.New(agent.Config{Name: "f", SubAgents: []*agent.Agent{inner}}, func(ctx *agent.Context, emit agent.Emit) error {
		if err := inner.Run(ctx, emit); err != nil {
			return err
		}
		if got := stored(); got != "user:go a:inner" {
			t.Errorf("after an agent that was called, the log is: %s", got)
		}
		err := emit(&event.Event{Content: event.Text(event.RoleModel, "mine")})
		if got := stored(); got != "user:go a:inner f:mine" {
			t.Errorf("after emit, the log is: %s", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := deferring(t, root, inMemory(nil))
		stored = h.history
		if row := h.wait(h.whole()).Run; row.Status != session.Completed {
			t.Error(row.Status, row.Failure)
		}
	})
}

// slowStore returns an engine, a store that waits for disk before it stores the result
// of a call, and a model that waits for answer after that.
func slowStore(t *testing.T) (h *fixture, store *commits, m *scripted.Model, disk, answer chan struct{}) {
	t.Helper()
	disk, answer = make(chan struct{}), make(chan struct{})
	store = inMemory(func(entries []*session.Entry) error {
		if about(entries, "response-done") {
			<-disk
		}
		return nil
	})
	m = scripted.New(scripted.Call("work", nil), scripted.Wait(answer, scripted.Say("end")))
	return deferring(t, llm(m, nothing()), store), store, m, disk, answer
}

// The model is asked while the result of a call is being stored, and readers see the
// result as soon as it is stored, and not before.
func TestModelDoesNotWaitForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, store, m, disk, answer := slowStore(t)
		r := h.whole()
		reader := r.Read()
		defer reader.Close()
		var seen []*session.Entry
		look := func(want string) {
			t.Helper()
			synctest.Wait()
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				item, err := reader.Next(ctx)
				cancel()
				if err != nil {
					break
				}
				if item.Entry != nil {
					seen = append(seen, item.Entry)
				}
			}
			if got := words(seen); got != want {
				t.Errorf("the reader has seen %q, want %q", got, want)
			}
		}
		time.Sleep(time.Second)
		if m.Calls() != 2 {
			t.Errorf("the model was called %d times while the store was busy", m.Calls())
		}
		look("a:call-work")
		close(disk)
		look("a:call-work a:response-done")
		close(answer)
		look("a:call-work a:response-done a:end")
		if row := h.wait(r).Run; row.Status != session.Completed {
			t.Error(row.Status, row.Failure)
		}
		const want = "begin user:go; append a:call-work; append a:response-done; end a:end"
		if got := store.all(); got != want {
			t.Errorf("the commits are: %s", got)
		}
	})
}

// What is emitted while an event is being stored follows it, also the end of the run.
func TestEndWaitsForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, store, _, disk, answer := slowStore(t)
		r := h.whole()
		time.Sleep(time.Second)
		close(answer)
		synctest.Wait()
		if got := store.all(); got != "begin user:go; append a:call-work" {
			t.Errorf("while the store is busy, the commits are: %s", got)
		}
		close(disk)
		result := h.wait(r)
		if got := words(result.Entries); got != "a:call-work a:response-done a:end" || h.history() != "user:go "+got {
			t.Errorf("read is %s, and stored %s", got, h.history())
		}
	})
}

// An event that nothing waited for, and that cannot be stored, ends the run, also
// while it waits for a model.
func TestDeferredEventIsNotStored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err   error
		want  string
		moved bool
	}{
		"an error":      {errAway, "user:go a:call-work a:response-interrupted!INVOCATION_ABORTED", false},
		"another owner": {session.ErrFenced, "user:go a:call-work", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail := func(entries []*session.Entry) error {
				if about(entries, "response-done") {
					return tt.err
				}
				return nil
			}
			m := scripted.New(scripted.Call("work", nil), scripted.Wait(nil, scripted.Say("end")))
			synctest.Test(t, func(t *testing.T) {
				h := deferring(t, llm(m, nothing()), inMemory(fail))
				r := h.whole()
				time.Sleep(time.Minute)
				if got := h.history(); got != tt.want {
					t.Errorf("the log is: %s", got)
				}
				switch row := h.info(r); {
				case tt.moved && row.Status != session.Running:
					t.Errorf("the run of another owner is %s", row.Status)
				case !tt.moved && (row.Status != session.Failed || row.Failure.Type != "store"):
					t.Errorf("the run is %s: %v", row.Status, row.Failure)
				}
			})
		})
	}
}

// A run whose end cannot be stored together with its last events is not lost: if it is
// the events that cannot be stored, it has failed.
func TestLastEventIsNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := deferring(t, llm(scripted.Func(scripted.Say("bad"))), &lastRefused{commits: commits{Store: memstore.New(0)}})
		row := h.wait(h.whole()).Run
		if row.Status != session.Failed || row.Failure.Type != "store" || h.history() != "user:go" {
			t.Errorf("%s %v: %s", row.Status, row.Failure, h.history())
		}
	})
}

// lastRefused is a store that cannot store an event.
type lastRefused struct{ commits }

var errBad = errors.New("this event cannot be stored")

func (l *lastRefused) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	if about(entries, "bad") {
		return errBad
	}
	return l.commits.Append(ctx, key, epoch, notes, entries...)
}

func (l *lastRefused) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	if about(end.Entries, "bad") {
		return false, errBad
	}
	return l.commits.End(ctx, key, epoch, end)
}

// A run that is handed over leaves what it has done in the log.
func TestHandOverStoresPendingEvents(t *testing.T) {
	t.Parallel()
	m := scripted.New(scripted.Call("work", nil), scripted.Wait(nil, scripted.Say("end")))
	synctest.Test(t, func(t *testing.T) {
		store := inMemory(nil)
		h := deferring(t, llm(m, nothing()), store)
		h.whole()
		synctest.Wait() // no time has passed: the result is pending
		if got := h.history(); got != "user:go a:call-work" {
			t.Errorf("the log is: %s", got)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		h.Shutdown(over)
		const want = "begin user:go; append a:call-work; append a:response-done; hand over"
		if got := store.all(); got != want {
			t.Errorf("the commits are: %s", got)
		}
	})
}

// The pieces of a text come after the events before it, and before its own.
func TestPiecesFollowPendingEvents(t *testing.T) {
	t.Parallel()
	m := scripted.New(scripted.Call("work", nil), scripted.Say("one two"))
	synctest.Test(t, func(t *testing.T) {
		store := inMemory(nil)
		h := deferring(t, llm(m, nothing()), store)
		reader := h.start("go").Read()
		defer reader.Close()
		var seen []string
		ids := map[string]bool{}
		for {
			item, err := reader.Next(t.Context())
			if err != nil {
				break
			}
			if item.Entry == nil {
				seen = append(seen, "piece")
				continue
			}
			seen = append(seen, words([]*session.Entry{item.Entry}))
			if ev, err := item.Entry.Decode(); err != nil || ids[ev.ID] {
				t.Errorf("the id %s comes twice, or %v", ev.ID, err)
			} else {
				ids[ev.ID] = true
			}
		}
		got := slices.Compact(seen)
		if !slices.Equal(got, []string{"a:call-work", "a:response-done", "piece", "a:one two"}) {
			t.Errorf("the reader has seen %q", got)
		}
		const want = "begin user:go; append a:call-work; append a:response-done; end a:one two"
		if got := store.all(); got != want {
			t.Errorf("the commits are: %s", got)
		}
	})
}

// An event does not get the id or the text of the one before it, while that is being
// stored.
func TestEventsDuringAnAppendAreApart(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]scripted.Step{"error": scripted.Error("SAFETY", "no"), "answer": scripted.Respond(model.Text("after"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				while := make(chan struct{})
				time.AfterFunc(10*time.Millisecond, func() { close(while) })
				inner := llm(scripted.New(scripted.Say("one two"), scripted.Wait(while, second)))
				root, err := agent.NewLoop(agent.Config{Name: "loop", SubAgents: []*agent.Agent{inner}}, 2)
				if err != nil {
					t.Fatal(err)
				}
				h := deferring(t, root, inMemory(func([]*session.Entry) error {
					time.Sleep(20 * time.Millisecond)
					return nil
				}))
				entries := h.wait(h.start("go")).Entries
				ids, texts := map[string]bool{}, 0
				for _, e := range entries {
					ev, err := e.Decode()
					if err != nil || ids[ev.ID] {
						t.Errorf("the id %s comes twice, or %v", ev.ID, err)
						continue
					}
					ids[ev.ID] = true
					if ev.Content.Text() == "one two" {
						texts++
					}
				}
				if len(entries) != 2 || texts != 1 {
					t.Errorf("the events are: %s", words(entries))
				}
			})
		})
	}
}

// Events that are stored with an end of unknown outcome are not stored again: the end
// may still arrive.
func TestEndOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &late{commits: commits{Store: memstore.New(0)}}
		h := deferring(t, llm(scripted.Func(scripted.Say("last"))), store)
		h.whole()
		synctest.Wait()
		if got := h.history(); got != "user:go" && got != "user:go a:last" {
			t.Errorf("the log is: %s", got)
		}
		if got := store.all(); strings.Contains(got, "append") {
			t.Errorf("the commits are: %s", got)
		}
	})
}

// late is a store whose ends get lost on their way.
type late struct{ commits }

func (l *late) End(_ context.Context, _ session.Key, _ int64, end session.End) (bool, error) {
	l.add("end", end.Entries)
	return false, &session.UnavailableError{Doubt: true, Cause: errors.New("the connection was lost")}
}

// Callbacks see what is stored.
func TestEventsBeforeCallbacksAreStored(t *testing.T) {
	t.Parallel()
	var stored func() string
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "a", Model: scripted.Func(scripted.Say("end")),
		AfterAgent: []agent.Callback{func(*tool.Context) (*event.Content, error) {
			if got := stored(); got != "user:go a:end" {
				t.Errorf("the log is: %s", got)
			}
			return nil, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := deferring(t, root, inMemory(nil))
		stored = h.history
		h.wait(h.whole())
	})
}
