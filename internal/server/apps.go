package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strconv"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

type appSummary struct {
	Name          string `json:"name"`
	RootAgentName string `json:"rootAgentName"`
	Description   string `json:"description"`
	Language      string `json:"language"`
}

func (s *Server) summary(app string, root *agent.Agent) appSummary {
	out := appSummary{Name: app, Language: s.Apps.Language(app)}
	if root != nil {
		out.RootAgentName, out.Description = root.Name(), root.Description()
	}
	return out
}

func (s *Server) listApps(w http.ResponseWriter, r *http.Request) error {
	if detailed, _ := strconv.ParseBool(r.URL.Query().Get("detailed")); !detailed {
		return answer(w, append([]string{}, s.Apps.Names()...))
	}
	type detail struct {
		appSummary
		IsComputerUse bool   `json:"isComputerUse"`
		Error         string `json:"error,omitempty"`
		ReloadError   string `json:"reloadError,omitempty"`
	}
	developer := callerOf(r).May(access.Dev)
	apps := []detail{}
	for _, name := range s.Apps.Names() {
		root, err := s.Apps.Agent(name)
		one := detail{appSummary: s.summary(name, root)}
		if broken, ok := errors.AsType[*run.AppError](err); ok && developer {
			one.Error = broken.Cause.Error()
		}
		if err := s.Apps.ReloadError(name); err != nil && developer {
			one.ReloadError = err.Error()
		}
		apps = append(apps, one)
	}
	return answer(w, map[string]any{"apps": apps})
}

// hasApp reports whether an application of that name exists, even if it fails to load.
func (s *Server) hasApp(app string) bool { return slices.Contains(s.Apps.Names(), app) }

// reachable refuses requests about an application that does not exist. Sessions of a removed application, and what
// belongs to them, can still be read and deleted. A key without an id stands for the user.
func (s *Server) reachable(ctx context.Context, key session.Key) error {
	if s.hasApp(key.App) {
		return nil
	}
	var left int
	if key.ID == "" {
		list, _, err := s.Store.List(ctx, key.App, key.User, session.Page{Size: 1})
		if err != nil {
			return err
		}
		left = len(list)
	} else if _, err := s.Store.Get(ctx, key, session.Read{NoEvents: true}); err == nil {
		left = 1
	} else if !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if left == 0 {
		return about(key, run.ErrUnknownApp)
	}
	return nil
}

type agentInfo struct {
	Kind        string        `json:"kind"`
	Description string        `json:"description"`
	Model       string        `json:"model,omitempty"`
	Instruction string        `json:"instruction,omitempty"`
	Tools       []toolInfo    `json:"tools"`
	SubAgents   []string      `json:"subAgents"`
	Workflow    *workflowInfo `json:"workflow,omitempty"`
}

type toolInfo struct {
	FunctionDeclarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Effect      tool.Effect     `json:"effect,omitempty"`
}

func (s *Server) appInfo(w http.ResponseWriter, r *http.Request) error {
	app := r.PathValue("app")
	if err := session.CheckIdentifier("application name", app); err != nil {
		return err
	}
	root, err := s.Apps.Agent(app)
	if err != nil {
		return err
	}
	agents := map[string]agentInfo{}
	describe(root, agents)
	return answer(w, struct {
		appSummary
		Agents map[string]agentInfo `json:"agents"`
	}{s.summary(app, root), agents})
}

func describe(a *agent.Agent, into map[string]agentInfo) {
	one := agentInfo{Kind: a.Kind(), Description: a.Description(), Tools: []toolInfo{}, SubAgents: []string{}}
	if info, ok := agentrt.InfoOf(a); ok {
		one.Model, one.Instruction = info.Model, info.Instruction
		if len(info.Tools) > 0 {
			var tools toolInfo
			for _, t := range info.Tools {
				tools.FunctionDeclarations = append(tools.FunctionDeclarations, declaration{t.Name, t.Description, t.Parameters, t.Effect})
			}
			one.Tools = append(one.Tools, tools)
		}
	}
	for _, sub := range a.SubAgents() {
		one.SubAgents = append(one.SubAgents, sub.Name())
		describe(sub, into)
	}
	if a.Kind() == agentrt.KindWorkflow {
		one.Workflow = describeWorkflow(a)
	}
	into[a.Name()] = one
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, map[string]string{"status": "ok"})
}

// ready reports whether the server accepts new runs. A load balancer that asks stops sending requests before they are
// refused.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	err := s.Engine.Ready(r.Context())
	if partial, ok := errors.AsType[*session.PartialError](err); ok { // the users of the others can be served
		return answer(w, map[string]any{"status": "ok", "unavailable": partial.Names})
	}
	switch {
	case errors.Is(err, run.ErrClosing):
		return &httpError{status: http.StatusServiceUnavailable, message: "The server is shutting down"}
	case err != nil: // the log already has the reason
		return &httpError{status: http.StatusServiceUnavailable, message: "The session database cannot be written to"}
	}
	return s.health(w, r)
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, map[string]string{"version": s.Version, "language": "go", "language_version": runtime.Version()[len("go"):]})
}

func answer(w http.ResponseWriter, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, body)
	return nil
}
