package inbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

const (
	// maxScan bounds the runs that are read for one page.
	maxScan = 500
	// batch is how many are read together, if those before were not enough.
	batch = 50
	// readers is how many of them are read at the same time.
	readers = 8
)

// Service is the inbox of a server.
type Service struct {
	Store  session.Store
	Engine *run.Engine
	Rules  *Rules
	// Apps returns the names of the applications.
	Apps func() []string
	// Vault seals links; nil if there are none.
	Vault    *vault.Vault
	Log      *slog.Logger
	Observer Observer // may be nil
}

// Observer records what becomes of entries.
type Observer interface {
	// Entry receives ViaInbox, ViaLink, ViaDefault or Escalated.
	Entry(app, outcome string)
}

func (s *Service) count(app, outcome string) {
	if s.Observer != nil {
		s.Observer.Entry(app, outcome)
	}
}

// Query selects entries. The zero value selects all that the caller may see.
type Query struct {
	App, User, Tool string
	Kind            Kind
	// Assignee selects those that are assigned to a person; None those that are not
	// assigned.
	Assignee string
	None     bool
}

// List returns the entries that a caller may see, those that have waited the longest
// first. A page may have fewer entries than its size, or none, and another one may
// follow. It may have more, because entries of one run are never on different pages.
func (s *Service) List(ctx context.Context, q Query, page session.Page) (list []*Entry, next string, err error) {
	c := access.From(ctx)
	if q.User == "" && c != nil && !c.May(access.Users) && len(c.Roles) == 0 && !s.forAnyone() {
		q.User = c.User
		if q.User == "" {
			return nil, "", nil
		}
	}
	size := page.Size
	page.Size = min(size, maxScan)
	for scanned := 0; ; page.Size = min(max(size-len(list), batch), maxScan-scanned) {
		var rows []*session.Run
		if rows, next, err = s.waiting(ctx, q, page); err != nil {
			return nil, "", err
		}
		found, err := s.entries(ctx, rows, q)
		if err != nil {
			return nil, "", err
		}
		for i, of := range found {
			list = append(list, of...)
			if len(list) >= size && i < len(rows)-1 {
				return list, session.WaitToken(rows[i]), nil
			}
		}
		scanned += len(rows)
		if page.Token = next; next == "" || len(list) >= size || scanned >= maxScan {
			return list, next, nil
		}
	}
}

// forAnyone reports whether a rule lets callers answer in sessions of others.
func (s *Service) forAnyone() bool {
	return slices.ContainsFunc(s.Apps(), func(app string) bool {
		rules, err := s.Rules.Of(app)
		return err == nil && slices.ContainsFunc(rules, func(r Rule) bool { return r.Answer == Anyone })
	})
}

// waiting lists runs that wait. Those of a user are listed for each application, which is
// how stores find them.
func (s *Service) waiting(ctx context.Context, q Query, page session.Page) ([]*session.Run, string, error) {
	if q.User == "" || q.App != "" {
		return s.Store.Inbox.ListWaiting(ctx, session.WaitQuery{App: q.App, User: q.User}, page)
	}
	var all []*session.Run
	more := false
	for _, app := range s.Apps() {
		rows, next, err := s.Store.Inbox.ListWaiting(ctx, session.WaitQuery{App: app, User: q.User}, page)
		if err != nil {
			return nil, "", err
		}
		all, more = append(all, rows...), more || next != ""
	}
	slices.SortFunc(all, func(a, b *session.Run) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Number, b.Number)) })
	if len(all) <= page.Size && !more {
		return all, "", nil
	}
	all = all[:min(len(all), page.Size)]
	return all, session.WaitToken(all[len(all)-1]), nil
}

