package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-run/parley/session"
)

// Clients go away at any moment. A store may refuse a context that has ended,
// or do what it was asked all the same; it must do one or the other. These
// tests ask with a context that has ended and look at what is there.

// world is a session with an owner, and one beside it.
type world struct {
	*kit
	epoch int64
	seen  [2]view // both sessions
}

func (k *kit) world() *world {
	k.create(key("s"), state("a", "1", "user:a", "1", "app:a", "1"), say("e0"))
	k.create(key("sibling"), nil)
	w := &world{kit: k, epoch: k.acquire(key("s"))}
	w.seen = w.views()
	return w
}

func (w *world) views() [2]view {
	w.Helper()
	return [2]view{look(w.get(key("s"))), look(w.get(key("sibling")))}
}

// ask runs do with a context that has ended, and reports whether it was done.
// If it was not, nothing has changed, and the error is not one that would make
// the caller believe something about the session.
func (w *world) ask(do func(context.Context) error) bool {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	err := do(ctx)
	if err == nil {
		return true
	}
	for _, wrong := range []error{session.ErrNotFound, session.ErrExists, session.ErrFenced, session.ErrBadToken} {
		if errors.Is(err, wrong) {
			w.Errorf("a context that has ended is answered with %v", err)
		}
	}
	now := w.views()
	w.same("after it was refused", w.seen[0], now[0])
	w.same("sibling after it was refused", w.seen[1], now[1])
	return false
}

// owns wants the epoch to be good, or not to be.
func (w *world) owns(epoch int64, good bool) {
	w.Helper()
	if good {
		w.append(key("s"), epoch, say("still"))
	} else {
		w.fenced(key("s"), epoch, "that was lost")
	}
}

func cancelledCreate(k *kit) {
	w := k.world()
	done := w.ask(func(ctx context.Context) error {
		_, err := k.store.Create(ctx, key("new"), state("b", "1", "user:b", "1", "app:b", "1"), number("n", 3))
		return err
	})
	if !done {
		k.missing(key("new"))
		k.create(key("new"), state("b", "1", "user:b", "1", "app:b", "1"), number("n", 3)...)
	}
	s := k.get(key("new"))
	k.hasLog(s, number("n", 3)...)
	k.hasState(s, "b", "1", "user:a", "1", "user:b", "1", "app:a", "1", "app:b", "1")
	k.hasState(k.get(key("sibling")), "user:a", "1", "user:b", "1", "app:a", "1", "app:b", "1")
}

func cancelledAppend(k *kit) {
	w := k.world()
	batch := func() []*session.Entry {
		return []*session.Entry{set("e1", "a", "2", "user:a", "null"), say("e2"), set("e3", "b", "2", "app:a", "2")}
	}
	done := w.ask(func(ctx context.Context) error { return k.store.Append(ctx, key("s"), w.epoch, batch()...) })
	if !done {
		k.append(key("s"), w.epoch, batch()...)
	}
	s := k.get(key("s"))
	k.hasLog(s, append([]*session.Entry{say("e0")}, batch()...)...)
	k.hasState(s, "a", "2", "b", "2", "app:a", "2")
	w.owns(w.epoch, true)
}

func cancelledPatch(k *kit) {
	w := k.world()
	e := set("e1", "a", "null", "user:a", "2", "app:b", "2")
	done := w.ask(func(ctx context.Context) error { return k.store.Patch(ctx, key("s"), e) })
	if !done {
		k.patch(key("s"), set("e1", "a", "null", "user:a", "2", "app:b", "2"))
	}
	s := k.get(key("s"))
	k.hasLog(s, say("e0"), e)
	k.hasState(s, "user:a", "2", "app:a", "1", "app:b", "2")
	w.owns(w.epoch, true)
}

func cancelledDelete(k *kit) {
	w := k.world()
	if done := w.ask(func(ctx context.Context) error { return k.store.Delete(ctx, key("s")) }); !done {
		w.owns(w.epoch, true)
		k.delete(key("s"))
	}
	k.missing(key("s"))
	k.fenced(key("s"), w.epoch, "after Delete")
	k.hasState(k.get(key("sibling")), "user:a", "1", "app:a", "1")
	k.hasLog(k.create(key("s"), nil))
}

