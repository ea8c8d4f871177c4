package playback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// Service repeats runs.
type Service struct {
	Store session.Store
	// Recorder is flushed before recordings are read; it may be nil.
	Recorder  *Recorder
	Artifacts *artifact.Store
	Models    func(name string) (model.Model, error)
	// Logins are those of the server.
	Logins run.Logins
	// MaySpend returns an error if the user of a session may not call models any more
	// today, and Spend counts a call of a model that was made.
	MaySpend func(ctx context.Context, key session.Key) error
	Spend    func(ctx context.Context, key session.Key, version string, u *event.Usage) error
	Log      *slog.Logger
	// Engine creates an engine like the one of the server, with another store and other
	// logins.
	Engine func(store session.Store, edges func(run.Beginning) run.Edges, logins run.Logins) *run.Engine
	// Code identifies the current code of an application; empty if it is unknown.
	Code func(app string) string
}

// original is a run, and what was before it.
type original struct {
	session *session.Session
	run     *session.Run
	before  []*session.Entry
	message *event.Event
	events  []*event.Event // without the message
}

// Recording returns what is known of the calls of a run.
func (s *Service) Recording(ctx context.Context, key session.Key, id string) (*replay.Recording, error) {
	of, err := s.read(ctx, key, id)
	if err != nil {
		return nil, err
	}
	return s.recording(ctx, of)
}

