package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// Evaluation says what Evaluate does.
type Evaluation struct {
	// Sets are the evaluation sets: files, or the ids of sets that are in the
	// application's directory. ":one,two" at the end picks cases. None means all
	// sets in the directory.
	Sets []string
	// Dir is what the paths of files are relative to; empty means the working
	// directory.
	Dir string
	// Config is a file with criteria; empty means the same tool calls, and
	// answers that share most of their words.
	Config string
	// Detailed writes every turn to Out, as it was expected and as it was.
	Detailed bool
	// JUnit is a file that gets the results for CI systems; empty means none.
	JUnit string
	// Out gets the results; nil means nobody.
	Out io.Writer
	// Progress, if not nil, is told after every case how many of how many are
	// done, and how that one went.
	Progress func(done, total int, set, id string, passed bool)
}

// Evaluate holds the conversations of evaluation sets with the only application
// of cfg, and compares what it does with what is expected. Every case has a
// session of its own, in memory. The results are kept in the application's
// directory. It fails when a case does.
func Evaluate(ctx context.Context, cfg Config, e Evaluation) error {
	if e.Out == nil {
		e.Out = io.Discard
	}
	cfg.Sessions.URL, cfg.Artifacts.URL = "", "" // neither is touched
	s, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	if err := s.evaluate(ctx, e); err != nil {
		return fmt.Errorf("parley: %w", err)
	}
	return nil
}

func (s *Server) evaluate(ctx context.Context, e Evaluation) error {
	names := s.apps.Names()
	if len(names) != 1 {
		return fmt.Errorf("there are %d applications: evaluate one of them: %s", len(names), strings.Join(names, ", "))
	}
	metrics := eval.DefaultMetrics()
	if e.Config != "" {
		doc, err := os.ReadFile(e.path(e.Config))
		if err != nil {
			return fmt.Errorf("read the criteria: %w", err)
		}
		if metrics, err = eval.ReadConfig(doc); err != nil {
			return fmt.Errorf("read the criteria in %s: %w", e.Config, err)
		}
	}
	plans, err := s.plans(names[0], e)
	if err != nil {
		return err
	}
	var (
		results                    []*eval.SetResult
		total, done, cases, failed int
	)
	for i := range plans {
		total += cmp.Or(len(plans[i].Cases), len(plans[i].Set.Cases))
	}
	for _, plan := range plans {
		plan.Metrics = metrics
		plan.Done = func(c *eval.CaseResult) {
			if done++; e.Progress != nil {
				e.Progress(done, total, c.Set, c.ID, c.Status == eval.Passed)
			}
		}
		result, err := s.evals.Run(ctx, plan)
		if result == nil {
			return evalError(err)
		}
		if err != nil { // it is known, and only could not be kept
			s.cfg.Log.Warn("the results of an evaluation are not kept", "err", err)
		}
		results = append(results, result)
		cases, failed = cases+len(result.Cases), failed+result.Failed()
	}
	if e.Detailed {
		for _, set := range results {
			for _, c := range set.Cases {
				eval.Details(e.Out, c)
			}
		}
	}
	eval.Summary(e.Out, results)
	if e.JUnit != "" {
		doc, err := eval.JUnit(results)
		if err != nil {
			return err
		}
		if err := os.WriteFile(e.path(e.JUnit), doc, 0o644); err != nil { //nolint:gosec // for CI systems, which may be other users
			return fmt.Errorf("write the results: %w", err)
		}
	}
	switch {
	case cases == 0:
		return errors.New("there is no case to evaluate")
	case failed > 0 && !e.Detailed:
		return fmt.Errorf("%d of %d cases failed: --print_detailed_results shows where", failed, cases)
	case failed > 0:
		return fmt.Errorf("%d of %d cases failed", failed, cases)
	}
	return nil
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
			return nil, fmt.Errorf("there are no evaluation sets in the directory of %s: name a file", app)
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
	return &eval.Service{Dir: s.apps.Dir, Engine: s.scratchEngine, Now: now}
}

// scratchEngine is an engine as the server's own is, on a store that nobody else
// sees and that is gone with it.
func (s *Server) scratchEngine() (*run.Engine, session.Sessions, error) {
	cfg := s.cfg
	cfg.Sessions.URL, cfg.Logins.Key, cfg.Logins.KeyFile, cfg.Logins.KMS = "", "", "", ""
	store := session.NewMemory(0)
	broker, err := newBroker(context.Background(), &cfg, store)
	if err != nil {
		return nil, nil, err
	}
	return run.NewEngine(run.Options{
		Store: store, Agent: s.apps.Agent, Models: cfg.named(), Log: cfg.Log, MaxModelCalls: cfg.Limits.ModelCalls, Now: cfg.Now,
		Logins: logins{broker}, CredentialCall: string(cfg.Logins.Call), Artifacts: artifact.NewMemory(),
		Limits: cfg.Limits.engine(), Bounds: cfg.Limits.bounds(), Observer: unstored{s.telemetry},
	}), store, nil
}

// unstored hears of runs whose store is of no interest: how fast it is says
// nothing about the server's own.
type unstored struct{ run.Observer }

func (unstored) Appended(time.Duration, error) {}
