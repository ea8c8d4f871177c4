package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

func newTools(env *Env) *cobra.Command {
	return group(env, &cobra.Command{
		Use:   "tools",
		Short: "List the tools of agents, and call one",
		Long: `List the tools of an application's agents, and call one of them without a model, on a
server that runs with the developer UI.`,
		Example: `  parley tools list
  parley tools call get_weather --args '{"city": "Oslo"}'`,
	}, newToolsList(env), newToolsCall(env))
}

// agentTools are the tools of an agent as the server sends them.
type agentTools struct {
	Agent    string        `json:"agent"`
	Tools    []offeredTool `json:"tools"`
	Problems []string      `json:"problems"`
}

type offeredTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Effect      string `json:"effect"`
	LongRunning bool   `json:"longRunning"`
	NeedsLogin  bool   `json:"needsLogin"`
	AsksFirst   bool   `json:"asksFirst"`
}

// reads reports whether a call changes nothing.
func (t *offeredTool) reads() bool { return t.Effect == "pure" }

// effect says what a call does.
func (t *offeredTool) effect() string {
	words := []string{"changes something, at most once"}
	switch {
	case t.reads():
		words[0] = "only reads"
	case t.Effect == "idempotent":
		words[0] = "changes something"
	}
	if t.NeedsLogin {
		words = append(words, "needs a login")
	}
	if t.AsksFirst {
		words = append(words, "asks first")
	}
	if t.LongRunning {
		words = append(words, "has its result later")
	}
	return strings.Join(words, "; ")
}

// toolsCommand completes a command below tools, which needs a server.
func toolsCommand(env *Env, cmd *cobra.Command, do func(ctx context.Context, c *client, args []string) error) *cobra.Command {
	return remoteCommand(env, cmd, func(ctx context.Context, c *client, args []string) error {
		if c.database {
			return &usageError{"tools need a server, which has the agent: give --server"}
		}
		return do(ctx, c, args)
	})
}

// tools returns the parts of the path of the application's tools, or below them.
func (c *client) tools(below ...string) []string {
	return append([]string{"dev", "apps", c.app, "users", c.user, "tools"}, below...)
}

// listTools returns the tools of all agents, and the document that has them.
func (c *client) listTools(ctx context.Context) (agents []agentTools, doc json.RawMessage, err error) {
	if err := c.get(ctx, &doc, c.tools()...); err != nil {
		return nil, nil, err
	}
	return agents, doc, json.Unmarshal(doc, &agents)
}

