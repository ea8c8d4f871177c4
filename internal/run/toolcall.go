package run

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/memory"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// maxListing is how long toolsets may take to list their tools.
const maxListing = 10 * time.Second

// ToolSessions is the prefix of the ids of sessions that were created for calls of
// single tools. They are hidden; see session.Key.
const ToolSessions = "___tool___session___"

// toolSessionTTL is how long such a session is kept after its last change.
const toolSessionTTL = 24 * time.Hour

// checkCall refuses a call that cannot be made.
func checkCall(root *agent.Agent, c *agentrt.ToolCall) error {
	a := root.Find(c.Agent)
	if a == nil || a.Kind() != agentrt.KindLLM {
		return &wire.Error{Type: "value_error", Path: []any{"agent"}, Msg: fmt.Sprintf("The application has no agent %q with tools", c.Agent)}
	}
	if c.Tool == "" || agentrt.IsReserved(c.Tool) {
		return &wire.Error{Type: "value_error", Path: []any{"tool"}, Msg: fmt.Sprintf("%q is not the name of a tool", c.Tool)}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(c.Args, &object) != nil || object == nil {
		return &wire.Error{Type: "value_error", Path: []any{"args"}, Msg: "The arguments must be a JSON object"}
	}
	return nil
}

// CallTool starts a run that calls a tool of an agent. Without the id of a session it
// creates a hidden one. The errors are those of Start.
func (e *Engine) CallTool(ctx context.Context, req Request) (*Run, error) {
	req.Message = event.Text(event.RoleUser, "Call of the tool "+req.Call.Tool)
	if req.Key.ID == "" {
		root, err := e.cfg.Agent(req.Key.App)
		if err == nil {
			err = checkCall(root, req.Call)
		}
		if err != nil {
			return nil, err
		}
		req.Key.ID = ToolSessions + ident.Session()
		if _, err := e.Create(ctx, session.NewSession{Key: req.Key, State: req.StateDelta, TTL: toolSessionTTL}, nil); err != nil {
			return nil, err
		}
		req.StateDelta = nil
	}
	return e.Start(ctx, req)
}

// Tools lists the tools that the agents of an application have for a user. Toolsets
// are asked, but only for some seconds.
func (e *Engine) Tools(ctx context.Context, app, user string) ([]agentrt.Offer, error) {
	root, err := e.cfg.Agent(app)
	if err != nil {
		return nil, err
	}
	key := session.Key{App: app, User: user}
	inv := &agentrt.Invocation{
		App: app, User: user, UserContent: &event.Content{Role: event.RoleUser}, Log: agentrt.NewPrivateLog(nil, nil),
		Models: e.cfg.Models, Memory: &memory.Session{Sessions: e.cfg.Store.Sessions, Memories: e.cfg.Store.Memories, Key: key},
	}
	if creds := e.credentials(key); creds != nil {
		inv.Credentials, inv.Secrets = creds, creds
	}
	ctx, cancel := context.WithTimeout(ctx, maxListing)
	defer cancel()
	return inv.Offers(ctx, root), nil
}
