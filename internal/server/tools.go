package server

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// agentTools are the tools of an agent.
type agentTools struct {
	Agent string `json:"agent"`
	// Tools are those of the agent and of its toolsets.
	Tools []callable `json:"tools"`
	// Problems are why toolsets have not listed their tools.
	Problems []string `json:"problems,omitempty"`
}

// callable is a tool that can be called by itself.
type callable struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Effect      tool.Effect     `json:"effect"`
	LongRunning bool            `json:"longRunning,omitempty"`
	NeedsLogin  bool            `json:"needsLogin,omitempty"`
	AsksFirst   bool            `json:"asksFirst,omitempty"`
	Toolset     string          `json:"toolset,omitempty"`
}

// listTools lists the tools of an application's agents, as they are for a user.
func (s *Server) listTools(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	offers, err := s.Engine.Tools(r.Context(), owner.App, owner.User)
	if err != nil {
		return about(owner, err)
	}
	list := make([]agentTools, len(offers))
	for i, offer := range offers {
		list[i] = agentTools{Agent: offer.Agent, Tools: []callable{}, Problems: offer.Problems}
		for _, t := range offer.Tools {
			list[i].Tools = append(list[i].Tools, callable{
				Name: t.Name, Description: t.Description, Parameters: t.Parameters, Effect: cmp.Or(t.Effect, tool.Once),
				LongRunning: t.LongRunning, NeedsLogin: t.NeedsLogin, AsksFirst: t.AsksFirst, Toolset: t.Toolset,
			})
		}
	}
	return answer(w, list)
}

// callTool calls a tool of an agent, and asks no model. It answers as startRun does: the call is a run of the session
// that the body names, or of a hidden one.
func (s *Server) callTool(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := key.CheckOwner(); err != nil {
		return err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return err
	}
	req := &runRequest{Request: run.Request{Key: key, Call: &agentrt.ToolCall{Args: json.RawMessage("{}")}}}
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "agent":
				return in.ID(&req.Call.Agent)
			case "tool":
				return in.ID(&req.Call.Tool)
			case "args":
				return in.RawObject(&req.Call.Args)
			case "sessionId":
				return in.ID(&req.Key.ID)
			case "state":
				return in.RawMap(&req.StateDelta)
			}
			return in.Skip()
		})
	})
	if err == nil && req.Key.ID != "" {
		err = req.Key.Check()
	}
	if err == nil {
		err = noNulls(req.StateDelta, "state")
	}
	if err == nil {
		err = checkSharedState(r, req.StateDelta)
	}
	if err != nil {
		return err
	}
	if c := callerOf(r); c != nil {
		req.Caller = c.ID
	}
	started, err := s.Engine.CallTool(r.Context(), req.Request)
	if err != nil {
		return about(req.Key, err)
	}
	w.Header().Set(runHeader, started.ID())
	return s.accepted(w, r, started)
}
