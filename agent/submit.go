package agent

import (
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// submitTool is the name of the tool with which a model answers that cannot have
// both tools and a schema for its answer. Its arguments are the answer.
const submitTool = "set_model_response"

const submitGuide = `To output the final result, you must call the "` + submitTool + `" function with the appropriate values. Do not output anything else.`

// submission declares submitTool, with the schema of the answer.
type submission json.RawMessage

func (s submission) Declaration() tool.Declaration {
	return tool.Declaration{
		Name:        submitTool,
		Description: "Call this tool to submit your final response conforming to the output schema. Use this tool only when you have collected all the information and are ready to return the final answer.",
		Parameters:  json.RawMessage(s),
		Effect:      tool.Pure,
	}
}

// Call is not reached: submitted turns the call into the answer.
func (s submission) Call(ctx *tool.Context, args json.RawMessage) (any, error) {
	ctx.Actions.SkipSummarization = true
	return args, nil
}

// submitted is the answer in a response that calls submitTool; nil if it does
// not. Other calls of the response are not made.
func submitted(c *event.Content) *event.Content {
	if c == nil {
		return nil
	}
	for _, p := range c.Parts {
		if p.FunctionCall != nil && p.FunctionCall.Name == submitTool {
			return event.Text(c.Role, string(p.FunctionCall.Args))
		}
	}
	return nil
}