// entries returns the entries of each run that a query selects.
func (s *Service) entries(ctx context.Context, rows []*session.Run, q Query) ([][]*Entry, error) {
	c := access.From(ctx)
	found := make([][]*Entry, len(rows))
	errs := make([]error, len(rows))
	slots := make(chan struct{}, readers)
	var all sync.WaitGroup
	for i, row := range rows {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			found[i], errs[i] = s.entriesOf(ctx, row, q, c)
		})
	}
	all.Wait()
	return found, errors.Join(errs...)
}

func (s *Service) entriesOf(ctx context.Context, row *session.Run, q Query, c *access.Caller) (list []*Entry, err error) {
	asks, err := s.Engine.Asks(ctx, row)
	if _, corrupt := errors.AsType[*session.CorruptError](err); corrupt {
		return nil, nil // it must not hide the others
	}
	if err != nil {
		return nil, err
	}
	for _, a := range asks {
		e, err := s.entry(a, c)
		if err != nil {
			if _, broken := errors.AsType[*run.AppError](err); broken {
				s.Log.Warn("who may answer is not known", "app", a.Key.App, "err", err)
				continue
			}
			return nil, err
		}
		if !e.visible(c) || q.Kind != "" && q.Kind != e.Kind || q.Tool != "" && q.Tool != e.Tool {
			continue
		}
		if e.Note, _, err = s.note(ctx, a); err != nil {
			return nil, err
		}
		if q.Assignee != "" && q.Assignee != e.Assignee || q.None && e.Assignee != "" {
			continue
		}
		list = append(list, e)
	}
	return list, nil
}

// Get returns an entry. It fails with ErrNotFound if the caller may not see it, and with
// an *AnsweredError if it has been answered.
func (s *Service) Get(ctx context.Context, id string) (*Entry, error) {
	c := access.From(ctx)
	e, err := s.get(ctx, id, c)
	if err != nil {
		return nil, err
	}
	if !e.visible(c) {
		return nil, ErrNotFound
	}
	return e, nil
}

func (s *Service) get(ctx context.Context, id string, c *access.Caller) (*Entry, error) {
	key, call, err := placeOf(id)
	if err != nil {
		return nil, err
	}
	a, answered, err := s.Engine.AskOf(ctx, key, call)
	switch {
	case errors.Is(err, session.ErrNotFound), errors.Is(err, run.ErrUnknownCall), errors.Is(err, run.ErrUnknownApp):
		return nil, ErrNotFound
	case errors.Is(err, run.ErrAnswered):
		if answered == nil || !c.Is(key.User) && s.Rules.MayAnswer(ctx, key, answered.Tool) != nil {
			return nil, ErrNotFound
		}
		return nil, &AnsweredError{answered}
	case err != nil:
		return nil, err
	}
	e, err := s.entry(a, c)
	if err != nil {
		return nil, err
	}
	e.Note, _, err = s.note(ctx, a)
	return e, err
}

// AnsweredError means that an entry has its answer.
type AnsweredError struct{ *run.Answered }

func (e *AnsweredError) Error() string {
	text := "This has been answered already"
	if e.Answered == nil {
		return text
	}
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Via == ViaDefault {
		text += " by the server, because there was no answer in time"
	}
	return text + ", at " + e.At.Format(time.RFC3339)
}

// The values of run.Answerer.Via.
const (
	ViaInbox   = "inbox"
	ViaLink    = "link"
	ViaDefault = "default"
)

// Assign names the person who takes care of an entry; an empty name means none.
func (s *Service) Assign(ctx context.Context, id, assignee string) (*Entry, error) {
	e, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	e.Note, err = s.amend(ctx, e.Ask, func(n *Note) bool {
		changed := n.Assignee != assignee
		n.Assignee = assignee
		return changed
	})
	return e, err
}

// Answer answers an entry as a caller, and returns the run that goes on. value is the
// answer: for a confirmation, true, false, or an object with "confirmed"; otherwise an
// object, or any other value that becomes {"result": value}.
func (s *Service) Answer(ctx context.Context, id string, value json.RawMessage) (*run.Run, error) {
	e, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !e.MayAnswer {
		return nil, fmt.Errorf("%w: that is for %s", run.ErrNotAllowed, e.Rule.who())
	}
	return s.answer(ctx, e, e.reply(value), run.Answerer{By: nameOf(access.From(ctx)), Via: ViaInbox})
}

