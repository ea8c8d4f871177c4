package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/memory"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
)

// task is a run that is worked on here.
type task struct {
	engine *Engine
	req    Request
	root   *agent.Agent
	wallet Wallet // nil when there can be no logins
	id     string
	hint   uint64 // of the session; 0 with a store that nobody shares

	detached context.Context // what the request carries, without its end
	ctx      context.Context // ends with the task
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when the task is over
	feed     feed

	held   atomic.Int64    // the epoch, while the task has it
	tokens atomic.Int64    // that the run has used
	within context.Context // ctx within the trace, as soon as traced says so
	task   Work            // for the observer

	// mu makes one writer of many agents: it is held while an event is
	// appended, and never while agent, model or tool code runs.
	mu         sync.Mutex
	row        session.Run // as far as it is known here
	private    event.Usage // of agents that are tools, which the log does not show
	epoch      int64       // 0 until the run has begun
	log        *log
	journal    journal
	unsaid     []*unsaid  // ends of messages that may be the beginning of a secret
	latest     float64    // timestamp of the latest event
	unanswered []openCall // calls without any response yet
	errors     []lastWord // errors after which nothing was said
	finished   finished   // tells the observer; nil when it does not want to know
	rollback   bool       // nothing of the run is to be left
	over       bool
	lost       bool // somebody else goes on with the run
	doubt      bool // something may be stored that is not known here

	traced atomic.Bool // which needs no lock
	forced *time.Timer
}

// lastWord is an event that says why there is no answer.
type lastWord struct{ branch, code, message string }

// openCall remembers who has to answer a call.
type openCall struct {
	id, name, author, branch string
	long                     bool // the answer may come from outside
}

