package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// evalStatus is the status of an answer.
var evalStatus = map[eval.Kind]int{
	eval.Invalid:  http.StatusBadRequest,
	eval.NotFound: http.StatusNotFound,
	eval.Exists:   http.StatusConflict,
	// What is asked for is fine, and could be done were the directory another one.
	eval.Unwritable: http.StatusConflict,
	eval.Busy:       http.StatusConflict,
}

// evalRoutes are the routes of evaluation sets, by all names that clients know
// them by: with and without /dev, and in two generations of spelling, which
// differ in the shape of some answers.
func (s *Server) evalRoutes() []route {
	var list []route
	for _, app := range []string{"/dev/apps/{app}", "/apps/{app}"} {
		for _, set := range []string{app + "/eval_sets/{set}", app + "/eval-sets/{set}"} {
			list = append(list, route{"POST", set, s.createEvalSetByID}, route{"GET", set, s.getEvalSet}, route{"DELETE", set, s.deleteEvalSet})
			for _, path := range []string{set + "/add_session", set + "/add-session"} {
				list = append(list, route{"POST", path, s.addSessionToEvalSet})
			}
			list = append(list, route{"POST", set + "/run_eval", s.runEvalList}, route{"POST", set + "/run", s.runEval})
			for _, cases := range []string{set + "/evals", set + "/eval-cases"} {
				list = append(list,
					route{"GET", cases, s.listEvalCases}, route{"GET", cases + "/{case}", s.getEvalCase},
					route{"PUT", cases + "/{case}", s.putEvalCase}, route{"DELETE", cases + "/{case}", s.deleteEvalCase})
			}
		}
		list = append(list,
			route{"GET", app + "/eval_sets", s.evalList(s.evalSets, "")}, route{"GET", app + "/eval-sets", s.evalList(s.evalSets, "evalSetIds")},
			route{"POST", app + "/eval_sets", s.createEvalSet}, route{"POST", app + "/eval-sets", s.createEvalSet},
			route{"GET", app + "/eval_results", s.evalList(s.evalResults, "")}, route{"GET", app + "/eval-results", s.evalList(s.evalResults, "evalResultIds")},
			route{"GET", app + "/eval_results/{result}", s.getEvalResult}, route{"GET", app + "/eval-results/{result}", s.getEvalResult})
	}
	return append(list, route{"GET", "/dev/apps/{app}/metrics-info", s.metricsInfo})
}

// evalApp is the application that a request is about.
func (s *Server) evalApp(r *http.Request) (string, error) {
	app := r.PathValue("app")
	if err := session.CheckIdentifier("application name", app); err != nil {
		return "", err
	}
	if !slices.Contains(s.Apps.Names(), app) {
		return "", appNotFound(app)
	}
	return app, nil
}

func (s *Server) evalSets(app string) ([]string, error)    { return s.Evals.Sets(app) }
func (s *Server) evalResults(app string) ([]string, error) { return s.Evals.Results(app) }

// evalList answers with a list, as it is or under a name.
func (s *Server) evalList(of func(app string) ([]string, error), name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		app, err := s.evalApp(r)
		if err != nil {
			return err
		}
		list, err := of(app)
		if err != nil {
			return err
		}
		if name == "" {
			return answer(w, list)
		}
		return answer(w, map[string][]string{name: list})
	}
}

// createEvalSet makes the set that the body describes.
func (s *Server) createEvalSet(w http.ResponseWriter, r *http.Request) error {
	app, err := s.evalApp(r)
	if err != nil {
		return err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return err
	}
	var inner json.RawMessage
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			if name == "evalSet" {
				return in.RawObject(&inner)
			}
			return in.Skip()
		})
	})
	if err != nil {
		return err
	}
	if inner == nil {
		return wire.Missing("evalSet")
	}
	set, err := eval.ReadSet(inner, "")
	if err != nil {
		return err
	}
	if set.ID == "" {
		return wire.Missing("evalSet", "evalSetId")
	}
	if err := s.Evals.Create(app, set); err != nil {
		return err
	}
	return answer(w, set)
}

