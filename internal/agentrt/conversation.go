package agentrt

import (
	"fmt"

	"github.com/parley-run/parley/event"
)

// TransferTool is the name of the tool with which a model hands over to another agent.
const TransferTool = "transfer_to_agent"

// SourceOf says what an event is to the model of an agent.
func SourceOf(ev *event.Event, agent string) string {
	switch answers := len(ev.FunctionResponses()) > 0; {
	case ev.Author == event.User && answers:
		return "answer of the user"
	case ev.Author == event.User:
		return "message of the user"
	case ev.Author != agent:
		return "what agent " + ev.Author + " said and did, as a story"
	case answers:
		return "results of tools"
	}
	return "said by agent " + ev.Author
}

// AsContext returns what another agent said and did as a message of the user; nil if it
// would be empty.
func AsContext(ev *event.Event) *event.Content {
	c := &event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: "For context:"}}}
	for _, p := range ev.Content.Parts {
		switch {
		case p.Thought:
		case p.FunctionCall != nil:
			c.Parts = append(c.Parts, &event.Part{Text: fmt.Sprintf("[%s] called tool `%s` with parameters: %s", ev.Author, p.FunctionCall.Name, p.FunctionCall.Args)})
		case p.FunctionResponse != nil:
			c.Parts = append(c.Parts, &event.Part{Text: fmt.Sprintf("[%s] tool `%s` returned result: %s", ev.Author, p.FunctionResponse.Name, p.FunctionResponse.Response)})
		case p.ExecutableCode != nil:
			c.Parts = append(c.Parts, &event.Part{Text: fmt.Sprintf("[%s] ran code: %s", ev.Author, p.ExecutableCode.Code)})
		case p.CodeExecutionResult != nil:
			c.Parts = append(c.Parts, &event.Part{Text: fmt.Sprintf("[%s] the code returned: %s", ev.Author, p.CodeExecutionResult.Output)})
		case p.IsText():
			c.Parts = append(c.Parts, &event.Part{Text: fmt.Sprintf("[%s] said: %s", ev.Author, p.Text)})
		default:
			c.Parts = append(c.Parts, p)
		}
	}
	if len(c.Parts) == 1 {
		return nil
	}
	return c
}