func (e *Engine) newTask(ctx context.Context, id string, req Request, root *agent.Agent, wallet Wallet) *task {
	ctx = bounded.With(ctx, e.bounds)
	t := &task{engine: e, req: req, root: root, wallet: wallet, id: id, detached: ctx, done: make(chan struct{})}
	if e.lease != 0 {
		t.hint = req.Key.Hint()
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.row = session.Run{ID: id, Key: req.Key}
	t.feed.task = t
	return t
}

// start adds the run to the store and, if the session is free, begins it. When
// it fails nothing has been stored. ctx is that of the request, without its end.
func (t *task) start(ctx context.Context) (*session.Begun, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := t.engine.newRun(&t.req)
	run.ID, run.Request = t.id, t.req.encode
	// What answers no call can be stored without having seen the log.
	message := t.message()
	delta := message.Actions.StateDelta
	if len(t.req.Message.FunctionResponses()) == 0 {
		var err error
		if run.Message, err = t.entry(message); err != nil {
			return nil, err
		}
	}
	begun, err := t.engine.store.Begin(ctx, run)
	if err != nil {
		return nil, storeError("start the run", err)
	}
	if begun.Session == nil {
		return begun, nil
	}
	t.take(begun)
	if err := begun.Session.Damage(); err != nil && run.Message == nil {
		t.giveBack(err)
		return nil, err
	}
	if run.Message != nil {
		t.replaced(delta)
		t.log.append(message, delta)
		return begun, nil
	}
	if err := t.accept(message); err != nil {
		t.giveBack(err)
		return nil, err
	}
	return begun, nil
}

// message is the event with which the run begins.
func (t *task) message() *event.Event {
	return &event.Event{Author: event.User, Content: t.req.Message, Actions: event.Actions{StateDelta: t.req.StateDelta, ArtifactDelta: t.req.ArtifactDelta}}
}

// take begins to work with what the store has given. It wants t.mu held.
func (t *task) take(begun *session.Begun) {
	t.row = *begun.Run
	t.epoch = begun.Run.Epoch
	t.held.Store(t.epoch)
	t.log = newLog(begun.Session)
	t.journal.task, t.journal.known = t, begun.Journal
}

// accept checks the message against the log and stores it. It wants t.mu held.
func (t *task) accept(message *event.Event) error {
	resume, err := answers(t.log, t.req.Message)
	if err != nil {
		return err
	}
	t.resumes(resume)
	_, err = t.append(message)
	return err
}

func (t *task) resumes(r *agentrt.Resume) {
	t.log.resume = r
	if r != nil {
		t.row.Resumes = r.InvocationID
	}
}

// resume is the life of a run that stood in line, or that somebody else has
// left.
func (t *task) resume(begun *session.Begun) {
	t.mu.Lock()
	t.take(begun)
	if how := begun.Run.Stop; how != session.StopNot {
		t.rollback = how == session.StopRollback
		t.cancel(t.cause())
	}
	takeover := begun.Run.First != 0
	var err error
	damage := begun.Session.Damage()
	switch {
	case takeover:
		err = cmp.Or(damage, t.recall(begun))
	case damage != nil:
		err = damage
	default:
		err = t.accept(t.message())
	}
	t.mu.Unlock()
	switch {
	case err != nil:
		t.end(err)
	case context.Cause(t.ctx) != nil:
		t.end(context.Cause(t.ctx))
	default:
		t.drive(takeover)
	}
}

// recall finds out from the log how far the run had come. It wants t.mu held.
func (t *task) recall(begun *session.Begun) error {
	changed := session.State{}
	var earlier []*session.Entry
	for i, e := range t.log.before {
		ev, err := e.Decode()
		if err != nil || ev.InvocationID != t.id {
			continue
		}
		maps.Copy(changed, ev.Actions.StateDelta)
		t.latest = max(t.latest, ev.Timestamp) // by the clock of whoever had the run
		if e.Seq == begun.Run.First {
			earlier = t.log.before[:i]
			// An answer is checked against what was there before it.
			resume, err := answers(&log{before: earlier}, t.req.Message)
			if err != nil {
				return err
			}
			t.resumes(resume)
			continue
		}
		t.account(ev)
		t.feed.store(e)
	}
	if len(changed) > 0 {
		made, err := t.engine.store.Get(t.detached, t.req.Key, session.Read{NoEvents: true, Initial: true})
		if err != nil {
			return storeError("read the session", err)
		}
		t.log.rememberAll(changed, session.StateOf(made.Initial, earlier))
	}
	t.log.restore(begun.Journal, t.req.StateDelta)
	if note := begun.Journal[usageNote]; note != nil && t.private.UnmarshalJSON(note) == nil {
		t.tokens.Store(t.row.Usage.Total + t.private.Total)
	}
	t.logger().Info("took over a run", "attempt", begun.Run.Attempt)
	return nil
}

// refuse ends a run that cannot be worked on.
func (t *task) refuse(begun *session.Begun, err error) {
	t.mu.Lock()
	t.take(begun)
	if begun.Run.First != 0 && t.recall(begun) != nil {
		_ = t.reread() // at least which calls are open
	}
	t.mu.Unlock()
	t.end(err)
}

// work is the life of a run that has begun.
func (t *task) work() { t.drive(false) }

// drive runs the agents. It owns the task's goroutine.
func (t *task) drive(takeover bool) {
	t.mu.Lock()
	log := t.log
	t.mu.Unlock()
	if log == nil {
		return // it was ended before it could begin
	}
	inv := &agentrt.Invocation{
		App: t.req.Key.App, User: t.req.Key.User, Session: t.req.Key.ID, ID: t.id,
		UserContent: t.req.Message, Stream: t.req.Stream, Log: log,
		MaxModelCalls: t.engine.calls, Resume: log.resume, Takeover: takeover,
		Artifacts: t.files(), Memory: memory.Of(t.engine.store, t.req.Key),
		Unseen: t.unseen,
	}
	if l := &t.engine.limits; l.Tokens > 0 || l.DayTokens > 0 {
		inv.Budget = t.budget
	}
	if t.engine.observer != nil {
		inv.Observer = t.engine.observer
	}
	defer t.limit()()
	ctx := t.observed()
	if t.engine.lease != 0 {
		inv.Journal = &t.journal
	}
	if t.wallet != nil {
		inv.Credentials, inv.Secrets, inv.CredentialCall = t.wallet, t.wallet, t.req.CredentialCall
	}
	err := func() (err error) {
		defer agentrt.Recover(&err, "the run", "")
		if err := t.login(ctx); err != nil {
			return err
		}
		within := ctx
		if t.engine.models != nil {
			within = model.WithNames(ctx, t.engine.models)
		}
		return inv.Start(within, t.root, t.emit)
	}()
	if cause := context.Cause(t.ctx); cause != nil && err != nil {
		err = cause
	}
	t.end(err)
}

// emit is where all events of the run come together.
func (t *task) emit(ev *event.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch err := context.Cause(t.ctx); {
	case t.over:
		return errOver
	case err != nil:
		return err
	case t.doubt:
		return errDoubt
	}
	if ev.Partial {
		if !t.req.Stream {
			return nil
		}
		t.stamp(ev)
		return t.piece(ev)
	}
	if ev.ErrorCode != "" && ev.Content == nil {
		t.interrupt(ev)
	}
	entry, err := t.append(ev)
	if err != nil {
		return err
	}
	// The event is stored: whatever becomes of the rest of a piece, readers get
	// it.
	if err := t.say(ev.Author, ev.Branch); err != nil {
		t.logger().Warn("could not show the end of a message before the message", "err", err)
	}
	t.feed.store(entry)
	return nil
}

// interrupt puts into an event that says why there is no answer what was shown of
// the answer, if anything was.
func (t *task) interrupt(ev *event.Event) {
	for _, begun := range t.feed.unfinished() {
		if begun.Author == ev.Author && begun.Branch == ev.Branch {
			ev.Content, ev.Interrupted = begun.Content, true
		}
	}
}

// stamp fills in what only the run knows.
func (t *task) stamp(ev *event.Event) {
	ev.InvocationID = t.id
	// Clocks are set back now and then; the log is not.
	t.latest = max(t.latest, event.Seconds(t.engine.now()))
	ev.Timestamp = t.latest
	if len(t.req.CustomMetadata) > 0 {
		all := maps.Clone(t.req.CustomMetadata)
		maps.Copy(all, ev.CustomMetadata)
		ev.CustomMetadata = all
	}
}

// entry encodes an event of the run.
func (t *task) entry(ev *event.Event) (*session.Entry, error) {
	t.stamp(ev)
	ev.ID = event.NewID()
	ev.Actions.StateDelta = session.WithoutTemp(ev.Actions.StateDelta)
	entry, err := session.NewEntry(ev)
	if err != nil {
		return nil, err
	}
	return entry, t.scrub(entry)
}

// append encodes an event, stores it, and shows it to the agents. It wants t.mu
// held.
func (t *task) append(ev *event.Event) (*session.Entry, error) {
	// This is the one writer of the session: what the changes come to is so
	// when the event is stored.
	if err := ev.Actions.Resolve(t.log.Get); err != nil {
		return nil, &agentrt.Failure{Code: "STATE_CONFLICT", Message: "The run was ended since a change of the state could not be made: " + err.Error() + "."}
	}
	if err := t.hide(ev); err != nil {
		return nil, err
	}
	delta := ev.Actions.StateDelta
	entry, err := t.entry(ev)
	if err != nil {
		return nil, err
	}
	t.journal.temp(t.log, delta)
	if err := t.store(entry); err != nil {
		return nil, err
	}
	if t.row.First == 0 {
		t.row.First = entry.Seq
	}
	t.log.append(ev, delta)
	t.account(ev)
	for range ev.Actions.RequestedAuthConfigs {
		t.loggedIn(LoginRequested)
	}
	return entry, nil
}

// store writes entries and what the journal has. The end of a run is stored even
// when the run was cancelled. It wants t.mu held.
func (t *task) store(entries ...*session.Entry) error {
	notes := t.journal.take()
	if len(notes) == 0 && len(entries) == 0 {
		return nil
	}
	err := t.write(notes, entries)
	if err == nil {
		return nil
	}
	t.journal.untake(notes)
	if errors.Is(err, session.ErrFenced) {
		t.lost = true
		t.cancel(errLost)
		return errLost
	}
	t.doubt = true
	return storeError("append an event", err)
}

func (t *task) write(notes session.Journal, entries []*session.Entry) error {
	o := t.engine.observer
	if o == nil {
		return t.engine.store.Append(t.detached, t.req.Key, t.epoch, notes, entries...)
	}
	began := time.Now()
	err := t.engine.store.Append(t.detached, t.req.Key, t.epoch, notes, entries...)
	o.Appended(time.Since(began), err)
	return err
}

// account keeps the books of the run: tokens, errors, and calls that want an
// answer.
func (t *task) account(ev *event.Event) {
	if u := ev.Usage; u != nil {
		t.row.Usage.Add(u)
		t.tokens.Store(t.row.Usage.Total + t.private.Total)
	}
	t.noteError(ev)
	if ev.Content == nil {
		return
	}
	for _, p := range ev.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			t.unanswered = append(t.unanswered, openCall{
				id: p.FunctionCall.ID, name: p.FunctionCall.Name, author: ev.Author, branch: ev.Branch,
				long: slices.Contains(ev.LongRunningToolIDs, p.FunctionCall.ID),
			})
		case p.FunctionResponse != nil:
			t.unanswered = slices.DeleteFunc(t.unanswered, func(c openCall) bool { return c.id == p.FunctionResponse.ID })
		}
	}
}

// noteError remembers an error until an agent that could see it says something:
// then the run has gone on. Parallel branches do not see one another's errors.
func (t *task) noteError(ev *event.Event) {
	failed := ev.ErrorCode != "" || ev.ErrorMessage != ""
	if ev.Author == event.User || ev.Content == nil && !failed {
		return
	}
	t.errors = slices.DeleteFunc(t.errors, func(e lastWord) bool { return !agentrt.Apart(e.branch, ev.Branch) })
	if failed {
		t.errors = append(t.errors, lastWord{ev.Branch, cmp.Or(ev.ErrorCode, "UNKNOWN_ERROR"), cmp.Or(ev.ErrorMessage, ev.ErrorCode)})
	}
}

// holds is the epoch of the task, 0 before and after. It does not wait: leases
// have to be renewed while a task is stuck in the store.
func (t *task) holds() int64 { return t.held.Load() }

// before reports whether the run has begun and came before another one, which
// may be at work itself by now.
func (t *task) before(other *session.Run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.epoch != 0 && t.row.Number < other.Number
}
