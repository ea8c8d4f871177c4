package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/tool"
)

// maxTools limits the tools of a server, whose list may not end.
const maxTools = 10_000

// list returns the tools of a session, and lists them first if necessary.
func (s *Toolset) list(ctx context.Context, key string, headers http.Header) ([]tool.Tool, error) {
	l, err := s.acquire(ctx, key, headers)
	if err != nil {
		return nil, err
	}
	defer l.release()
	s.mu.Lock()
	tools := l.tools
	s.mu.Unlock()
	if tools != nil && !l.stale.Load() {
		return tools, nil
	}
	l.stale.Store(false) // before, so that no change is lost
	ctx, cancel := l.within(ctx, s.cfg.ConnectTimeout)
	defer cancel()
	tools = []tool.Tool{}
	seen := map[string]bool{}
	for remote, err := range l.session.Tools(ctx, nil) {
		if err == nil && len(tools) == maxTools {
			err = fmt.Errorf("there are more than %d", maxTools)
		}
		if err != nil {
			l.stale.Store(true)
			if large := l.large.Load(); large != nil {
				err = large
			}
			if l.lost(err) {
				l.drop()
			}
			return nil, fmt.Errorf("they cannot be listed: %w", plainURL(err))
		}
		if s.cfg.Filter != nil && !s.cfg.Filter(remote.Name) {
			continue
		}
		one, err := s.tool(remote)
		if err != nil {
			s.log.Warn("a tool is left out", "tool", remote.Name, "err", err)
			continue
		}
		if name := one.Declaration().Name; seen[name] {
			s.log.Warn("a tool is left out: another one has its name", "tool", remote.Name)
			continue
		}
		seen[one.Declaration().Name] = true
		tools = append(tools, one)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.tools, s.known[key] = tools, tools
	return tools, nil
}

// remote is a tool of the server.
type remote struct {
	set  *Toolset
	name string // as the server has it
	decl tool.Declaration
}

// unfit matches the characters that models do not accept in the name of a function.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]`)

const maxName = 64

func (s *Toolset) tool(t *sdk.Tool) (tool.Tool, error) {
	name := unfit.ReplaceAllString(t.Name, "_")
	if s.cfg.Prefix != "" {
		name = s.cfg.Prefix + "_" + name
	}
	if t.Name == "" || len(name) > maxName {
		return nil, fmt.Errorf("its name should have 1 to %d characters", maxName)
	}
	params, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	var schema map[string]json.RawMessage
	if json.Unmarshal(params, &schema) != nil || schema == nil {
		schema = map[string]json.RawMessage{}
	}
	if schema["type"] == nil {
		schema["type"] = json.RawMessage(`"object"`)
		if params, err = json.Marshal(schema); err != nil {
			return nil, err
		}
	}
	var one tool.Tool = &remote{s, t.Name, tool.Declaration{
		Name: name, Description: cmp.Or(t.Description, t.Title), Parameters: params, Effect: effectOf(t.Annotations),
	}}
	if s.cfg.Confirm || s.cfg.ConfirmWhen != nil {
		one = tool.Confirm(one, s.cfg.ConfirmWhen)
	}
	return one, nil
}

// effectOf returns the effect that the server declares.
func effectOf(hints *sdk.ToolAnnotations) tool.Effect {
	switch {
	case hints == nil:
		return tool.Once
	case hints.ReadOnlyHint:
		return tool.Pure
	case hints.IdempotentHint:
		return tool.Idempotent
	}
	return tool.Once
}

func (r *remote) Declaration() tool.Declaration { return r.decl }

func (r *remote) Call(ctx *tool.Context, args json.RawMessage) (any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	key, headers, err := r.set.headers(ctx)
	if err != nil {
		return nil, err
	}
	result, again, err := r.once(ctx, key, headers, args)
	if again {
		result, _, err = r.once(ctx, key, headers, args)
	}
	if err != nil {
		return nil, err
	}
	return resultOf(ctx, result)
}

// once makes the call. again means that it failed and may be repeated.
func (r *remote) once(ctx context.Context, key string, headers http.Header, args json.RawMessage) (_ *sdk.CallToolResult, again bool, err error) {
	name := r.set.cfg.name()
	l, err := r.set.acquire(ctx, key, headers)
	if err != nil {
		return nil, false, fmt.Errorf("the server %s: %w", name, err)
	}
	defer l.release()
	limited, cancel := l.within(ctx, r.set.cfg.CallTimeout)
	defer cancel()
	var d delivery
	limited = context.WithValue(limited, deliveryKey{}, &d)
	result, err := l.session.CallTool(limited, &sdk.CallToolParams{Name: r.name, Arguments: args})
	if err == nil {
		return result, false, nil
	}
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if limited.Err() != nil && l.life.Err() == nil {
		return nil, false, fmt.Errorf("the server %s did not answer in %s; the call may or may not have taken effect", name, r.set.cfg.CallTimeout)
	}
	if answered, ok := errors.AsType[*jsonrpc.Error](err); ok && !l.lost(err) {
		return nil, false, fmt.Errorf("the server %s refuses the call: %s", name, answered.Message)
	}
	l.drop()
	if large := l.large.Load(); large != nil {
		return nil, false, fmt.Errorf("the server %s: %w: ask for less", name, large)
	}
	neverMade := r.set.cfg.Stdio == nil && (!d.sent.Load() || d.refused.Load())
	if neverMade || r.decl.Effect.Repeatable() {
		return nil, true, fmt.Errorf("the server %s: %w", name, plainURL(err))
	}
	return nil, false, fmt.Errorf("the server %s was lost during the call, which may or may not have taken effect", name)
}
