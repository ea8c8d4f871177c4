package run

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/memory"
	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/session"
)

// turn is a run that is active on this server, from its admission or its claim to
// its end:
//
//	start ──▶ drive ──▶ end      a run that begins immediately
//	resume ─▶ drive ──▶ end      a run that was queued, or taken over
//	refuse ───────────▶ end      a run that was claimed and cannot be executed
//	abandon                      a run that did not begin
//
// It stores events through its recorder. Its own lock guards its status, and
// is never held during a call to the store or to an agent.
type turn struct {
	engine *Engine
	id     string
	req    *Request
	root   *agent.Agent
	creds  Credentials // nil if logins are not supported
	hint   uint64      // of the session

	base   bounded.Context // of the run, without the end of its request
	ctx    context.Context //nolint:containedctx // base, and ends with the turn
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the turn is over

	feed     stream.Feed
	ledger   ledger
	recorder recorder
	trace    trace

	alone [1]*turn // where the registry keeps a turn without others of its session (BenchmarkRun)

	held   atomic.Int64 // the epoch, while the turn has it
	defers bool         // see deferral; set before the agents run

	mu     sync.Mutex
	row    *session.Run     // as far as it is known here, nil until the run has begun; changing it requires the recorder's slot
	stops  []interruption   // of later runs, received before this one has begun
	undo   bool             // the run is to be undone
	over   bool             // end or abandon has begun
	ended  bool             // row has the outcome of the run
	lost   bool             // another process continues the run
	forced *time.Timer      // ends a run whose code does not return
	peers  map[string]int64 // the last requests of other servers; see Feed
}

// interruption requests the end of the runs before another one.
type interruption struct {
	by  int64 // the Number of the requesting run
	how session.Stop
}

func (e *Engine) newTurn(ctx context.Context, id string, req *Request, root *agent.Agent, creds Credentials) *turn {
	t := &turn{engine: e, req: req, root: root, creds: creds, id: id, hint: req.Key.Hint(), done: make(chan struct{})}
	t.base = bounded.Context{Context: ctx, Limits: &e.cfg.Bounds}
	t.ledger.prices = e.cfg.Prices
	t.ctx, t.cancel = context.WithCancelCause(&t.base)
	t.recorder = recorder{
		engine: e, ctx: &t.base, key: req.Key, run: id, metadata: req.CustomMetadata, creds: creds, ledger: &t.ledger,
		owner: t, redactor: stream.NewRedactor(creds),
		deferral: deferral{feed: &t.feed},
	}
	t.recorder.journal.recorder, t.recorder.journal.enabled = &t.recorder, e.cfg.Lease != 0
	return t
}

// known returns the row of the run, also if the run has not begun. t.mu must be
// held.
func (t *turn) known() *session.Run {
	if t.row == nil {
		t.row = &session.Run{ID: t.id, Key: t.req.Key}
	}
	return t.row
}

// user returns the owner of the run.
func (t *turn) user() owner { return owner{t.req.Key.App, t.req.Key.User} }

// caller returns the caller who requested the run.
func (t *turn) caller() owner { return owner{t.req.Key.App, t.req.Caller} }

// start adds the run to the store and, if the session is free, begins it. If it
// fails, nothing has been stored. ctx is that of the request, without its
// cancellation.
func (t *turn) start(ctx context.Context) (*session.Begun, error) {
	t.recorder.lock()
	defer t.recorder.unlock()
	run := t.engine.newRun(t.req)
	run.ID, run.Request = t.id, t.req.encode
	// A message that answers no call can be stored before the log is read.
	message := t.message()
	delta := message.Actions.StateDelta
	if len(t.req.Message.FunctionResponses()) == 0 {
		var err error
		if run.Message, err = t.recorder.entry(message); err != nil {
			return nil, err
		}
	}
	begun, err := t.engine.cfg.Store.Begin(ctx, run)
	if err != nil {
		return nil, storeError("start the run", err)
	}
	if begun.Session == nil {
		return begun, nil
	}
	t.begin(begun)
	if err := begun.Session.Damage(); err != nil && run.Message == nil {
		t.giveBack(err)
		return nil, err
	}
	if run.Message != nil {
		if err := t.recorder.dropReplaced(delta); err != nil {
			t.logger().Error("failed to delete a sealed credential that was replaced", "err", err)
		}
		t.recorder.log.append(message, delta)
		return begun, nil
	}
	if err := t.accept(message); err != nil {
		t.giveBack(err)
		return nil, err
	}
	return begun, nil
}

