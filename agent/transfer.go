package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// transferTool is the name of the tool with which a model hands over.
const transferTool = "transfer_to_agent"

// transfer is the tool with which the agent's model can hand the conversation
// to another agent, and what the model is told about it; nil when there is no
// other. Targets are the agent's children, its parent, and its parent's other
// children, as far as the parent is driven by a model too.
func (l *llm) transfer(a *Agent) (tool.Tool, string) {
	targets := slices.Clone(a.subAgents)
	if p := a.parent; p != nil && p.llm != nil {
		if !l.cfg.DisallowTransferToParent {
			targets = append(targets, p)
		}
		if !l.cfg.DisallowTransferToPeers {
			for _, peer := range p.subAgents {
				if peer != a {
					targets = append(targets, peer)
				}
			}
		}
	}
	if l.cfg.OutputSchema != nil || len(targets) == 0 {
		return nil, ""
	}
	var guide strings.Builder
	guide.WriteString("Other agents can take over this conversation:\n")
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.name
		fmt.Fprintf(&guide, "- %s: %s\n", t.name, t.description)
	}
	fmt.Fprintf(&guide, "If one of them is better suited to answer than you are, call %s with its name and say nothing else.", transferTool)
	return handOver(names), guide.String()
}

// handOver is the transfer tool, for the agents with these names.
type handOver []string

func (h handOver) Declaration() tool.Declaration {
	var enum []byte
	for _, name := range h {
		enum = append(wire.Quote(enum, name), ',')
	}
	enum = bytes.TrimSuffix(enum, []byte(","))
	return tool.Declaration{
		Name:        transferTool,
		Description: "Hands the conversation over to another agent.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"agent_name":{"type":"string","description":"The name of the agent.","enum":[` +
			string(enum) + `]}},"required":["agent_name"]}`),
		Effect: tool.Pure,
	}
}

func (h handOver) Call(ctx *tool.Context, args json.RawMessage) (any, error) {
	var name string
	err := wire.Decode(args, func(r *wire.Reader) error {
		return r.Object(func(member string) error {
			if member == "agentName" {
				return r.String(&name)
			}
			return r.Skip()
		})
	})
	if err != nil || !slices.Contains(h, name) {
		return nil, errors.New("agent_name must be one of: " + strings.Join(h, ", "))
	}
	ctx.Actions.TransferToAgent = name
	return json.RawMessage(`{"status":"success"}`), nil
}
