package agent

import (
	"fmt"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Planner makes a model plan before it acts.
type Planner interface {
	// Instruct returns a text that is added to the instruction.
	Instruct(ctx *tool.Context, req *model.Request) (string, error)
	// Read separates the plan from the answer in a complete response: it
	// returns the parts with the plan marked as thoughts. nil leaves them
	// unchanged.
	Read(ctx *tool.Context, parts []*event.Part) ([]*event.Part, error)
}

// PlanReAct returns a planner for models that do not think by themselves: the
// model writes a plan, acts on it, comments on the results, plans again if
// necessary, and marks its final answer.
func PlanReAct() Planner { return planReAct{} }

const (
	planTag   = "/*PLANNING*/"
	replanTag = "/*REPLANNING*/"
	reasonTag = "/*REASONING*/"
	actionTag = "/*ACTION*/"
	finalTag  = "/*FINAL_ANSWER*/"
)

type planReAct struct{}

func (planReAct) Instruct(*tool.Context, *model.Request) (string, error) {
	return "Answer in these steps, and write the tag of each before it:\n" +
		planTag + " First write a numbered plan that covers everything that was asked, with steps that your tools can do.\n" +
		actionTag + " Then carry it out with your tools. Use nothing but what the tools, the conversation and these instructions give you.\n" +
		reasonTag + " Between calls say in a sentence or two what the results mean, and what comes next.\n" +
		replanTag + " If the plan does not work out, write a new one for what is left.\n" +
		finalTag + " At the end give the answer by itself, exact and complete, in the form that was asked for. If you cannot answer, say why and ask for what is missing.", nil
}

func (planReAct) Read(_ *tool.Context, parts []*event.Part) ([]*event.Part, error) {
	var out []*event.Part
	for _, p := range parts {
		if !p.IsText() || p.Thought {
			out = append(out, p)
			continue
		}
		before, after, final := cutLast(p.Text, finalTag)
		switch {
		case final:
			if strings.TrimSpace(before) != "" {
				out = append(out, &event.Part{Text: before, Thought: true})
			}
			if after = strings.TrimSpace(after); after != "" {
				out = append(out, &event.Part{Text: after})
			}
		case startsWith(p.Text, planTag, replanTag, reasonTag, actionTag):
			thought := *p
			thought.Thought = true
			out = append(out, &thought)
		default:
			out = append(out, p)
		}
	}
	return out, nil
}

func cutLast(text, tag string) (before, after string, found bool) {
	i := strings.LastIndex(text, tag)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(tag):], true
}

func startsWith(text string, tags ...string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range tags {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return false
}

// plan lets the planner add to a request.
func (l *llm) plan(ctx *Context, req *model.Request) (err error) {
	if l.cfg.Planner == nil {
		return nil
	}
	defer agentrt.Recover(&err, "planner of agent", ctx.agent.name)
	text, err := l.cfg.Planner.Instruct(ctx.toolContext(&event.Actions{}), req)
	if err != nil {
		return fmt.Errorf("planner of agent %s: %w", ctx.agent.name, err)
	}
	req.Instruction = joinInstructions(req.Instruction, text)
	return nil
}

// readPlan lets the planner look at a complete answer.
func (l *llm) readPlan(ctx *Context, resp *model.Response, actions *event.Actions) (_ *model.Response, err error) {
	if l.cfg.Planner == nil || resp.Partial || resp.Content == nil {
		return resp, nil
	}
	defer agentrt.Recover(&err, "planner of agent", ctx.agent.name)
	parts, err := l.cfg.Planner.Read(ctx.toolContext(actions), resp.Content.Parts)
	if err != nil {
		return nil, fmt.Errorf("planner of agent %s: %w", ctx.agent.name, err)
	}
	if parts == nil {
		return resp, nil
	}
	read := *resp
	read.Content = &event.Content{Role: resp.Content.Role, Parts: parts}
	return &read, nil
}

// joinInstructions is the one text and then the other.
func joinInstructions(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "\n\n" + second
}
