package agent

import (
	"encoding/json"
	"log/slog"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

const globalInstruction = "global_instruction"

// GlobalInstruction returns a plugin that puts a text before the instruction of
// every agent. {key} in it is replaced as in an instruction.
func GlobalInstruction(text string) *Plugin {
	t := parseTemplate(text)
	return GlobalInstructionFunc(func(ctx *tool.Context) (string, error) {
		return t.render(FromTool(ctx).inv.Log, scope{}, func(name string) (string, bool, error) { return artifactText(ctx, name) })
	})
}

// GlobalInstructionFunc is GlobalInstruction with a function that is called for
// every model call.
func GlobalInstructionFunc(text func(ctx *tool.Context) (string, error)) *Plugin {
	return &Plugin{Name: globalInstruction, BeforeModel: func(ctx *tool.Context, req *model.Request) (*model.Response, error) {
		added, err := text(ctx)
		if err != nil || added == "" {
			return nil, err
		}
		req.Instruction = joinInstructions(added, req.Instruction)
		return nil, nil
	}}
}

// Logging returns a plugin that logs which agents run, the tokens that models
// use, and the tools that are called. It does not log the conversation.
func Logging(log *slog.Logger) *Plugin {
	with := func(ctx *tool.Context) *slog.Logger {
		return log.With("run_id", ctx.InvocationID, "session_id", ctx.Session, "agent", ctx.Agent)
	}
	return &Plugin{
		Name: "logging",
		BeforeRun: func(ctx *tool.Context) (*event.Content, error) {
			with(ctx).Info("run begins")
			return nil, nil
		},
		AfterRun: func(ctx *tool.Context) error {
			with(ctx).Info("run ends")
			return nil
		},
		BeforeAgent: func(ctx *tool.Context) (*event.Content, error) {
			with(ctx).Info("agent begins")
			return nil, nil
		},
		AfterAgent: func(ctx *tool.Context) (*event.Content, error) {
			with(ctx).Info("agent ends")
			return nil, nil
		},
		BeforeModel: func(ctx *tool.Context, req *model.Request) (*model.Response, error) {
			with(ctx).Info("model is asked", "tools", len(req.Tools), "contents", len(req.Contents()))
			return nil, nil
		},
		AfterModel: func(ctx *tool.Context, resp *model.Response) (*model.Response, error) {
			if resp.Partial {
				return nil, nil
			}
			l := with(ctx)
			if resp.Usage != nil {
				l = l.With("tokens", resp.Usage.Total)
			}
			if resp.ErrorCode != "" {
				l = l.With("error_code", resp.ErrorCode)
			}
			l.Info("model has answered", "finish_reason", resp.FinishReason)
			return nil, nil
		},
		OnModelError: func(ctx *tool.Context, _ *model.Request, err error) (*model.Response, error) {
			with(ctx).Error("model has failed", "err", err)
			return nil, nil
		},
		BeforeTool: func(ctx *tool.Context, call *Call) (any, error) {
			with(ctx).Info("tool is called", "tool", call.Tool.Declaration().Name, "call_id", ctx.FunctionCallID)
			return nil, nil
		},
		AfterTool: func(ctx *tool.Context, call *Call, result json.RawMessage) (any, error) {
			with(ctx).Info("tool has answered", "tool", call.Tool.Declaration().Name, "call_id", ctx.FunctionCallID, "bytes", len(result))
			return nil, nil
		},
		OnToolError: func(ctx *tool.Context, call *Call, err error) (any, error) {
			with(ctx).Error("tool has failed", "tool", call.Tool.Declaration().Name, "call_id", ctx.FunctionCallID, "err", agentrt.ScrubText(FromTool(ctx).inv.Secrets, err.Error()))
			return nil, nil
		},
	}
}
