package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/session"
)

// admission takes one request from Start to the store. It runs the steps below over
// one snapshot of the session, which is read when the first step needs it: an
// answer reads the log once, and a plain message reads nothing
// (TestAdmissionReadsTheSessionOnce, BenchmarkAnswer). Nothing is stored before the
// last step.
type admission struct {
	engine   *Engine
	request  Request
	req      *Request // request; steps may replace parts of it, and the turn shares it
	root     *agent.Agent
	creds    Credentials // nil if logins are not supported
	snapshot snapshot

	whole  context.Context //nolint:containedctx // of the request, without its end; set by reserve
	turn   *turn           // set by reserve
	run    *Run            // the answer to Start; later steps are skipped
	active Run             // where run points to if it begins, which saves an allocation (BenchmarkRun in package bench)
}

// admissionSteps are the steps of an admission, in order. Steps that cost nothing
// come first. Steps with side effects that are not undone if a later step refuses
// the request come after those that refuse most requests.
var admissionSteps = []func(*admission, context.Context) error{
	(*admission).validate,
	(*admission).findAgent,
	(*admission).findRepeat,
	(*admission).checkQuota,
	(*admission).answerInput,
	(*admission).checkAnswerer,
	(*admission).checkDeadline,
	(*admission).checkMarkers,
	(*admission).sealState,
	(*admission).redeemLogins,
	(*admission).runPlugins,
	(*admission).checkAnswers,
	(*admission).reserve,
	(*admission).saveFiles,
	(*admission).begin,
}

// Start starts a run. If the session is free, the run has begun when Start returns,
// and a message that cannot be accepted is an error: a *wire.Error if no user
// can send it, otherwise ErrUnknownApp, session.ErrNotFound, ErrUnknownCall,
// ErrAnswered, ErrExpired, ErrClosing, session.ErrRunExists, session.ErrReused,
// session.ErrQueueFull, a *LimitError or a *session.BusyError. If the session is
// busy, the run is queued, and its result has the same errors.
//
// The run does not end with ctx.
func (e *Engine) Start(ctx context.Context, req Request) (*Run, error) {
	a := &admission{engine: e, request: req} // one allocation for both (BenchmarkRun in package bench)
	a.req = &a.request
	for _, step := range admissionSteps {
		if err := step(a, ctx); err != nil {
			a.release()
			return nil, err
		}
		if a.run != nil {
			break
		}
	}
	return a.run, nil
}

// release releases the turn of a request that was refused.
func (a *admission) release() {
	if a.turn != nil {
		a.turn.abandon()
	}
}

// snapshot is the session at the time when a step first needed it. A message that
// needs nothing from the session reads nothing.
type snapshot struct {
	read    *session.Session
	entries bool // read includes the log
	log     *log
}

// session returns the session, possibly without its log.
func (a *admission) session(ctx context.Context) (*session.Session, error) {
	// A message that answers calls needs the log later anyway.
	return a.load(ctx, len(a.req.Message.FunctionResponses()) > 0 || agentrt.ReceivesMessages(a.root))
}

// log returns the log of the session.
func (a *admission) log(ctx context.Context) (*log, error) {
	s, err := a.load(ctx, true)
	if err != nil {
		return nil, err
	}
	if a.snapshot.log == nil {
		a.snapshot.log = newLog(s)
	}
	return a.snapshot.log, nil
}

func (a *admission) load(ctx context.Context, entries bool) (*session.Session, error) {
	if s := &a.snapshot; s.read == nil || entries && !s.entries {
		read, err := a.engine.cfg.Store.Get(ctx, a.req.Key, session.Read{NoEvents: !entries})
		if err != nil {
			return nil, storeError("read the session", err)
		}
		*s = snapshot{read: read, entries: entries}
	}
	return a.snapshot.read, nil
}

// validate refuses requests that no client may send.
func (a *admission) validate(context.Context) error {
	if err := checkMessage(a.req.Message); err != nil {
		return err
	}
	if err := checkState("stateDelta", a.req.StateDelta); err != nil {
		return err
	}
	if a.req.MessageID != "" {
		if err := session.CheckIdentifier("message id", a.req.MessageID); err != nil {
			return err
		}
	}
	if err := checkMetadata(a.req); err != nil {
		return err
	}
	return checkTools(a.req.Tools)
}

// findAgent looks up the application.
func (a *admission) findAgent(context.Context) (err error) {
	a.root, err = a.engine.cfg.Agent(a.req.Key.App)
	a.creds = a.engine.credentials(a.req.Key)
	if err == nil && a.req.Call != nil {
		err = checkCall(a.root, a.req.Call)
	}
	return err
}

// findRepeat looks for an earlier run with the same idempotency key, and for a
// reason why the store would refuse this one, before steps with side effects.
// Without such steps, Begin does the same.
func (a *admission) findRepeat(ctx context.Context) error {
	if !a.hasSideEffects() && a.req.ID == "" { // a repeated request may have the id of its run, which is registered here
		return nil
	}
	earlier, err := a.engine.cfg.Store.Look(ctx, a.engine.newRun(a.req))
	if err != nil {
		return storeError("start the run", err)
	}
	if earlier != nil {
		a.run = a.engine.handle(earlier, true)
	}
	return nil
}

// hasSideEffects reports whether a step does something before the run is stored
// that a repeated request would do again, and that is not undone if the request is
// refused.
func (a *admission) hasSideEffects() bool {
	return agentrt.ReceivesMessages(a.root) || a.req.hasFiles() || len(a.req.Message.FunctionResponses()) > 0 ||
		a.creds != nil && slices.ContainsFunc(slices.Collect(maps.Values(a.req.StateDelta)), redact.HoldsCredential)
}

// reserve adds the run to those of the engine, unless the engine is closing or the
// caller has too many.
func (a *admission) reserve(ctx context.Context) error {
	e := a.engine
	if e.cfg.Observer != nil {
		a.req.Mark = e.cfg.Observer.Mark(ctx, a.req.Key)
	}
	// It is stored with the request, so that a process that takes the run over
	// requests logins under the same name.
	a.req.CredentialCall = cmp.Or(a.req.CredentialCall, agentrt.CredentialCall(a.root), e.cfg.CredentialCall)
	a.whole = context.WithoutCancel(ctx)
	t := e.newTurn(session.Insist(a.whole), cmp.Or(a.req.ID, ident.Invocation()), a.req, a.root, a.creds)
	if err := e.turns.admit(t, e.cfg.Limits.Runs); err != nil {
		return err
	}
	a.turn = t
	return nil
}

// begin stores the run and, if the session is free, starts it.
func (a *admission) begin(ctx context.Context) error {
	e, t := a.engine, a.turn
	begun, err := t.start(a.whole)
	if err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
		return err
	}
	if begun.Session == nil { // it is queued, or a repeated request
		t.abandon()
		if !begun.Repeat && (a.req.Busy == session.Interrupt || a.req.Busy == session.Rollback) {
			e.interrupt(begun.Run, a.req.Busy)
		}
		a.run = e.handle(begun.Run, begun.Repeat)
		return nil
	}
	a.snapshot = snapshot{} // the turn keeps its request, and a with it
	a.active = Run{engine: e, key: a.req.Key, id: t.id, turn: t}
	a.run = &a.active
	if a.req.Stream {
		a.run.first = t.feed.Follow(0)
	}
	if damage := begun.Session.Damage(); damage != nil {
		e.workers.do(jobFunc(func() { t.end(damage) })) // what the model would see is unknown
	} else {
		e.workers.do(t)
	}
	return nil
}