// nameOf returns how an answer names a caller.
func nameOf(c *access.Caller) string {
	switch {
	case c == nil || strings.HasPrefix(c.ID, "address:"):
		return ""
	case c.User != "":
		return c.User
	}
	return c.ID
}

// reply returns the message part with an answer. The engine checks it.
func (e *Entry) reply(value json.RawMessage) *event.Part {
	switch text := string(value); {
	case e.Kind == Confirmation && (text == "true" || text == "false"):
		value = json.RawMessage(`{"confirmed":` + text + `}`)
	case e.Kind == Login:
		return e.question.Reply(value)
	}
	return &event.Part{FunctionResponse: &event.FunctionResponse{ID: e.Call.ID, Name: e.Call.Name, Response: face.Wrap(value)}}
}

// answer starts the run that goes on. Of several answers, one is accepted: a final answer
// has the idempotency key of the call.
func (s *Service) answer(ctx context.Context, e *Entry, part *event.Part, by run.Answerer) (*run.Run, error) {
	mark, err := json.Marshal(by)
	if err != nil {
		return nil, err
	}
	response := part.FunctionResponse.Response
	req := run.Request{
		Key: e.Key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{part}}, Busy: session.Enqueue,
		MessageMetadata: map[string]json.RawMessage{run.AnswerMetadata: mark},
	}
	if c := access.From(ctx); c != nil {
		req.Caller = c.ID
	}
	if e.Kind != Login && !part.FunctionResponse.Interim() {
		req.IdempotencyKey, req.Fingerprint = "inbox "+digest(e.Call.ID), digest(by.By+"\x00"+by.Via+"\x00"+string(response))
	}
	started, err := s.Engine.Start(ctx, req)
	if errors.Is(err, session.ErrReused) || err == nil && started.Repeat {
		return s.again(ctx, e, req, started)
	}
	if errors.Is(err, run.ErrAnswered) {
		return nil, s.answered(ctx, e)
	}
	if err == nil {
		s.count(e.Key.App, by.Via)
	}
	return started, err
}

// again handles an answer after another one. If that was refused before it was stored, as
// when its run was cancelled in the queue, the question is still open.
func (s *Service) again(ctx context.Context, e *Entry, req run.Request, same *run.Run) (*run.Run, error) {
	_, answered, err := s.Engine.AskOf(ctx, e.Key, e.Call.ID)
	switch {
	case errors.Is(err, run.ErrAnswered) && same == nil:
		return nil, &AnsweredError{answered}
	case err != nil && same == nil:
		return nil, err
	case same != nil:
		row, err := s.Engine.Run(ctx, e.Key, same.ID())
		if err != nil || row.First != 0 || !row.Status.Ended() {
			return same, err
		}
	case s.queued(ctx, e.Key):
		return nil, &AnsweredError{nil}
	}
	req.IdempotencyKey, req.Fingerprint = "", ""
	started, err := s.Engine.Start(ctx, req)
	if errors.Is(err, run.ErrAnswered) {
		return nil, s.answered(ctx, e)
	}
	return started, err
}

// queued reports whether a run of a session has not ended, which may be the other answer.
func (s *Service) queued(ctx context.Context, key session.Key) bool {
	rows, _, err := s.Engine.Runs(ctx, key, session.Page{Size: 100})
	return err != nil || slices.ContainsFunc(rows, func(r *session.Run) bool { return !r.Status.Ended() })
}

// answered returns the error for an entry that has its answer.
func (s *Service) answered(ctx context.Context, e *Entry) error {
	_, answered, _ := s.Engine.AskOf(ctx, e.Key, e.Call.ID)
	return &AnsweredError{answered}
}

// digest shortens an identifier.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
