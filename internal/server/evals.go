package server

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// evalRoutes are the routes of evaluation sets, in the two versions that clients use, which differ in the shape of some
// responses. Both also exist without /dev for older clients.
func (s *Server) evalRoutes() []route {
	var list []route
	for _, app := range []string{"/dev/apps/{app}", "/apps/{app}"} {
		for _, names := range []struct {
			sets, cases, add, run, results string
			listed                         bool // lists and results are wrapped in an object
		}{
			{"/eval_sets", "/evals", "/add_session", "/run_eval", "/eval_results", false},
			{"/eval-sets", "/eval-cases", "/add-session", "/run", "/eval-results", true},
		} {
			sets, results := app+names.sets, app+names.results
			set := sets + "/{set}"
			cases := set + names.cases
			named := func(name string, of evalRoute) func(http.ResponseWriter, *http.Request) error {
				if !names.listed {
					return s.eval(of)
				}
				return s.eval(func(w http.ResponseWriter, r *http.Request, app string) (any, error) {
					list, err := of(w, r, app)
					if begun, ok := list.(accepted); ok {
						return begun, err
					}
					return map[string]any{name: list}, err
				})
			}
			list = append(list,
				route{"GET", sets, named("evalSetIds", s.evalSets)}, route{"POST", sets, s.eval(s.createEvalSet)},
				route{"POST", set, s.eval(s.createEvalSetByID)}, route{"GET", set, s.eval(s.getEvalSet)}, route{"DELETE", set, s.eval(s.deleteEvalSet)},
				route{"POST", set + names.add, s.eval(s.addSessionToEvalSet)},
				route{"POST", set + names.run, named("runEvalResults", s.runEval)},
				route{"GET", cases, s.eval(s.listEvalCases)}, route{"POST", cases, s.eval(s.createEvalCase)}, route{"GET", cases + "/{case}", s.eval(s.getEvalCase)},
				route{"PUT", cases + "/{case}", s.eval(s.putEvalCase)}, route{"DELETE", cases + "/{case}", s.eval(s.deleteEvalCase)},
				route{"GET", results, named("evalResultIds", s.evalResults)}, route{"GET", results + "/{result}", s.eval(s.getEvalResult)})
		}
	}
	return append(list,
		route{"GET", "/dev/apps/{app}/metrics-info", s.eval(s.metricsInfo)},
		route{"GET", "/dev/apps/{app}/eval_history", s.eval(s.evalHistory)},
		route{"GET", "/dev/apps/{app}/eval_criteria", s.eval(s.evalCriteria)},
		route{"PUT", "/dev/apps/{app}/eval_criteria", s.eval(s.putEvalCriteria)},
		route{"GET", "/dev/apps/{app}/evaluation", s.eval(s.evalProgress)},
		route{"DELETE", "/dev/apps/{app}/evaluation", s.eval(s.cancelEval)})
}

// evalRoute handles a request about the evaluations of an application and returns the response.
type evalRoute func(w http.ResponseWriter, r *http.Request, app string) (any, error)

func (s *Server) eval(route evalRoute) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		app := r.PathValue("app")
		if err := session.CheckIdentifier("application name", app); err != nil {
			return err
		}
		if !slices.Contains(s.Apps.Names(), app) {
			return run.ErrUnknownApp
		}
		result, err := route(w, r, app)
		if err != nil {
			return err
		}
		if file, ok := result.(*evalFile); ok {
			file.write(w)
			return nil
		}
		if begun, ok := result.(accepted); ok {
			doc, err := json.Marshal(begun.value)
			if err != nil {
				return err
			}
			writeJSON(w, http.StatusAccepted, doc)
			return nil
		}
		return answer(w, result)
	}
}

func (s *Server) evalSets(_ http.ResponseWriter, _ *http.Request, app string) (any, error) {
	return s.Evals.Sets(app)
}

// createEvalSet creates the set that the body describes.
func (s *Server) createEvalSet(w http.ResponseWriter, r *http.Request, app string) (any, error) {
	doc, err := s.required(w, r)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	if inner == nil {
		return nil, wire.Missing("evalSet")
	}
	set, err := eval.ReadSet(inner, "")
	if err != nil {
		return nil, err
	}
	if set.ID == "" {
		return nil, wire.Missing("evalSet", "evalSetId")
	}
	return set, s.Evals.Create(app, set)
}

// createEvalSetByID creates an empty set.
func (s *Server) createEvalSetByID(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	return nil, s.Evals.Create(app, eval.NewSet(r.PathValue("set"), time.Now()))
}

func (s *Server) getEvalSet(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	return s.Evals.Set(app, r.PathValue("set"))
}

func (s *Server) deleteEvalSet(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	return nil, s.Evals.DeleteSet(app, r.PathValue("set"))
}