// createEvalSetByID makes an empty set.
func (s *Server) createEvalSetByID(w http.ResponseWriter, r *http.Request) error {
	app, err := s.evalApp(r)
	if err != nil {
		return err
	}
	if err := s.Evals.Create(app, eval.NewSet(r.PathValue("set"), time.Now())); err != nil {
		return err
	}
	return answer(w, nil)
}

func (s *Server) evalSet(r *http.Request) (app string, set *eval.Set, err error) {
	if app, err = s.evalApp(r); err != nil {
		return "", nil, err
	}
	set, err = s.Evals.Set(app, r.PathValue("set"))
	return app, set, err
}

func (s *Server) getEvalSet(w http.ResponseWriter, r *http.Request) error {
	_, set, err := s.evalSet(r)
	if err != nil {
		return err
	}
	return answer(w, set)
}

func (s *Server) deleteEvalSet(w http.ResponseWriter, r *http.Request) error {
	app, err := s.evalApp(r)
	if err != nil {
		return err
	}
	if err := s.Evals.DeleteSet(app, r.PathValue("set")); err != nil {
		return err
	}
	return answer(w, nil)
}

// listEvalCases answers with the ids of a set's cases.
func (s *Server) listEvalCases(w http.ResponseWriter, r *http.Request) error {
	_, set, err := s.evalSet(r)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, c := range set.Cases {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return answer(w, ids)
}

func (s *Server) getEvalCase(w http.ResponseWriter, r *http.Request) error {
	_, set, err := s.evalSet(r)
	if err != nil {
		return err
	}
	found, err := set.Find(r.PathValue("case"))
	if err != nil {
		return err
	}
	return answer(w, found)
}

// putEvalCase replaces a case. One that is not there is not made.
func (s *Server) putEvalCase(w http.ResponseWriter, r *http.Request) error {
	app, err := s.evalApp(r)
	if err != nil {
		return err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return err
	}
	edited, err := eval.ReadCase(doc)
	if err != nil {
		return err
	}
	if edited.ID != r.PathValue("case") {
		return &httpError{status: http.StatusBadRequest, message: "The eval id in the body is not that of the path"}
	}
	err = s.Evals.Change(app, r.PathValue("set"), func(set *eval.Set) error {
		if _, err := set.Find(edited.ID); err != nil {
			return err
		}
		set.Put(edited)
		return nil
	})
	if err != nil {
		return err
	}
	return answer(w, nil)
}

func (s *Server) deleteEvalCase(w http.ResponseWriter, r *http.Request) error {
	app, err := s.evalApp(r)
	if err != nil {
		return err
	}
	err = s.Evals.Change(app, r.PathValue("set"), func(set *eval.Set) error { return set.Delete(r.PathValue("case")) })
	if err != nil {
		return err
	}
	return answer(w, nil)
}

// addSessionToEvalSet makes a case of what was said in a session. A case of that
// name is replaced: clients ask their users first.
func (s *Server) addSessionToEvalSet(w http.ResponseWriter, r *http.Request) error {
	app, err := s.evalApp(r)
	if err != nil {
		return err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return err
	}
	var id string
	key := session.Key{App: app}
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "evalId":
				return in.String(&id)
			case "sessionId":
				return in.String(&key.ID)
			case "userId":
				return in.String(&key.User)
			}
			return in.Skip()
		})
	})
	switch {
	case err != nil:
		return err
	case id == "":
		return wire.Missing("evalId")
	}
	if err := key.Check(); err != nil {
		return err
	}
	if err := s.owned(r, key); err != nil {
		return err
	}
	made, err := s.caseOf(r, key, id)
	if err != nil {
		return err
	}
	err = s.Evals.Change(app, r.PathValue("set"), func(set *eval.Set) error {
		set.Put(made)
		return nil
	})
	if err != nil {
		return err
	}
	return answer(w, nil)
}