// message returns the first event of the run.
func (t *turn) message() *event.Event {
	return &event.Event{
		ID: t.req.MessageID, Author: event.User, Content: t.req.Message, CustomMetadata: t.req.MessageMetadata,
		Actions: event.Actions{StateDelta: t.req.StateDelta, ArtifactDelta: t.req.ArtifactDelta},
	}
}

// begin sets what the store has assigned to the run. The recorder's slot must be
// held.
func (t *turn) begin(begun *session.Begun) {
	t.recorder.begin(begun)
	t.held.Store(begun.Run.Epoch)
	t.mu.Lock()
	t.row = begun.Run
	stops := t.stops
	t.stops = nil
	t.mu.Unlock()
	for _, stop := range stops {
		t.interrupt(stop)
	}
}

// accept checks the message against the log and stores it. The recorder's slot
// must be held.
func (t *turn) accept(message *event.Event) error {
	resume, err := answers(t.recorder.log, t.req.Message)
	if err != nil {
		return err
	}
	t.resumes(resume)
	_, err = t.append(message)
	return err
}

// append records an event. The recorder's slot must be held.
func (t *turn) append(ev *event.Event) (*session.Entry, error) {
	entry, err := t.recorder.append(ev)
	if err != nil {
		return nil, err
	}
	if t.row.First == 0 {
		t.mu.Lock()
		t.row.First = entry.Seq
		t.mu.Unlock()
	}
	for range ev.Actions.RequestedAuthConfigs {
		t.observeLogin(LoginRequested)
	}
	return entry, nil
}

func (t *turn) resumes(r *agentrt.Resume) {
	t.recorder.log.resume = r
	if r != nil {
		t.mu.Lock()
		t.row.Resumes = r.InvocationID
		t.mu.Unlock()
	}
}

// resume executes a run that was queued, or that another process has left.
func (t *turn) resume(begun *session.Begun) {
	t.recorder.lock()
	t.begin(begun)
	if how := begun.Run.Stop; how != session.StopNot {
		t.cancel(t.stopCause(how))
	}
	takeover := begun.Run.First != 0
	if !takeover {
		t.trace.queued = max(time.Since(begun.Run.Created), 1) // by the clock of the process that queued it
	}
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
	t.recorder.unlock()
	switch {
	case err != nil:
		t.end(err)
	case context.Cause(t.ctx) != nil:
		t.end(context.Cause(t.ctx))
	default:
		t.drive(takeover)
	}
}

// recall determines from the log how far the run has come. The recorder's slot must
// be held.
func (t *turn) recall(begun *session.Begun) error {
	r, changed := &t.recorder, session.State{}
	var earlier []*session.Entry
	for i, e := range r.log.before {
		ev, err := e.Decode()
		if err != nil || ev.InvocationID != t.id {
			continue
		}
		maps.Copy(changed, ev.Actions.StateDelta)
		r.latest = max(r.latest, ev.Timestamp) // by the clock of the previous process
		if e.Seq == begun.Run.First {
			earlier = r.log.before[:i]
			// An answer is checked against the log before it.
			resume, err := answers(&log{before: earlier}, t.req.Message)
			if err != nil {
				return err
			}
			t.resumes(resume)
			continue
		}
		t.ledger.add(ev)
		t.feed.Store(e)
	}
	if len(changed) > 0 {
		made, err := t.engine.cfg.Store.Get(r.ctx, t.req.Key, session.Read{NoEvents: true, Initial: true})
		if err != nil {
			return storeError("read the session", err)
		}
		r.log.rememberAll(changed, session.StateOf(made.Initial, earlier))
	}
	r.log.restore(begun.Journal, t.req.StateDelta)
	t.ledger.restorePrivate(begun.Journal[usageNote], begun.Journal[modelsNote])
	t.logger().Info("took over a run", "attempt", begun.Run.Attempt)
	return nil
}

// refuse ends a run that cannot be executed.
func (t *turn) refuse(begun *session.Begun, err error) {
	t.recorder.lock()
	t.begin(begun)
	if begun.Run.First != 0 && t.recall(begun) != nil {
		_ = t.reread() // so that open calls are known at least
	}
	t.recorder.unlock()
	t.end(err)
}

