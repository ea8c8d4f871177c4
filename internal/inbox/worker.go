package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

const (
	// poll is how often the worker looks for entries that have waited for long.
	poll = 2 * time.Second
	// fresh is how often it looks at those again that it has seen: a rewind may have
	// opened them again.
	fresh = 10 * time.Minute
	// workBatch is how many runs it reads together.
	workBatch = 100
)

// Worker escalates entries, and answers them with their defaults. Any number of processes
// that share a store may have one. A nil Worker can be closed.
type Worker struct {
	service *Service
	life    context.Context //nolint:containedctx // it ends with Close
	end     context.CancelFunc
	work    sync.WaitGroup

	seen  map[work]string // the token of the last run that needs nothing more
	since time.Time       // when seen was empty
}

// work is what a rule demands.
type work struct {
	app   string
	rule  int
	given bool // the default answer, not the escalation
}

// Start creates a Worker, which works until it is closed.
func (s *Service) Start() *Worker {
	w := &Worker{service: s, seen: map[work]string{}, since: time.Now()}
	w.life, w.end = context.WithCancel(context.Background())
	w.work.Go(func() {
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for {
			w.look()
			select {
			case <-tick.C:
			case <-w.life.Done():
				return
			}
		}
	})
	return w
}

// Close ends the work.
func (w *Worker) Close() {
	if w == nil {
		return
	}
	w.end()
	w.work.Wait()
}

// look does what the rules of all applications demand now.
func (w *Worker) look() {
	s := w.service
	defer func() {
		if p := recover(); p != nil { // no request would be there to fail
			s.Log.Error("looking for entries of the inbox panicked", "panic", fmt.Sprint(p))
		}
	}()
	if time.Since(w.since) > fresh {
		clear(w.seen)
		w.since = time.Now()
	}
	for _, app := range s.Apps() {
		rules, err := s.Rules.Of(app)
		if err != nil {
			continue // who answers learns of it
		}
		for i, r := range rules {
			if r.EscalateAfter > 0 && s.Store.Outbox != nil {
				w.do(work{app, i, false}, r.EscalateAfter, s.escalate)
			}
			if r.DefaultAfter > 0 {
				w.do(work{app, i, true}, r.DefaultAfter, s.giveDefault)
			}
		}
	}
}

// do handles the entries for which a rule counts and that have waited for long, by the
// clock of the store.
func (w *Worker) do(of work, age time.Duration, handle func(context.Context, *Entry) error) {
	s, ctx := w.service, w.life
	page := session.Page{Size: workBatch, Token: w.seen[of]}
	for ctx.Err() == nil {
		rows, next, err := s.Store.Inbox.ListWaiting(ctx, session.WaitQuery{App: of.app, Age: age}, page)
		if err != nil {
			if ctx.Err() == nil {
				s.Log.Warn("could not look for entries of the inbox that have waited for long", "app", of.app, "err", err)
			}
			return
		}
		for _, row := range rows {
			if err := w.handle(of, row, handle); err != nil {
				if ctx.Err() == nil {
					s.Log.Warn("could not handle an entry of the inbox", "app", of.app, "run_id", row.ID, "err", err)
				}
				return // it is tried again
			}
			w.seen[of] = session.WaitToken(row)
		}
		if page.Token = next; next == "" {
			return
		}
	}
}

func (w *Worker) handle(of work, row *session.Run, handle func(context.Context, *Entry) error) error {
	s := w.service
	rules, err := s.Rules.Of(of.app)
	if err != nil {
		return err
	}
	asks, err := s.Engine.Asks(w.life, row)
	if _, corrupt := errors.AsType[*session.CorruptError](err); corrupt {
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range asks {
		if match(rules, a.Tool) != of.rule {
			continue
		}
		e, err := s.entry(a, nil)
		if err != nil {
			return err
		}
		if err := handle(w.life, e); err != nil {
			return err
		}
	}
	return nil
}

// giveDefault answers an entry with the default of its rule.
func (s *Service) giveDefault(ctx context.Context, e *Entry) error {
	if e.Kind == Login {
		return nil
	}
	part := e.reply(e.Rule.Default)
	if len(e.Rule.Default) == 0 {
		if e.question == nil {
			part = e.reply([]byte(`{"status":"cancelled","error_message":"There was no answer in time."}`))
		} else {
			part = e.question.Decline()
		}
	}
	_, err := s.answer(ctx, e, part, run.Answerer{Via: ViaDefault})
	var answered *AnsweredError
	var down *session.UnavailableError
	var limit *run.LimitError
	switch {
	case err == nil, errors.As(err, &answered), errors.Is(err, run.ErrAnswered), errors.Is(err, run.ErrExpired), errors.Is(err, session.ErrNotFound):
		return nil
	case ctx.Err() != nil, errors.As(err, &down), errors.As(err, &limit), errors.Is(err, run.ErrClosing), errors.Is(err, session.ErrQueueFull):
		return err
	}
	s.Log.Warn("the default answer of a rule does not answer the question", "app", e.Key.App, "tool", e.Tool, "err", err)
	return nil
}

// Escalated is the type of the notice about an entry that has waited for long.
const Escalated = "inbox.escalated"

// escalate tells the receivers of the application of an entry. The store publishes a
// notice once, so processes may do it at the same time.
func (s *Service) escalate(ctx context.Context, e *Entry) error {
	note, _, err := s.note(ctx, e.Ask)
	if err != nil || !note.Escalated.IsZero() {
		return err
	}
	doc, err := json.Marshal(map[string]any{
		"entry": e.ID, "kind": e.Kind, "tool": e.Tool, "since": e.Since.UTC().Format(time.RFC3339), "answer": e.Rule.Answer, "assignee": note.Assignee,
	})
	if err != nil {
		return err
	}
	err = s.Store.Outbox.Publish(ctx, &session.Notice{Key: e.Key, ID: "inbox " + digest(e.Call.ID), Type: Escalated, Run: e.Run, JSON: doc})
	if err == nil {
		first := false
		_, err = s.amend(ctx, e.Ask, func(n *Note) bool {
			if first = n.Escalated.IsZero(); first {
				n.Escalated = time.Now().UTC().Truncate(time.Second)
			}
			return first
		})
		if first && err == nil {
			s.count(e.Key.App, Escalated)
		}
	}
	if errors.Is(err, session.ErrNotFound) {
		return nil // the session was deleted
	}
	return err
}