// read reads a run that has ended.
func (s *Service) read(ctx context.Context, key session.Key, id string) (*original, error) {
	row, err := s.Store.Run(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if !row.Status.Ended() {
		return nil, replay.ErrActive
	}
	if row.First == 0 {
		return nil, &replay.PlanError{Message: "the message of the run was not accepted, so there is nothing to repeat"}
	}
	all, err := s.Store.Get(ctx, key, session.Read{Initial: true})
	if err != nil {
		return nil, err
	}
	return originalOf(all, row)
}

// originalOf returns the part of a log that a run has written.
func originalOf(all *session.Session, row *session.Run) (*original, error) {
	id := row.ID
	of := &original{session: all, run: row}
	for _, entry := range all.Entries {
		if entry.Seq < row.First {
			of.before = append(of.before, entry)
			continue
		}
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		switch {
		case entry.Seq == row.First:
			of.message = ev
		case ev.InvocationID == id && ev.Actions.RewindBeforeInvocationID == "":
			of.events = append(of.events, ev)
		}
	}
	if of.message == nil || of.message.Content == nil {
		return nil, &replay.PlanError{Message: "the message of the run is not in the log any more"}
	}
	return of, nil
}

func (s *Service) recording(ctx context.Context, of *original) (*replay.Recording, error) {
	if s.Store.Recordings != nil {
		if s.Recorder != nil {
			s.Recorder.Flush(ctx)
		}
		list, err := s.Store.Recordings.Recordings(ctx, of.run.Key, of.run.ID)
		if err != nil {
			return nil, err
		}
		if len(list) == of.run.Attempt && len(list) > 0 {
			if recording, err := parse(list, of); !errors.Is(err, errReference) {
				return recording, err
			}
		}
	}
	return fromLog(of), nil
}

// Replay repeats a run, and stores the replay as a session with that id.
func (s *Service) Replay(ctx context.Context, key session.Key, runID, id string, plan replay.Plan) (*replay.Report, error) {
	of, err := s.read(ctx, key, runID)
	if err != nil {
		return nil, err
	}
	recording, err := s.recording(ctx, of)
	if err != nil {
		return nil, err
	}
	if err := checkPlan(&plan, recording); err != nil {
		return nil, err
	}
	if asksModels(&plan, recording) {
		if err := s.MaySpend(ctx, key); err != nil {
			return nil, err
		}
	}
	fork := session.Key{App: key.App, User: key.User, ID: id}
	seen, err := of.files()
	if err != nil {
		return nil, err
	}
	if err := s.Artifacts.CopyVersions(ctx, run.FilesOf(key), run.FilesOf(fork), seen); err != nil {
		return nil, err
	}
	stored := false
	defer func() {
		if !stored {
			_ = s.Artifacts.Remove(context.WithoutCancel(ctx), run.FilesOf(fork))
		}
	}()
	report, entries, err := s.play(ctx, of, fork, recording, &plan)
	if err != nil {
		return nil, err
	}
	if err := s.store(ctx, of, fork, entries); err != nil {
		return nil, err
	}
	stored = true
	return report, nil
}

// store stores a replay.
func (s *Service) store(ctx context.Context, of *original, fork session.Key, entries []*session.Entry) error {
	origin := &session.Origin{Session: of.session.ID, Root: of.session.ID, Replay: of.run.ID}
	if of.session.Origin != nil {
		origin.Root = of.session.Origin.Root
	}
	if n := len(of.before); n > 0 {
		if ev, err := of.before[n-1].Decode(); err == nil {
			origin.Event = ev.ID
		}
	}
	log := make([]*session.Entry, 0, len(of.before)+len(entries))
	for _, entry := range slices.Concat(of.before, entries) {
		log = append(log, &session.Entry{JSON: entry.JSON})
	}
	_, err := s.Store.Create(ctx, session.NewSession{Key: fork, State: of.session.Initial, Log: log, Origin: origin})
	return err
}

// play executes a replay, and returns its entries.
func (s *Service) play(ctx context.Context, of *original, fork session.Key, recording *replay.Recording, plan *replay.Plan) (*replay.Report, []*session.Entry, error) {
	store := memstore.New(0)
	before := make([]*session.Entry, len(of.before))
	for i, entry := range of.before {
		before[i] = &session.Entry{JSON: entry.JSON}
	}
	state := session.State{}
	if maps.Copy(state, recording.State); recording.FromLog { // what the session shares with others is as it is now
		maps.Copy(state, of.session.State)
		maps.DeleteFunc(state, func(name string, _ json.RawMessage) bool {
			scope := session.ScopeOf(name)
			return scope != session.ScopeUser && scope != session.ScopeApp
		})
	}
	for name, value := range of.session.Initial {
		if _, known := state[name]; !known {
			state[name] = value
		}
	}
	if _, err := store.Create(ctx, session.NewSession{Key: fork, State: state, Log: before}); err != nil {
		return nil, nil, err
	}
	var started struct {
		sync.Mutex
		run     *run.Run
		stopped bool
		cause   error // nil if the run was cancelled, too
	}
	p := &player{plan: plan, of: of, order: newOrder(of.events), recording: recording, models: s.Models, long: longRunning(of.events), stop: func(cause error) {
		started.Lock()
		defer started.Unlock()
		if !started.stopped {
			started.stopped, started.cause = true, cause
		}
		if started.run != nil {
			_ = started.run.Cancel(ctx)
		}
	}}
	p.saved = func(ctx context.Context, versions map[string]int64) error {
		return s.Artifacts.CopyVersions(ctx, run.FilesOf(of.session.Key), run.FilesOf(fork), func(a *tool.Artifact) bool {
			return a.Version <= versions[a.Name] && !of.endedBefore(a)
		}, slices.Collect(maps.Keys(versions))...)
	}
	p.may = func() error { return s.MaySpend(ctx, of.session.Key) }
	p.spend = func(resp *model.Response) {
		// The call was made, whatever becomes of the replay.
		if err := s.Spend(context.WithoutCancel(ctx), of.session.Key, resp.ModelVersion, resp.Usage); err != nil {
			s.Log.Error("could not count a call of a model in a replay", "err", err, "session_id", of.session.ID, "run_id", of.run.ID)
		}
	}
	var logins run.Logins = noLogins{}
	switch {
	case plan.Makes(0, replay.ToolCall):
		logins = s.Logins
	case callsTools(plan, recording):
		logins = keptLogins{s.Logins}
	}
	engine := s.Engine(store, func(run.Beginning) run.Edges { return edges{p, p.order} }, logins)
	defer func() {
		done, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel() // what still runs is not waited for
		engine.Shutdown(done)
	}()
	message := of.message
	req := run.Request{
		ID: of.run.ID, Key: fork, Message: message.Content, StateDelta: message.Actions.StateDelta, ArtifactDelta: message.Actions.ArtifactDelta,
		MessageID: message.ID, MessageMetadata: message.CustomMetadata, Stream: slices.ContainsFunc(of.events, of.wasShown),
	}
	req.Call = callOf(of.events)
	for _, d := range recording.Tools {
		req.Tools = append(req.Tools, tool.Declaration{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	r, err := engine.Start(ctx, req)
	if err != nil {
		return nil, nil, fmt.Errorf("repeat the run: %w", err)
	}
	started.Lock()
	started.run = r
	stopped := started.stopped
	started.Unlock()
	if stopped {
		_ = r.Cancel(ctx)
	}
	result, err := r.Wait(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("repeat the run: %w", err)
	}
	after, err := store.Get(context.WithoutCancel(ctx), fork, session.Read{})
	if err != nil {
		return nil, nil, err
	}
	entries := after.Entries[len(before):]
	var events []*event.Event
	for _, entry := range result.Entries {
		ev, err := entry.Decode()
		if err != nil {
			return nil, nil, err
		}
		events = append(events, ev)
	}
	report := s.report(of, p, events)
	report.Session, report.Status, report.Failure = fork.ID, result.Run.Status, result.Run.Failure
	if limit, ok := errors.AsType[*run.LimitError](started.cause); ok {
		report.Status, report.Failure = session.Failed, &session.Failure{Type: limit.Code, Message: limit.Message}
	} else if errors.Is(started.cause, errDiverged) {
		report.Status, report.Failure = session.Failed, &session.Failure{Type: "diverged", Message: started.cause.Error()}
	} else if started.cause != nil {
		return nil, nil, fmt.Errorf("repeat the run: %w", started.cause)
	}
	report.Same = report.Same && report.Status == of.status()
	return report, entries, nil
}

// status is that of the run when its server ended it.
func (o *original) status() session.Status {
	if o.run.ResumedBy != "" {
		return session.Waiting
	}
	return o.run.Status
}

func (s *Service) report(of *original, p *player, events []*event.Event) *replay.Report {
	r := &replay.Report{
		Run: of.run.ID, FromLog: p.recording.FromLog, Calls: p.made(), Events: compareEvents(of.events, events), Same: true,
		CodeChanged: p.recording.Code != "" && s.Code != nil && s.Code(of.run.Key.App) != p.recording.Code,
	}
	if !r.FromLog { // the log also has calls that are not made at an edge
		r.Unused = p.unused()
	}
	for _, c := range r.Calls {
		r.Same = r.Same && len(c.Differences) == 0 && !c.Missing
	}
	for _, e := range r.Events {
		r.Same = r.Same && len(e.Differences) == 0
	}
	r.Same = r.Same && len(r.Unused) == 0
	return r
}

// edges is what stands at the edges of a repeated run.
type edges struct {
	*player
	*order
}

func (edges) Done() {}

// noLogins accepts the answers of users to logins, and does nothing with them: tools
// that need one are not called.
type noLogins struct{}

func (noLogins) For(session.Key) run.Credentials { return nil }

func (noLogins) Receive(_ context.Context, _ session.Key, _ string, _ *credential.Config, answer json.RawMessage) (json.RawMessage, error) {
	return answer, nil
}

func (noLogins) Complete(context.Context, session.Key, string, *credential.Config) error { return nil }

// keptLogins are the logins that users have, for a replay that calls tools from some
// call on. The answer to a login was used up before.
type keptLogins struct{ run.Logins }

func (keptLogins) Receive(_ context.Context, _ session.Key, _ string, _ *credential.Config, answer json.RawMessage) (json.RawMessage, error) {
	return answer, nil
}

func (keptLogins) Complete(context.Context, session.Key, string, *credential.Config) error {
	return nil
}
