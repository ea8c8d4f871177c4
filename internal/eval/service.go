package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
)

// Service keeps the evaluation sets of applications, and runs them.
type Service struct {
	// Dir is the directory of an application, empty for one that has none.
	Dir func(app string) string
	// Engine makes an engine and a store of its own. Each case gets one, so
	// that what it leaves behind goes with it. edges may be nil.
	Engine func(edges func(run.Beginning) run.Edges) (*run.Engine, session.Store, error)
	// Record returns what records the runs in the store of a case, so that their traces
	// are stored with the result; nil to store none.
	Record func(store session.Store) Recording
	// Models has the models that judge; it may be nil.
	Models func(name string) (model.Model, error)
	// Code identifies the code of an application; it may be nil.
	Code func(app string) string
	// Prices are those of the models that judge; nil if none are known. The engine has its own.
	Prices *price.Table
	Now    func() time.Time

	mu      sync.Mutex // to change a set, and to store a result
	stored  float64    // when the latest result was
	running sync.Mutex // to run one
	latest  latest
}

// files are those of an application. ok is false when it can have none.
func (s *Service) files(app string) (f files, ok bool) {
	dir := s.Dir(app)
	return files{dir}, dir != ""
}

// writable is files, or why there can be none.
func (s *Service) writable(app string) (files, error) {
	f, ok := s.files(app)
	if !ok {
		return f, invalid("The application %s has no directory to keep evaluation sets in: set Config.Evaluations.Dir in the program that serves it", app)
	}
	return f, nil
}

// Sets are the ids of an application's sets, sorted.
func (s *Service) Sets(app string) ([]string, error) {
	f, ok := s.files(app)
	if !ok {
		return []string{}, nil
	}
	return f.list(".", setFile)
}

// Set is one of an application's sets.
func (s *Service) Set(app, id string) (*Set, error) {
	f, ok := s.files(app)
	if !ok {
		return nil, missing("Eval set", id)
	}
	return f.set(id)
}

// Create makes a set. What it is made of may say more than its id.
func (s *Service) Create(app string, set *Set) error {
	f, err := s.writable(app)
	if err != nil {
		return err
	}
	if err := checkName("eval set id", set.ID); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := f.read(set.ID+setFile, "Eval set", set.ID); err == nil {
		return &Error{Kind: Exists, Message: "Eval set already exists: " + set.ID}
	} else if e, ok := errors.AsType[*Error](err); !ok || e.Kind != NotFound {
		return err
	}
	return f.writeSet(set)
}