func newToolsList(env *Env) *cobra.Command {
	var asJSON bool
	cmd := toolsCommand(env, &cobra.Command{
		Use:   "list",
		Short: "List the tools of the agents",
		Long:  "List the tools of all agents of an application, and what a call does. Toolsets are asked\nwith the logins of the user.",
		Args:  takes(0),
	}, func(ctx context.Context, c *client, _ []string) error {
		agents, doc, err := c.listTools(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return env.writeJSON(doc)
		}
		rows := newTable(env, "TOOL", "AGENT", "A CALL", "DESCRIPTION")
		for _, a := range agents {
			for _, t := range a.Tools {
				rows.row(t.Name, a.Agent, t.effect(), cut(t.Description, 60))
			}
			env.warnOf(a)
		}
		return rows.flush()
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// warnOf says which toolsets of an agent have not answered.
func (e *Env) warnOf(a agentTools) {
	for _, problem := range a.Problems {
		fmt.Fprintf(e.Stderr, "%s: %s\n", printable(a.Agent), printable(problem))
	}
}

func newToolsCall(env *Env) *cobra.Command {
	var (
		asJSON, yes          bool
		args, agent, session string
	)
	cmd := toolsCommand(env, &cobra.Command{
		Use:   "call tool",
		Short: "Call one tool of an agent",
		Long: `Call one tool of an agent, without a model and with the logins of the user, and show
its result. What a call does is shown before. If it does not only read, a terminal is asked,
and without one --yes is needed. The exit code is 1 if the call fails.

A call that needs a login or a confirmation waits; the page to answer at is shown. It is made
in a session of its own that is not listed, unless --session names one.`,
		Args: takes(1, "the tool"),
	}, func(ctx context.Context, c *client, names []string) error {
		body := toolCall{Tool: names[0], Session: session}
		if err := json.Unmarshal([]byte(cmp.Or(args, "{}")), &body.Args); err != nil || body.Args == nil {
			return &usageError{`--args must be a JSON object, such as {"city": "Oslo"}`}
		}
		agents, _, err := c.listTools(ctx)
		if err != nil {
			return err
		}
		t, err := body.find(env, agents, agent)
		if err != nil {
			return err
		}
		if !asJSON {
			fmt.Fprintf(env.Stderr, "%s of %s: a call %s.\n", printable(t.Name), printable(body.Agent), t.effect())
		}
		if !t.reads() && !yes {
			if err := env.confirmCall(c, &body, asJSON); err != nil {
				return err
			}
		}
		return c.callTool(ctx, env, &body, asJSON)
	})
	section(cmd, "Call", func(flags *pflag.FlagSet) {
		flags.StringVar(&args, "args", "", "the arguments, a JSON `object`")
		flags.StringVar(&agent, "agent", "", "`name` of the agent, if several have the tool")
		flags.StringVar(&session, "session", "", "`id` of the session in which the call is made")
		flags.BoolVar(&yes, "yes", false, "do not ask")
	})
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// toolCall is the body of a request that calls a tool.
type toolCall struct {
	Agent   string                     `json:"agent"`
	Tool    string                     `json:"tool"`
	Args    map[string]json.RawMessage `json:"args"`
	Session string                     `json:"sessionId,omitempty"`
}

// find finds the tool and its agent.
func (b *toolCall) find(env *Env, agents []agentTools, agent string) (*offeredTool, error) {
	var found *offeredTool
	var owners, all []string
	for _, a := range agents {
		if agent != "" && a.Agent != agent {
			continue
		}
		env.warnOf(a)
		for _, t := range a.Tools {
			all = append(all, t.Name)
			if t.Name == b.Tool {
				found, b.Agent, owners = &t, a.Agent, append(owners, a.Agent)
			}
		}
	}
	slices.Sort(all)
	switch {
	case len(owners) > 1:
		return nil, &usageError{fmt.Sprintf("several agents have the tool %s: give --agent: %s", printable(b.Tool), printable(strings.Join(owners, ", ")))}
	case found != nil:
		return found, nil
	case len(all) == 0:
		return nil, fmt.Errorf("there is no tool %s: no agent%s has tools", printable(b.Tool), map[bool]string{true: " with that name"}[agent != ""])
	}
	return nil, fmt.Errorf("there is no tool %s: there are %s", printable(b.Tool), printable(strings.Join(slices.Compact(all), ", ")))
}

// confirmCall asks whether the call is to be made.
func (e *Env) confirmCall(c *client, b *toolCall, asJSON bool) error {
	if !e.StdinTerminal || asJSON {
		return &usageError{fmt.Sprintf("a call of %s does not only read: give --yes", printable(b.Tool))}
	}
	args, err := json.Marshal(b.Args)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stderr, "Call %s with %s as %s (y/N)? ", printable(b.Tool), printable(string(args)), printable(c.user))
	var answer string
	if _, err := fmt.Fscanln(e.Stdin, &answer); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
		return errors.New("nothing was called")
	}
	return nil
}

// calledTool is what came of a call.
type calledTool struct {
	Run     string          `json:"run"`
	Session string          `json:"sessionId"`
	Status  session.Status  `json:"status"`
	Result  json.RawMessage `json:"result,omitempty"`
	Page    string          `json:"page,omitempty"` // where a call that waits is answered
}

// callTool makes the call, and shows what comes of it.
func (c *client) callTool(ctx context.Context, env *Env, body *toolCall, asJSON bool) error {
	var run runDocument
	if err := c.call(ctx, &run, http.MethodPost, body, c.tools("call")...); err != nil {
		return err
	}
	var lines bytes.Buffer
	f := &follower{client: c, path: c.sessions(run.SessionID, "runs", run.ID, "events"), screen: newScreen(&Env{Stdout: &lines}), stdout: &lines, json: true}
	if err := f.follow(ctx); err != nil {
		return err
	}
	path := c.sessions(run.SessionID, "runs", run.ID)
	if err := c.get(ctx, &run, path...); err != nil {
		return err
	}
	out := calledTool{Run: run.ID, Session: run.SessionID, Status: run.Status}
	var err error
	if run.Status == session.Waiting { // its response says only that it waits
		out.Page = c.page("apps", c.app, "users", c.user, "sessions", run.SessionID)
	} else if out.Result, err = resultIn(lines.Bytes()); err != nil {
		return err
	}
	if asJSON {
		if err := env.writeJSON(out); err != nil {
			return err
		}
	} else if err := showCall(env, &out); err != nil {
		return err
	}
	return failureOf(out.Result)
}

// showCall shows what came of a call.
func showCall(env *Env, out *calledTool) error {
	if out.Page != "" {
		fmt.Fprintf(env.Stdout, "The call waits for an answer. Give it at\n  %s\n", out.Page)
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, out.Result, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(env.Stdout, clean(text.String()))
	return err
}

// page returns the address of a page of the developer UI.
func (c *client) page(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return c.base.JoinPath("ui").JoinPath(parts...).String()
}

// resultIn returns the response to the first call in the events, one on each line.
func resultIn(lines []byte) (json.RawMessage, error) {
	var id string
	result := json.RawMessage("null")
	for line := range bytes.Lines(lines) {
		var ev event.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			return nil, err
		}
		if ev.Content == nil {
			continue
		}
		for _, part := range ev.Content.Parts {
			switch {
			case part.FunctionCall != nil && id == "":
				id = part.FunctionCall.ID
			case part.FunctionResponse != nil && part.FunctionResponse.ID == id:
				result = part.FunctionResponse.Response
			}
		}
	}
	return result, nil
}

// failureOf returns the error that a result tells of.
func failureOf(result json.RawMessage) error {
	var doc map[string]json.RawMessage
	_ = json.Unmarshal(result, &doc) // what is not an object has no members
	text := func(name string) (value string) {
		_ = json.Unmarshal(doc[name], &value) // a member of another type says nothing of a failure
		return value
	}
	problem := text("error")
	if text("status") != "error" && (problem == "" || len(doc) > 1) {
		return nil
	}
	if problem = cmp.Or(problem, text("error_message")); problem == "" {
		return errors.New("the call has failed")
	}
	return fmt.Errorf("the call has failed: %s", printable(problem))
}
