package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// transferTool is the name of the tool with which a model hands over.
const transferTool = agentrt.TransferTool

// transfer is the tool with which the agent's model can hand the conversation
// to another agent, and the instruction about it; nil when there is no
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
	if len(targets) == 0 {
		return nil, ""
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.name
	}
	return handOver(names), l.guide(a, targets)
}

// guide tells the model about the agents that it can hand over to. The words are
// those of the Agent Development Kit, so that agents that were written for it
// behave as they did.
func (l *llm) guide(a *Agent, targets []*Agent) string {
	var b strings.Builder
	b.WriteString("\nYou have a list of other agents to transfer to:\n\n")
	for i, t := range targets {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "\nAgent name: %s\nAgent description: %s\n", t.name, t.description)
	}
	b.WriteString("\n\nIf you are the best to answer the question according to your description, you\ncan answer it.\n\n" +
		"If another agent is better for answering the question according to its\ndescription, call `" + transferTool + "` function to transfer the\n" +
		"question to that agent. When transferring, do not generate any text other than\nthe function call.\n")
	if a.parent != nil && !l.cfg.DisallowTransferToParent {
		b.WriteString("\nYour parent agent is " + a.parent.name + ". If neither the other agents nor\nyou are best for answering the question according to the descriptions, transfer\n" +
			"to your parent agent.\n")
	}
	return b.String()
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
		Description: "Transfer the question to another agent. This tool hands off control to another agent when it is more suitable to answer the user question according to the agent description.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"agentName":{"type":"string","description":"the agent name to transfer to.","enum":[` +
			string(enum) + `]}},"required":["agentName"]}`),
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
		return nil, errors.New("agentName must be one of: " + strings.Join(h, ", "))
	}
	ctx.Actions.TransferToAgent = name
	return json.RawMessage(`{"result":"Transfer queued"}`), nil
}
