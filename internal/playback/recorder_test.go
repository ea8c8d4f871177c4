package playback

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"strconv"
	"strings"
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

// keeper keeps the JSON of recordings, as a store may, and a copy of it.
type keeper struct {
	*memstore.Backend // for the rest

	mu            sync.Mutex
	given, copies map[string][]byte // by run
}

func (k *keeper) PutRecordings(_ context.Context, list []*session.Recording) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range list {
		k.given[one.Run], k.copies[one.Run] = one.JSON, bytes.Clone(one.JSON)
	}
	return nil
}

// A store may keep the JSON of recordings, so later runs must not be encoded in it.
func TestStoredRecordingsDoNotChange(t *testing.T) {
	t.Parallel()
	store := &keeper{given: map[string][]byte{}, copies: map[string][]byte{}}
	to := NewRecorder(store, 1, 0, nil, slog.New(slog.DiscardHandler))
	for i := range 3 * maxBatch {
		id := strconv.Itoa(i)
		e := to.Edges(run.Beginning{Work: run.Work{Key: session.Key{App: "a", User: "u", ID: "s"}, Run: id}, Log: aLog{}})
		answer := aModel(func(_ context.Context, yield func(*model.Response, error) bool) {
			yield(model.Text(strings.Repeat(id, i)), nil)
		})
		e.Ask(t.Context(), agentrt.Place{Agent: id}, answer, &model.Request{}, func(*model.Response, error) bool { return true })
		e.Done()
		if i%maxBatch == maxBatch/2 { // what follows is stored with others
			to.Flush(t.Context())
		}
	}
	to.Close()
	if len(store.given) != 3*maxBatch {
		t.Errorf("%d recordings are stored, want %d", len(store.given), 3*maxBatch)
	}
	for id, doc := range store.given {
		if !bytes.Equal(doc, store.copies[id]) || !bytes.Contains(doc, []byte(`"agent":"`+id+`"`)) {
			t.Errorf("the recording of run %s is %s, and was %s", id, doc, store.copies[id])
		}
	}
}
