package parley

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/playback"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// Evaluation configures Evaluate.
type Evaluation struct {
	// Sets are the evaluation sets: files, or the ids of sets that are in the
	// application's directory. ":one,two" at the end picks cases. None means all
	// sets in the directory.
	Sets []string
	// Dir is what the paths of files are relative to; empty means the working
	// directory.
	Dir string
	// Config is a file with criteria; empty means test_config.json in the application's
	// directory. Without that, they are the same tool calls, and answers that share most
	// of their words.
	Config string
	// Recorded answers the calls of tools with the results in the cases, and makes none.
	Recorded bool
	// Variants are what the sets are run with, for example other models: each gives a result
	// of its own for each set. None means the agents as they are.
	Variants []EvaluationVariant
	// Progress is called after every case with the number of cases that are done,
	// the number of all, and the result of this one. With several variants, set also
	// names the variant. It may be nil.
	Progress func(done, total int, set, id string, passed bool)
}

// EvaluationResult is the result of Evaluate.
type EvaluationResult struct {
	// App is the name of the application.
	App  string
	Sets []EvaluatedSet

	results []*eval.SetResult
}

// EvaluationVariant is what is different for models in an evaluation. The zero value is
// the agents as they are.
type EvaluationVariant struct {
	// Model is asked in place of those of the agents.
	Model string
	// Instructions are given to models in place of those of the agents with these names.
	Instructions map[string]string
	// Temperature is asked of models in place of that of the agents.
	Temperature *float64
}

// String returns what is different, in a line.
func (v EvaluationVariant) String() string {
	return eval.VariantName(&eval.Variant{Model: v.Model, Instructions: v.Instructions, Temperature: v.Temperature})
}

// EvaluatedSet is the result of one evaluation set.
type EvaluatedSet struct {
	ID string
	// Variant is what the set was run with.
	Variant EvaluationVariant
	Cases   []EvaluatedCase
	// Result is the id of the stored result, empty if it could not be stored.
	Result string
	// Code identifies the code of the application, empty if it is unknown.
	Code string
}

// EvaluatedCase is the result of one case.
type EvaluatedCase struct {
	ID     string
	Passed bool
	// Reason says why the case has not passed.
	Reason string
	// Details is a text with every turn: what was expected, and what happened.
	Details  string
	Duration time.Duration
	// Session and User are those of the case's session, which is in the stored result.
	Session, User string
	Scores        []EvaluatedScore
	// Tokens are those that the conversation has used, without those of models that judge.
	Tokens int64
	// CostUSD is what they have cost in US dollars, as far as that is known: nil if nothing
	// is. Unpriced is the number of tokens whose cost is not in it.
	CostUSD  *float64
	Unpriced int64
	// JudgeTokens, JudgeCostUSD and JudgeUnpriced are the same of the models that judge.
	JudgeTokens   int64
	JudgeCostUSD  *float64
	JudgeUnpriced int64
}

// EvaluatedScore is what one metric measured of a case.
type EvaluatedScore struct {
	Metric    string
	Score     float64
	Threshold float64
	// Measured is false if there is no score, for example because the model that judges
	// has not answered.
	Measured bool
	Passed   bool
	// Explanation says why the score is what it is.
	Explanation string
}

// Count returns the number of cases, and how many of them have failed.
func (r *EvaluationResult) Count() (cases, failed int) {
	for _, set := range r.results {
		cases, failed = cases+len(set.Cases), failed+set.Failed()
	}
	return cases, failed
}

// Summary returns a text with the number of cases of each set that have passed.
func (r *EvaluationResult) Summary() string {
	var out strings.Builder
	eval.Summary(&out, r.results)
	return out.String()
}

// Details returns the Details of all cases.
func (r *EvaluationResult) Details() string {
	var out strings.Builder
	for _, set := range r.Sets {
		for _, c := range set.Cases {
			out.WriteString(c.Details)
		}
	}
	return out.String()
}

// JUnit returns the results as an XML document that CI systems read. With the address
// of a server with the developer UI, which serves the same directory, each case has the
// address of the page with its session; nil for none.
func (r *EvaluationResult) JUnit(server *url.URL) []byte {
	return eval.JUnit(r.App, r.results, server)
}

// JSON returns the results as a JSON document for programs, which has the counts, scores
// and costs, and not the conversations. The server is as for JUnit.
func (r *EvaluationResult) JSON(server *url.URL) ([]byte, error) {
	return eval.JSON(r.App, r.results, server)
}