// caseOf makes a case of a session: it begins with the state that the session
// began with.
func (s *Server) caseOf(r *http.Request, key session.Key, id string) (*eval.Case, error) {
	found, err := s.Store.Get(r.Context(), key, session.Read{Initial: true})
	if err != nil {
		return nil, about(key, err)
	}
	var events []*event.Event
	for _, entry := range found.Seen() {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	turns := eval.Turns(events)
	if len(turns) == 0 {
		return nil, &httpError{status: http.StatusBadRequest, message: "The session has no conversation to make a case of: " + key.ID}
	}
	state := session.State{}
	for k, v := range found.Initial {
		if !tool.IsSecret(k) {
			state[k] = v
		}
	}
	return eval.NewCase(id, key.App, key.User, state, turns, time.Now())
}

// runEval runs cases of a set, and answers with how they went.
func (s *Server) runEval(w http.ResponseWriter, r *http.Request) error {
	result, err := s.evaluate(w, r)
	if err != nil {
		return err
	}
	return answer(w, map[string]any{"runEvalResults": result.Cases})
}

func (s *Server) runEvalList(w http.ResponseWriter, r *http.Request) error {
	result, err := s.evaluate(w, r)
	if err != nil {
		return err
	}
	return answer(w, result.Cases)
}

func (s *Server) evaluate(w http.ResponseWriter, r *http.Request) (*eval.SetResult, error) {
	app, set, err := s.evalSet(r)
	if err != nil {
		return nil, err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return nil, err
	}
	plan := eval.Plan{App: app, Set: set, File: set.ID}
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
	// Models take their time, and nobody hears of it before the end.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	result, err := s.Evals.Run(r.Context(), plan)
	if result == nil {
		return nil, about(session.Key{App: app}, err)
	}
	if err != nil { // it is known, and only could not be kept
		s.Log.WarnContext(r.Context(), "the results of an evaluation are not kept", "app", app, "err", err, "cause", errors.Unwrap(err))
	}
	for _, c := range result.Cases {
		c.Details = nil // they are long; who wants one asks for the session
	}
	return result, nil
}

// evalSession answers with the session of a case that was run, which is in no
// store. It reports whether there is one.
func (s *Server) evalSession(w http.ResponseWriter, r *http.Request, key session.Key) bool {
	if s.UI == nil || !callerOf(r).May(access.Dev) {
		return false
	}
	doc, err := s.Evals.Session(key)
	if err != nil {
		return false
	}
	writeJSON(w, http.StatusOK, doc)
	return true
}

// getEvalResult answers with a result that was kept.
func (s *Server) getEvalResult(w http.ResponseWriter, r *http.Request) error {
	app, err := s.evalApp(r)
	if err != nil {
		return err
	}
	doc, err := s.Evals.Result(app, r.PathValue("result"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, doc)
	return nil
}

// metricsInfo says which metrics there are.
func (s *Server) metricsInfo(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.evalApp(r); err != nil {
		return err
	}
	type interval struct {
		MinValue float64 `json:"minValue"`
		OpenMin  bool    `json:"openAtMin"`
		MaxValue float64 `json:"maxValue"`
		OpenMax  bool    `json:"openAtMax"`
	}
	type info struct {
		Name        string              `json:"metricName"`
		Description string              `json:"description"`
		Values      map[string]interval `json:"metricValueInfo"`
	}
	list := []info{}
	for _, name := range eval.MetricNames() {
		list = append(list, info{name, eval.Describe(name), map[string]interval{"interval": {MaxValue: 1}}})
	}
	return answer(w, map[string]any{"metricsInfo": list})
}

// required is the body of a request that needs one.
func (s *Server) required(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	doc, err := s.body(w, r)
	if err == nil && doc == nil {
		err = wire.Missing()
	}
	return doc, err
}