// An Acquire that failed has not taken the session from its owner: no process
// would know the new epoch.
func cancelledAcquire(k *kit) {
	w := k.world()
	var epoch int64
	var got *session.Session
	done := w.ask(func(ctx context.Context) (err error) {
		got, epoch, err = k.store.Acquire(ctx, key("s"))
		return err
	})
	w.owns(w.epoch, !done)
	if done {
		k.same("what Acquire answers", w.seen[0], look(got))
		w.owns(epoch, true)
	}
}

func cancelledRelease(k *kit) {
	w := k.world()
	done := w.ask(func(ctx context.Context) error { return k.store.Release(ctx, key("s"), w.epoch) })
	w.owns(w.epoch, !done)
}

// A read is right or refused; it is never short.
func cancelledRead(k *kit) {
	w := k.world()
	w.ask(func(ctx context.Context) error {
		s, err := k.store.Get(ctx, key("s"), session.Read{})
		if err == nil {
			k.same("Get", w.seen[0], look(s))
		}
		return err
	})
	w.ask(func(ctx context.Context) error {
		sessions, next, err := k.store.List(ctx, "app", "user", session.Page{})
		if err == nil && (!slices.Equal(ids(sessions), []string{"sibling", "s"}) || next != "") {
			k.Errorf("listed are %v and the token %q", ids(sessions), next)
		}
		return err
	})
}

// A run whose client is gone has begun or it has not. Half of it would be a
// session that is busy forever, or a key that stands for nothing.
func cancelledBegin(k *kit) {
	w := k.world()
	k.release(key("s"), w.epoch)
	req := keyed("run", key("s"), "key", "print")
	req.Message = set("m", "a", "2")
	var begun *session.Begun
	done := w.ask(func(ctx context.Context) (err error) {
		begun, err = k.store.Begin(ctx, req)
		return err
	})
	if !done {
		k.noRun(key("s"), "run")
		k.nothing(key("s"), "of which no run has begun")
		req.Message = set("m", "a", "2")
		begun = k.begin(req)
	}
	if begun.Repeat || begun.Session == nil {
		k.Errorf("the run is %+v", begun.Run)
	}
	s := k.get(key("s"))
	k.hasLog(s, say("e0"), set("m", "a", "2"))
	k.hasState(s, "a", "2", "user:a", "1", "app:a", "1")
	k.repeats(keyed("again", key("s"), "key", "print"), "run")
	w.owns(begun.Run.Epoch, true)
}

// A run has ended with its last words, or continues without them.
func cancelledEnd(k *kit) {
	w := k.world()
	end := func() session.End {
		return session.End{Status: session.Completed, Entries: []*session.Entry{say("e1"), set("e2", "a", "2")}}
	}
	done := w.ask(func(ctx context.Context) error {
		_, err := k.store.End(ctx, key("s"), w.epoch, end())
		return err
	})
	if !done {
		k.end(key("s"), w.epoch, end())
	}
	w.owns(w.epoch, false)
	s := k.get(key("s"))
	k.hasLog(s, say("e0"), say("e1"), set("e2", "a", "2"))
	k.hasState(s, "a", "2", "user:a", "1", "app:a", "1")
	if runs := k.history(key("s"), 0); len(runs) != 1 || runs[0].Status != session.Completed || runs[0].Last != 3 {
		k.Errorf("the runs are %+v", runs)
	}
}

// A queued run that was asked to end has ended, or keeps its place.
func cancelledStop(k *kit) {
	w := k.world()
	k.enqueue("line", key("s"))
	done := w.ask(func(ctx context.Context) error {
		_, err := k.store.StopRun(ctx, key("s"), "line", session.StopCancel)
		return err
	})
	k.complete(key("s"), w.epoch)
	if done {
		k.run(key("s"), "line", session.Cancelled)
		k.nothing(key("s"), "of which the queue was stopped")
	} else {
		k.claims(key("s"), "line")
	}
}
