package e2e

import (
	"errors"
	"strings"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
)

// press is a workflow with all that can be drawn. A message such as "print, gate
// g" makes two nodes wait for a gate: plan for g-plan, and publish, in its second
// attempt, for g-publish. With "fail", publish fails in all attempts.
func (s *stage) press() *agent.Agent {
	pass := func(name string) *workflow.Node {
		return workflow.Func(name, func(_ *workflow.Context, in any) (any, error) { return in, nil }, workflow.NodeConfig{})
	}
	plan := workflow.Func("plan", func(ctx *workflow.Context, text string) ([]string, error) {
		return []string{"intro", "body", "end"}, s.pass(ctx, text, "-plan")
	}, workflow.NodeConfig{})
	publish := workflow.Func("publish", func(ctx *workflow.Context, _ any) (string, error) {
		text := ctx.UserContent.Text()
		if ctx.Attempt() == 1 || strings.Contains(text, "fail") {
			return "", errors.New("the paper is jammed")
		}
		ctx.SetRoute("good")
		return "printed", s.pass(ctx, text, "-publish")
	}, workflow.NodeConfig{Retry: &workflow.Retry{MaxAttempts: 3, InitialDelay: time.Millisecond}})
	review := agent.Must(workflow.New(workflow.Config{
		Name: "review", Description: "Looks at it twice.", Edges: workflow.Chain(workflow.Start, pass("spelling"), pass("style")),
	}))
	return agent.Must(workflow.New(workflow.Config{
		Name: "press", Description: "Prints a page.",
		Edges: workflow.Chain(
			workflow.Start, plan, workflow.Fan{workflow.ParallelWorker(pass("write"), 0), workflow.Agent(review, workflow.NodeConfig{})},
			workflow.Join("both"), publish, workflow.Routes{"good": pass("archive"), workflow.DefaultRoute: pass("discard")},
		),
	}))
}

// pass waits for the gate that a text names, if it names one.
func (s *stage) pass(ctx *workflow.Context, text, suffix string) error {
	_, name, gated := strings.Cut(text, "gate ")
	if !gated {
		return nil
	}
	select {
	case <-s.gate(strings.TrimSpace(name) + suffix):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// coder writes code and what came of it, as models with code execution do.
func coder() *agent.Agent {
	return agent.Must(agent.New(agent.Config{Name: "coder", Description: "Computes."}, func(ctx *agent.Context, emit agent.Emit) error {
		outcome, output := "OUTCOME_OK", "12\n"
		if strings.Contains(ctx.UserContent().Text(), "fail") {
			outcome, output = "OUTCOME_FAILED", "ZeroDivisionError: division by zero"
		}
		return emit(&event.Event{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
			{Text: "I compute it."},
			{ExecutableCode: &event.ExecutableCode{Language: "PYTHON", Code: "x = 3\nprint(x * 4)\n"}},
			{CodeExecutionResult: &event.CodeExecutionResult{Outcome: outcome, Output: output}},
			{Text: "That is all."},
		}}})
	}))
}
