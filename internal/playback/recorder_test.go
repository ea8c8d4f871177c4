package playback

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"sync"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// aLog is a log with nothing but a message.
type aLog struct{ run.Log }

func (aLog) Len() int { return 1 }
func (aLog) At(int) *event.Event {
	return &event.Event{ID: "m", Author: event.User, Content: event.Text(event.RoleUser, "hello")}
}
func (l aLog) Own(to []*event.Event) (int, []*event.Event) { return 0, append(to, l.At(0)) }
func (aLog) Shared() session.State                         { return nil }

// kept keeps what is recorded, by run.
type kept struct {
	*memstore.Backend // for the rest

	mu    sync.Mutex
	steps map[string][]*storedStep
}

func (k *kept) PutRecordings(_ context.Context, list []*session.Recording) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range list {
		r := &stored{}
		if err := json.Unmarshal(one.JSON, r); err != nil {
			return err
		}
		k.steps[one.Run] = r.Steps
	}
	return nil
}

// aModel is a function that answers.
type aModel func(context.Context, func(*model.Response, error) bool)

func (aModel) Name() string { return "m" }

func (m aModel) Generate(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) { m(ctx, yield) }
}

// A model may still be asked when its run has ended, and agents may keep the edges of a
// run. Neither may change what is recorded of the next one, which uses the same memory.
func TestEndedEdges(t *testing.T) {
	t.Parallel()
	store := &kept{steps: map[string][]*storedStep{}}
	to := NewRecorder(store, 1, 0, nil, slog.New(slog.DiscardHandler))
	begin := func(id string) run.Edges {
		return to.Edges(run.Beginning{Work: run.Work{Key: session.Key{App: "a", User: "u", ID: "s"}, Run: id}, Log: aLog{}})
	}
	ask := func(e run.Edges, agent string, m aModel) {
		e.Ask(t.Context(), agentrt.Place{Agent: agent}, m, &model.Request{}, func(*model.Response, error) bool { return true })
	}
	says := func(text string) aModel {
		return func(_ context.Context, yield func(*model.Response, error) bool) { yield(model.Text(text), nil) }
	}
	var late []run.Edges
	for _, id := range []string{"r1", "r2", "r3", "r4"} {
		e := begin(id)
		ask(e, id, says("one"))
		asked, goOn, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
		if id == "r2" {
			go func() {
				defer close(over)
				ask(e, id, func(_ context.Context, yield func(*model.Response, error) bool) {
					close(asked)
					<-goOn
					yield(model.Text("too late"), nil)
				})
			}()
			<-asked
		}
		e.Done()
		e.Done()
		late = append(late, e)
		next := begin(id + " next")
		if id == "r2" {
			close(goOn)
			<-over
		}
		for _, e := range late {
			ask(e, "late", says("too late"))
		}
		ask(next, "next", says("two"))
		next.Done()
	}
	to.Close()
	if len(store.steps) != 8 {
		t.Errorf("%d runs are recorded, want 8", len(store.steps))
	}
	for id, steps := range store.steps {
		want := id
		if len(id) > 2 {
			want = "next"
		}
		if len(steps) != 1 || steps[0].Agent != want {
			t.Errorf("run %q has %d steps, the first of which is of %q", id, len(steps), steps[0].Agent)
		}
	}
}
