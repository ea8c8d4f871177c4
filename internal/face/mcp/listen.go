package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/session"
)

const (
	maxTasks = 50 // of a subscription
	// closingEvery is how often a stream looks whether the server shuts down.
	closingEvery = 500 * time.Millisecond
)

// listen sends the changes of tasks until the client disconnects. Other notifications
// do not exist here.
func (e *exchange) listen() (any, error) {
	var p struct {
		Notifications struct {
			Tasks []string `json:"taskIds"`
		} `json:"notifications"`
	}
	if err := e.params(&p); err != nil {
		return nil, err
	}
	ids := p.Notifications.Tasks
	switch {
	case len(ids) > 0 && !e.can.tasks():
		return nil, errNoTasks
	case len(ids) > maxTasks:
		return nil, invalid("Invalid params: a subscription has at most %d tasks", maxTasks)
	case e.out == nil:
		return nil, invalid("Invalid request: the client must accept text/event-stream")
	}
	ctx, cancel := e.UntilExpiry(e.r)
	defer cancel()
	defer e.Streaming()()
	agreed := []string{}
	for _, id := range ids {
		if _, _, err := e.theTask(ctx, id); err == nil {
			agreed = append(agreed, id)
		}
	}
	about := map[string]any{subscriptionKey: e.in.ID}
	accepted := map[string]any{}
	if len(ids) > 0 {
		accepted["taskIds"] = agreed
	}
	if e.notify("notifications/subscriptions/acknowledged", "", map[string]any{"_meta": about, "notifications": accepted}) != nil {
		return nil, nil
	}
	w := e.watch(ctx, agreed)
	defer w.close()
	err := sse.Follow(ctx, e.out, w, func(t *task) error {
		t.Meta = about
		return e.notify("notifications/tasks", "", t)
	})
	if errors.Is(err, run.ErrClosing) {
		return map[string]any{"_meta": about}, nil
	}
	return nil, nil // the client has disconnected, or subscribes again
}

// watch follows tasks. It is what a stream reads.
type watch struct {
	e     *exchange
	ready chan struct{}
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu      sync.Mutex
	changed []*task
	failed  error
}

func (e *exchange) watch(ctx context.Context, ids []string) *watch {
	ctx, stop := context.WithCancel(ctx)
	w := &watch{e: e, ready: make(chan struct{}, 1), stop: stop}
	for _, id := range ids {
		w.done.Go(func() {
			if err := w.follow(ctx, id); err != nil {
				w.add(nil, err)
			}
		})
	}
	w.done.Go(func() { w.untilClosing(ctx) })
	return w
}

// untilClosing ends the stream when the server shuts down.
func (w *watch) untilClosing(ctx context.Context) {
	tick := time.NewTicker(closingEvery)
	defer tick.Stop()
	for !w.e.Engine().Closing() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	w.add(nil, run.ErrClosing)
}

func (w *watch) close() {
	w.stop()
	w.done.Wait()
}

// follow adds the states of a task until it ends.
func (w *watch) follow(ctx context.Context, id string) error {
	for {
		t, last, err := w.e.state(ctx, id)
		if err != nil {
			return err
		}
		w.add(t, nil)
		switch {
		case last.Status == session.Waiting:
			reader := w.e.Engine().AwaitResumption(last)
			_, err = take(ctx, reader)
			reader.Close()
		case last.Status.Ended():
			return nil
		default:
			var current *run.Run
			if current, err = w.e.Engine().Find(ctx, last.Key, last.ID); err == nil {
				var result *run.Result
				if result, err = current.Wait(ctx); result != nil {
					err = nil // a refusal is a state
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// add adds a state, or the error that ends the stream.
func (w *watch) add(t *task, err error) {
	w.mu.Lock()
	if t != nil {
		w.changed = append(w.changed, t)
	}
	if w.failed == nil {
		w.failed = err
	}
	w.mu.Unlock()
	select {
	case w.ready <- struct{}{}:
	default: // it has not been read since the last time
	}
}

// Take returns the next state of a task, if there is one.
func (w *watch) Take(context.Context) (*task, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.changed) > 0 {
		t := w.changed[0]
		w.changed = w.changed[1:]
		return t, true, nil
	}
	return nil, false, w.failed
}

// Ready receives a value when Take may return something new.
func (w *watch) Ready() <-chan struct{} { return w.ready }

// Begun reports that the stream is open.
func (w *watch) Begun() bool { return true }