// DeleteSet deletes a set. Results stay.
func (s *Service) DeleteSet(app, id string) error {
	f, ok := s.files(app)
	if !ok {
		return missing("Eval set", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.deleteSet(id)
}

// Change lets change have a set, and keeps what it makes of it.
func (s *Service) Change(app, id string, change func(*Set) error) error {
	f, err := s.writable(app)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set, err := f.set(id)
	if err != nil {
		return err
	}
	if err := change(set); err != nil {
		return err
	}
	return f.writeSet(set)
}

// Put adds a case, or replaces the one with its id.
func (s *Set) Put(c *Case) {
	if i := s.index(c.ID); i >= 0 {
		s.Cases[i] = c
		return
	}
	s.Cases = append(s.Cases, c)
}

// Add adds a case with an id that no other one has.
func (s *Set) Add(c *Case) error {
	if s.index(c.ID) >= 0 {
		return &Error{Kind: Exists, Message: "Eval case already exists: " + c.ID}
	}
	s.Cases = append(s.Cases, c)
	return nil
}

// Delete takes a case out.
func (s *Set) Delete(id string) error {
	i := s.index(id)
	if i < 0 {
		return missing("Eval case", id)
	}
	s.Cases = append(s.Cases[:i:i], s.Cases[i+1:]...)
	return nil
}

// Results are the ids of an application's results.
func (s *Service) Results(app string) ([]string, error) {
	f, ok := s.files(app)
	if !ok {
		return []string{}, nil
	}
	return f.list(historyDir, resultFile)
}

// Result is a result, as JSON.
func (s *Service) Result(app, id string) ([]byte, error) {
	f, ok := s.files(app)
	if !ok {
		return nil, missing("Eval result", id)
	}
	return f.result(id)
}

// Session is the session of a case that was run, as JSON: it is kept with the
// result. Only the latest results are searched, as any id may be asked for.
func (s *Service) Session(key session.Key) ([]byte, error) {
	if c, ok := s.held(key); ok {
		return c.details, nil
	}
	_, details, err := s.find(key)
	return details, err
}

// find returns the id of the result with the session of a case, and the session.
func (s *Service) find(key session.Key) (id string, details []byte, err error) {
	f, ok := s.files(key.App)
	if !ok || !strings.HasPrefix(key.ID, sessionPrefix) {
		return "", nil, missing("Session", key.ID)
	}
	ids, err := f.latest()
	if err != nil {
		return "", nil, err
	}
	for _, id := range ids {
		doc, err := f.result(id)
		if err != nil || !bytes.Contains(doc, []byte(key.ID)) {
			continue
		}
		var result struct {
			Cases []struct {
				Session string          `json:"sessionId"`
				User    string          `json:"userId"`
				Details json.RawMessage `json:"sessionDetails"`
			} `json:"evalCaseResults"`
		}
		if json.Unmarshal(doc, &result) != nil {
			continue
		}
		for _, c := range result.Cases {
			if c.Session == key.ID && c.User == key.User && len(c.Details) > 0 {
				return id, c.Details, nil
			}
		}
	}
	return "", nil, missing("Session", key.ID)
}

// Plan is what is to be run.
type Plan struct {
	App     string
	Set     *Set
	File    string   // where the set is from
	Cases   []string // ids; none for all
	Metrics []Metric
	// Recorded answers the calls of tools with the results in the cases, and makes none.
	Recorded bool
	// Variants are what the cases are run with, each after or beside the other; none for the
	// agents as they are.
	Variants []Variant
	// Done is told about every case, one after the other; it may be nil.
	Done func(*Variant, *CaseResult)
}

// cases are those that are to be run, each of which can be.
func (p *Plan) cases() ([]*Case, error) {
	all := p.Set.Cases
	if len(p.Cases) > 0 {
		all = nil
		for _, id := range p.Cases {
			one, err := p.Set.Find(id)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	for _, c := range all {
		switch {
		case c.Scenario:
			return nil, invalid("The eval case %s needs a simulated user, which is not supported: it has a scenario in place of a conversation", c.ID)
		case len(c.Conversation) == 0:
			return nil, invalid("The eval case %s has no conversation", c.ID)
		}
	}
	return all, nil
}

// Run runs cases one after the other, and keeps the result where there is a place
// for it. A case that goes wrong has failed; an error means that nothing could be
// found out or, where there is a result, that it could not be kept. There is one
// evaluation at a time: each may be a lot of work, and no user waits for it.
func (s *Service) Run(ctx context.Context, p Plan) (*SetResult, error) {
	results, err := s.RunVariants(ctx, p)
	if results == nil {
		return nil, err
	}
	return results[0], err
}

// RunVariants is Run with a result for each variant.
func (s *Service) RunVariants(ctx context.Context, p Plan) ([]*SetResult, error) {
	variants, cases, err := s.begin(&p)
	if err != nil {
		return nil, err
	}
	defer s.running.Unlock()
	ctx, progress := s.latest.begin(ctx, &p, cases, s.Now())
	results, err := s.runVariants(ctx, &p, variants, cases, progress)
	progress.end(results, err)
	return results, err
}

// begin checks a plan and has the lock for its run.
func (s *Service) begin(p *Plan) ([]Variant, []*Case, error) {
	cases, err := p.cases()
	if err != nil {
		return nil, nil, err
	}
	variants, err := s.variants(p)
	if err != nil {
		return nil, nil, err
	}
	if !s.running.TryLock() {
		return nil, nil, &Error{Kind: Busy, Message: "Another evaluation is in progress: try again when it is over"}
	}
	return variants, cases, nil
}

// defaultUser is who talks when the case does not say, and sessionPrefix how
// tools tell the sessions of evaluations.
const (
	defaultUser   = "test_user_id"
	sessionPrefix = "___eval___session___"
)

func (s *Service) runCase(ctx context.Context, p *Plan, v *Variant, c *Case) (*CaseResult, error) {
	var tools *recorded
	if p.Recorded {
		tools = &recorded{of: c}
	}
	var recording Recording
	engine, store, err := s.Engine(s.edges(v, tools, func() Recording { return recording }))
	if err != nil {
		return nil, err
	}
	if s.Record != nil {
		if recording = s.Record(store); recording != nil {
			defer recording.Close()
		}
	}
	defer func() {
		over, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		engine.Shutdown(over) // no caller needs what still runs there
	}()
	key := session.Key{App: p.App, User: c.User, ID: sessionPrefix + ident.Session()}
	if key.User == "" {
		key.User = defaultUser
	}
	result := &CaseResult{
		File: p.File, Set: p.Set.ID, ID: c.ID, User: key.User, Session: key.ID,
		Old: []Score{}, Scores: []Score{}, Turns: []Turn{}, Usage: &Usage{},
	}
	began := s.Now()
	actual, err := converse(ctx, engine, key, c, result.Usage)
	if broken, ok := errors.AsType[*run.AppError](err); ok || errors.Is(err, run.ErrUnknownApp) {
		if ok {
			return nil, broken
		}
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		result.Error = err.Error()
	} else if tools != nil {
		result.Error = tools.missing()
	}
	result.Took = s.Now().Sub(began)
	result.Usage.Seconds = result.Took.Seconds()
	if held, err := store.Get(ctx, key, session.Read{}); err == nil {
		result.Details = document.Session(nil, held)
	}
	result.spans = spansOf(ctx, recording, key)
	began = s.Now()
	result.judge(ctx, asks(s.Models, func(version string, used *event.Usage) { result.countJudge(s.Prices, version, used) }), p.Metrics, c, actual)
	if result.JudgeUsage != nil {
		result.JudgeUsage.Seconds = s.Now().Sub(began).Seconds()
	}
	if ctx.Err() != nil { // a judge may not have answered because of that
		return nil, context.Cause(ctx)
	}
	return result, nil
}

// converse holds a conversation, and returns the turns that there were. It counts what they
// have used.
func converse(ctx context.Context, engine *run.Engine, key session.Key, c *Case, usage *Usage) ([]*Invocation, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	if _, err := engine.Create(ctx, session.NewSession{Key: key, State: c.State}, nil); err != nil {
		return nil, err
	}
	var turns []*Invocation
	for _, expected := range c.Conversation {
		started, err := engine.Start(ctx, run.Request{Key: key, Message: said(expected.User)})
		if err != nil {
			return turns, err
		}
		result, err := started.Wait(ctx)
		if err != nil {
			return turns, err
		}
		usage.count(result.Run)
		var last *event.Event
		turn := &Invocation{ID: result.Run.ID, User: expected.User, Created: event.Seconds(result.Run.Created)}
		for _, entry := range result.Entries {
			ev, err := entry.Decode()
			if err != nil {
				return turns, err
			}
			if last = ev; ev.Author != event.User && ev.Content != nil {
				turn.add(ev)
			}
		}
		turns = append(turns, turn)
		if failure := result.Run.Failure; failure != nil {
			return turns, failure
		}
		if last != nil && last.ErrorCode != "" && last.Content == nil { // such as that of a model without a key
			return turns, fmt.Errorf("%s: %s", last.ErrorCode, last.ErrorMessage)
		}
	}
	return turns, nil
}

// said is a message as a user sends it: tools leave the role out, too.
func said(content *event.Content) *event.Content {
	return &event.Content{Role: event.RoleUser, Parts: content.Parts}
}