// work is like drive for a run that has begun here.
func (t *turn) work() { t.drive(false) }

// drive runs the agents.
func (t *turn) drive(takeover bool) {
	cfg := &t.engine.cfg
	t.recorder.lock()
	log := t.recorder.log
	if t.defers = cfg.Lease != 0 && agentrt.OnlyModels(t.root); t.defers {
		t.recorder.writing = make(chan struct{}, 1)
	}
	t.recorder.unlock()
	if log == nil {
		return // it was ended before it could begin
	}
	log.memory = memory.Session{Sessions: cfg.Store.Sessions, Memories: cfg.Store.Memories, Key: t.req.Key}
	inv := &log.invocation
	*inv = agentrt.Invocation{
		App: t.req.Key.App, User: t.req.Key.User, Session: t.req.Key.ID, ID: t.id,
		UserContent: t.req.Message, Stream: t.req.Stream, Log: log,
		MaxModelCalls: int64(cfg.MaxModelCalls), Resume: log.resume, Takeover: takeover,
		Artifacts: (*turnFiles)(t), Memory: &log.memory,
		Unseen: t.countPrivate, Tools: t.req.Tools, Call: t.req.Call,
	}
	if cfg.Limits.hasBudget() {
		inv.Budget = t.budget
	}
	if cfg.Observer != nil {
		inv.Observer = cfg.Observer
	}
	defer t.limit()()
	ctx := t.observed()
	inv.Models = cfg.Models
	if cfg.Lease != 0 {
		inv.Journal = &t.recorder.journal
	}
	if t.creds != nil {
		inv.Credentials, inv.Secrets, inv.CredentialCall = t.creds, t.creds, t.req.CredentialCall
	}
	err := func() (err error) {
		defer agentrt.Recover(&err, "the run", "")
		emit := t.emit
		if edges := t.edges(log); edges != nil {
			inv.Edges = edges
			if o, ok := edges.(Ordered); ok {
				emit = func(ev *event.Event) error { return o.Emit(ctx, ev, t.emit) }
			}
			defer edges.Done()
		}
		if err := t.completeLogins(ctx, log); err != nil {
			return err
		}
		return inv.Start(ctx, t.root, emit)
	}()
	if cause := context.Cause(t.ctx); cause != nil && err != nil {
		err = cause
	}
	t.end(err)
}

// emit receives all events of the agents of the run.
func (t *turn) emit(ev *event.Event) error {
	r := &t.recorder
	if err := r.acquire(t.ctx); err != nil {
		return err
	}
	defer r.unlock()
	if err := cmp.Or(context.Cause(t.ctx), r.refuses()); err != nil {
		return err
	}
	if ev.Partial {
		if !t.req.Stream {
			return nil
		}
		if err := r.settle(); err != nil { // readers see what precedes it first
			return err
		}
		shown, err := r.piece(ev)
		if err != nil || shown == nil {
			return err
		}
		return t.feed.Piece(shown)
	}
	// The next event may be from the same agent, and must not get the same id. The feed
	// knows the one before until it is stored.
	if r.shown || r.late && t.feed.EventID(ev) != "" {
		if err := r.settle(); err != nil {
			return err
		}
	}
	ev.ID = t.feed.EventID(ev) // agents do not choose the ids of events
	if ev.ErrorCode != "" && ev.Content == nil {
		t.keepUnfinished(ev)
	}
	if t.defers && !precedesEffects(ev) {
		return t.appendLater(ev)
	}
	entry, err := t.append(ev)
	if err != nil {
		return err
	}
	r.publish(entry, t.rest(ev))
	return nil
}

// keepUnfinished moves what readers have seen of an incomplete answer into the
// event that says why it is incomplete.
func (t *turn) keepUnfinished(ev *event.Event) {
	for _, begun := range t.feed.Unfinished() {
		if begun.Author == ev.Author && begun.Branch == ev.Branch {
			ev.Content, ev.Interrupted = begun.Content, true
		}
	}
}

// countPrivate counts the tokens of a model call whose answer is not in the log.
func (t *turn) countPrivate(version string, u *event.Usage) {
	t.ledger.addPrivate(version, u, t.recorder.journal.usage)
}

// holds returns the epoch of the turn; 0 before and after. It does not wait,
// because leases must be renewed while a turn is blocked in the store.
func (t *turn) holds() int64 { return t.held.Load() }
