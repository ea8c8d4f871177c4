package agent

import (
	"encoding/json"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// place says who makes a call of a model or a tool.
func (c *Context) place() agentrt.Place {
	return agentrt.Place{Agent: c.agent.name, Branch: c.branch, Direct: c.inv.direct}
}

// callTool calls a tool, through the edges of the run if it has some.
func (c *Context) callTool(tc *tool.Context, t tool.Tool, args json.RawMessage) (any, error) {
	if e := c.inv.Edges; e != nil && !staysInside(t) {
		return e.Call(tc, c.place(), t, args)
	}
	return t.Call(tc, args)
}

// staysInside reports whether a tool does nothing outside of the run, except through
// calls of its own.
func staysInside(t tool.Tool) bool {
	switch t.(type) {
	case agentTool, handOver, submission, *finish, clientTool:
		return true
	}
	return false
}
