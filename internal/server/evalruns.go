package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/wire"
)

// runEval runs cases of a set and answers with the results.
func (s *Server) runEval(w http.ResponseWriter, r *http.Request, app string) (any, error) {
	set, err := s.Evals.Set(app, r.PathValue("set"))
	if err != nil {
		return nil, err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return nil, err
	}
	plan, background := eval.Plan{App: app, Set: set, File: set.ID}, false
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "evalIds", "evalCaseIds":
				var ids []string
				err := in.Strings(&ids)
				plan.Cases = append(plan.Cases, ids...)
				return err
			case "evalMetrics":
				return in.Array(func() error {
					m, err := eval.ReadMetric(in)
					plan.Metrics = append(plan.Metrics, m)
					return err
				})
			case "recordedTools":
				return in.Bool(&plan.Recorded)
			case "variants":
				return in.Array(func() error {
					v, err := readVariant(in)
					plan.Variants = append(plan.Variants, v)
					return err
				})
			case "background":
				return in.Bool(&background)
			}
			return in.Skip()
		})
	})
	if err != nil {
		return nil, err
	}
	if len(plan.Metrics) == 0 {
		return nil, wire.Missing("evalMetrics")
	}
	if len(plan.Variants) > 0 && !background {
		return nil, &eval.Error{Kind: eval.Invalid, Message: "Variants of a set are run in the background: set background to true"}
	}
	ctx := r.Context()
	if background {
		after := context.WithoutCancel(ctx)
		progress, err := s.Evals.Begin(ctx, plan, func(results []*eval.SetResult, err error) { s.logEval(after, app, results != nil, err) })
		return accepted{progress}, err
	}
	result, err := s.Evals.Run(ctx, plan)
	if result == nil {
		return nil, err
	}
	s.logEval(ctx, app, true, err) // the result is valid nevertheless
	for _, c := range result.Cases {
		c.Details = nil // they are long, and the session has them
	}
	return result.Cases, nil
}

// readVariant reads what is different in a variant.
func readVariant(in *wire.Reader) (v eval.Variant, err error) {
	err = in.Object(func(name string) error {
		switch name {
		case "model":
			return in.String(&v.Model)
		case "temperature":
			v.Temperature = new(float64)
			return in.Float(v.Temperature)
		case "instructions":
			v.Instructions = map[string]string{}
			return in.Members(func(agent string) error {
				var text string
				err := in.String(&text)
				v.Instructions[agent] = text
				return err
			})
		}
		return in.Skip()
	})
	return v, err
}

// logEval logs why an evaluation has no result, or why it could not be stored.
func (s *Server) logEval(ctx context.Context, app string, known bool, err error) {
	if err == nil {
		return
	}
	if problem, ok := errors.AsType[*eval.Error](err); ok && problem.Kind == eval.Cancelled {
		return
	}
	if !known {
		s.Log.WarnContext(ctx, "evaluation failed", "app", app, "err", err)
		return
	}
	s.Log.WarnContext(ctx, "failed to store evaluation results", "app", app, "err", err, "cause", errors.Unwrap(err))
}

// accepted is a response about something that has begun.
type accepted struct{ value any }

// evalProgress answers with the state of the latest evaluation.
func (s *Server) evalProgress(_ http.ResponseWriter, _ *http.Request, app string) (any, error) {
	return s.Evals.Progress(app), nil
}

// cancelEval cancels the evaluation that runs.
func (s *Server) cancelEval(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	return s.Evals.Cancel(r.Context(), app)
}

// evalHistory answers with the latest results in short.
func (s *Server) evalHistory(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	return s.Evals.History(app, r.URL.Query().Get("evalSetId"), r.URL.Query().Get("variantsId"))
}

// evalCriteria answers with what evaluations of the application measure unless they say otherwise.
func (s *Server) evalCriteria(_ http.ResponseWriter, _ *http.Request, app string) (any, error) {
	metrics, stored, err := s.Evals.Criteria(app)
	if err != nil {
		return nil, err
	}
	return struct {
		Metrics []eval.Metric `json:"evalMetrics"`
		Stored  bool          `json:"stored"`
	}{metrics, stored}, nil
}

// putEvalCriteria stores them.
func (s *Server) putEvalCriteria(w http.ResponseWriter, r *http.Request, app string) (any, error) {
	doc, err := s.required(w, r)
	if err != nil {
		return nil, err
	}
	var metrics []eval.Metric
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			if name != "evalMetrics" {
				return in.Skip()
			}
			return in.Array(func() error {
				m, err := eval.ReadMetric(in)
				metrics = append(metrics, m)
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	if len(metrics) == 0 {
		return nil, wire.Missing("evalMetrics")
	}
	return nil, s.Evals.SetCriteria(app, metrics)
}