// Evaluate runs the conversations of evaluation sets with the only application of cfg,
// and compares the results with what the sets expect. Every case has its own session,
// in memory: Sessions.URL and Artifacts.URL are not used. The results are also stored
// in the application's directory; for an application in Config.Agents, that is in
// Evaluations.Dir. A case that fails is not an error.
func Evaluate(ctx context.Context, cfg Config, e Evaluation) (*EvaluationResult, error) {
	cfg.Sessions.URL, cfg.Artifacts.URL = "", "" // neither is used
	s, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer s.Close(ctx)
	result, err := s.evaluate(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	return result, nil
}

func (s *Server) evaluate(ctx context.Context, e Evaluation) (*EvaluationResult, error) {
	names := s.apps.Names()
	if len(names) != 1 {
		return nil, fmt.Errorf("there are %d applications: evaluate one of them: %s", len(names), strings.Join(names, ", "))
	}
	metrics, _, err := s.evals.Criteria(names[0])
	if e.Config == "" && err != nil {
		return nil, err
	}
	if e.Config != "" {
		doc, err := os.ReadFile(e.path(e.Config))
		if err != nil {
			return nil, fmt.Errorf("read the criteria: %w", err)
		}
		if metrics, err = eval.ReadConfig(doc); err != nil {
			return nil, fmt.Errorf("read the criteria in %s: %w", e.Config, err)
		}
	}
	plans, err := s.plans(names[0], e)
	if err != nil {
		return nil, err
	}
	total, done := 0, 0
	for i := range plans {
		total += cmp.Or(len(plans[i].Cases), len(plans[i].Set.Cases)) * max(1, len(e.Variants))
	}
	all := &EvaluationResult{App: names[0]}
	for _, plan := range plans {
		plan.Metrics, plan.Recorded = metrics, e.Recorded
		for _, v := range e.Variants {
			plan.Variants = append(plan.Variants, eval.Variant{Model: v.Model, Instructions: v.Instructions, Temperature: v.Temperature})
		}
		plan.Done = func(v *eval.Variant, c *eval.CaseResult) {
			if done++; e.Progress == nil {
				return
			}
			set := c.Set
			if len(e.Variants) > 1 {
				set += " (" + eval.VariantName(v) + ")"
			}
			e.Progress(done, total, set, c.ID, c.Status == eval.Passed)
		}
		results, err := s.evals.RunVariants(ctx, plan)
		if results == nil {
			return nil, evalError(err)
		}
		if err != nil { // the result is known, and only could not be stored
			s.cfg.Log.Warn("failed to store evaluation results", "err", err)
		}
		for _, result := range results {
			all.add(result)
		}
	}
	if cases, _ := all.Count(); cases == 0 {
		return nil, errors.New("there is no case to evaluate")
	}
	return all, nil
}

func (r *EvaluationResult) add(result *eval.SetResult) {
	set := EvaluatedSet{ID: result.Set, Result: result.ID, Code: result.Code}
	if v := result.Variant; v != nil {
		set.Variant = EvaluationVariant{v.Model, v.Instructions, v.Temperature}
	}
	for _, c := range result.Cases {
		var details strings.Builder
		eval.Details(&details, c)
		one := EvaluatedCase{
			ID: c.ID, Passed: c.Status == eval.Passed, Reason: c.Why(), Details: details.String(), Duration: c.Took, Session: c.Session, User: c.User,
			Tokens: c.Usage.Tokens, CostUSD: c.Usage.CostUSD, Unpriced: c.Usage.Unpriced,
		}
		if u := c.JudgeUsage; u != nil {
			one.JudgeTokens, one.JudgeCostUSD, one.JudgeUnpriced = u.Tokens, u.CostUSD, u.Unpriced
		}
		for _, score := range c.Scores {
			s := EvaluatedScore{Metric: score.Name, Threshold: score.Threshold, Passed: score.Status == eval.Passed, Explanation: score.Why()}
			if score.Score != nil {
				s.Score, s.Measured = *score.Score, true
			}
			one.Scores = append(one.Scores, s)
		}
		set.Cases = append(set.Cases, one)
	}
	r.Sets, r.results = append(r.Sets, set), append(r.results, result)
}

// evalError is why an evaluation could not be made; where it is about the
// application, what is wrong with that.
func evalError(err error) error {
	if broken, ok := errors.AsType[*run.AppError](err); ok {
		return broken
	}
	return err
}

func (e *Evaluation) path(name string) string {
	if e.Dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

// plans are what is to be run, of all sets before the first one is.
func (s *Server) plans(app string, e Evaluation) ([]eval.Plan, error) {
	sets := e.Sets
	if len(sets) == 0 {
		var err error
		if sets, err = s.evals.Sets(app); err != nil {
			return nil, err
		}
		if len(sets) == 0 {
			return nil, fmt.Errorf("%s has no evaluation sets: name a file, or make a set from a session in the developer UI", app)
		}
	}
	plans := make([]eval.Plan, 0, len(sets))
	for _, name := range sets {
		plan, err := s.plan(app, name, e)
		if err != nil {
			return nil, err
		}
		plans = append(plans, *plan)
	}
	return plans, nil
}

// plan is about one set. A file comes before a set with that id.
func (s *Server) plan(app, name string, e Evaluation) (*eval.Plan, error) {
	plan := &eval.Plan{App: app}
	doc, err := os.ReadFile(e.path(name))
	if i := strings.LastIndexByte(name, ':'); err != nil && i > 0 && !strings.ContainsAny(name[i:], `/\`) {
		for id := range strings.SplitSeq(name[i+1:], ",") {
			if id = strings.TrimSpace(id); id != "" {
				plan.Cases = append(plan.Cases, id)
			}
		}
		name = name[:i]
		doc, err = os.ReadFile(e.path(name))
	}
	plan.File = name
	switch {
	case err == nil:
		id := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".json"), ".evalset")
		if plan.Set, err = eval.ReadSet(doc, id); err != nil {
			return nil, fmt.Errorf("read the evaluation set %s: %w", name, err)
		}
	case strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".json"):
		return nil, fmt.Errorf("read the evaluation set: %w", err)
	default:
		if plan.Set, err = s.evals.Set(app, name); err != nil {
			return nil, err
		}
	}
	for _, id := range plan.Cases {
		if _, err := plan.Set.Find(id); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return plan, nil
}

// newEvals is the service that evaluates the server's applications.
func (s *Server) newEvals() *eval.Service {
	now := s.cfg.Now
	if now == nil {
		now = time.Now
	}
	service := &eval.Service{Dir: s.apps.EvalDir, Engine: s.scratchEngine, Models: s.cfg.named(), Code: s.apps.Code, Prices: s.prices, Now: now}
	if s.cfg.Recording.Share >= 0 {
		service.Record = func(store session.Store) eval.Recording {
			r := playback.NewRecorder(store.Recordings, 1, 0, nil, s.cfg.Log)
			return recordedCase{r, &playback.Service{Store: store, Recorder: r}}
		}
	}
	return service
}

// recordedCase records the runs of a case of an evaluation.
type recordedCase struct {
	*playback.Recorder

	played *playback.Service
}

func (r recordedCase) Spans(ctx context.Context, key session.Key, content bool) ([]json.RawMessage, error) {
	return r.played.Spans(ctx, key, content, nil)
}

// scratchEngine returns an engine like the server's own, with a store in memory
// that no other engine uses.
func (s *Server) scratchEngine(edges func(run.Beginning) run.Edges) (*run.Engine, session.Store, error) {
	cfg := s.cfg
	cfg.Sessions.URL, cfg.Logins.Key, cfg.Logins.KeyFile, cfg.Logins.KMS = "", "", "", ""
	store := memstore.New(0)
	broker, err := newBroker(context.Background(), &cfg, store)
	if err != nil {
		return nil, session.Store{}, err
	}
	return run.NewEngine(run.Options{
		Store: store, Agent: s.apps.Agent, Models: cfg.named(), Log: cfg.Log, MaxModelCalls: cfg.Limits.ModelCalls, Now: cfg.Now,
		Logins: logins{broker}, CredentialCall: string(cfg.Logins.Call), Artifacts: artifact.NewMemory(),
		Limits: cfg.Limits.engine(), Prices: s.prices, Bounds: cfg.Limits.bounds(), Observer: unstored{s.telemetry}, Edges: edges,
	}), store, nil
}

// unstored observes runs whose store is of no interest: how fast it is says
// nothing about the server's own, so this is not a run.StoreObserver.
type unstored struct{ run.Observer }