// listEvalCases answers with the ids of a set's cases.
func (s *Server) listEvalCases(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	set, err := s.Evals.Set(app, r.PathValue("set"))
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, c := range set.Cases {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids, nil
}

func (s *Server) getEvalCase(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	set, err := s.Evals.Set(app, r.PathValue("set"))
	if err != nil {
		return nil, err
	}
	return set.Find(r.PathValue("case"))
}

// createEvalCase adds the case that the body describes.
func (s *Server) createEvalCase(w http.ResponseWriter, r *http.Request, app string) (any, error) {
	doc, err := s.required(w, r)
	if err != nil {
		return nil, err
	}
	made, err := eval.ReadCase(doc)
	if err != nil {
		return nil, err
	}
	return made, s.Evals.Change(app, r.PathValue("set"), func(set *eval.Set) error { return set.Add(made) })
}

// putEvalCase replaces a case. It does not create one.
func (s *Server) putEvalCase(w http.ResponseWriter, r *http.Request, app string) (any, error) {
	doc, err := s.required(w, r)
	if err != nil {
		return nil, err
	}
	edited, err := eval.ReadCase(doc)
	if err != nil {
		return nil, err
	}
	if edited.ID != r.PathValue("case") {
		return nil, &httpError{status: http.StatusBadRequest, message: "The eval id in the body is not that of the path"}
	}
	return nil, s.Evals.Change(app, r.PathValue("set"), func(set *eval.Set) error {
		if _, err := set.Find(edited.ID); err != nil {
			return err
		}
		set.Put(edited)
		return nil
	})
}

func (s *Server) deleteEvalCase(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	return nil, s.Evals.Change(app, r.PathValue("set"), func(set *eval.Set) error { return set.Delete(r.PathValue("case")) })
}

// addSessionToEvalSet creates a case from a session. It replaces a case of the same name: clients ask their users
// first.
func (s *Server) addSessionToEvalSet(w http.ResponseWriter, r *http.Request, app string) (any, error) {
	doc, err := s.required(w, r)
	if err != nil {
		return nil, err
	}
	var id, last string
	key := session.Key{App: app}
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "evalId":
				return in.ID(&id)
			case "sessionId":
				return in.ID(&key.ID)
			case "userId":
				return in.ID(&key.User)
			case "runId":
				return in.ID(&last)
			}
			return in.Skip()
		})
	})
	switch {
	case err != nil:
		return nil, err
	case id == "":
		return nil, wire.Missing("evalId")
	}
	if err := key.Check(); err != nil {
		return nil, err
	}
	if err := s.checkOwner(r, key); err != nil {
		return nil, err
	}
	made, err := s.caseOf(r, key, id, last)
	if err != nil {
		return nil, err
	}
	return nil, s.Evals.Change(app, r.PathValue("set"), func(set *eval.Set) error {
		set.Put(made)
		return nil
	})
}

// caseOf creates a case from a session, or from its turns up to the one that is the run last. It starts with the initial
// state of the session.
func (s *Server) caseOf(r *http.Request, key session.Key, id, last string) (*eval.Case, error) {
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
	if last != "" {
		i := slices.IndexFunc(turns, func(t *eval.Invocation) bool { return t.ID == last })
		if i < 0 {
			return nil, &httpError{status: http.StatusNotFound, message: "Run not found: " + last}
		}
		turns = turns[:i+1]
	}
	return eval.NewCase(id, key.App, key.User, redact.State(found.Initial), turns, time.Now())
}

// evalSession answers with the session of a case that was run, which is not in the session store. It reports whether
// there is one.
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

func (s *Server) evalResults(_ http.ResponseWriter, _ *http.Request, app string) (any, error) {
	return s.Evals.Results(app)
}

// getEvalResult answers with a stored result, or with what "parley eval" writes of it.
func (s *Server) getEvalResult(_ http.ResponseWriter, r *http.Request, app string) (any, error) {
	id, format := r.PathValue("result"), r.URL.Query().Get("format")
	switch format {
	case "":
		doc, err := s.Evals.Result(app, id)
		return json.RawMessage(doc), err
	case "junit", "json":
	default:
		return nil, &httpError{status: http.StatusBadRequest, message: fmt.Sprintf("Invalid format %q: use junit or json", format)}
	}
	result, err := s.Evals.StoredResult(app, id)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(faceHost{s}.BaseURL(r))
	if err != nil {
		return nil, err
	}
	results := []*eval.SetResult{result}
	if format == "junit" {
		return &evalFile{"application/xml", id + ".xml", eval.JUnit(app, results, base)}, nil
	}
	doc, err := eval.JSON(app, results, base)
	return &evalFile{"application/json", id + ".json", doc}, err
}

// evalFile is a response that is a file.
type evalFile struct {
	kind, name string
	doc        []byte
}

func (f *evalFile) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.name}))
	_, _ = w.Write(f.doc) // a client that is gone cannot be told
}

// metricsInfo lists the available metrics.
func (s *Server) metricsInfo(http.ResponseWriter, *http.Request, string) (any, error) {
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
		Judged      bool                `json:"judged,omitempty"`
	}
	list := []info{}
	for _, name := range eval.MetricNames() {
		list = append(list, info{name, eval.Describe(name), map[string]interval{"interval": {MaxValue: 1}}, eval.Judged(name)})
	}
	return map[string]any{"metricsInfo": list}, nil
}

// required returns the body of a request that must have one.
func (s *Server) required(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	doc, err := s.body(w, r)
	if err == nil && doc == nil {
		err = wire.Missing()
	}
	return doc, err
}
