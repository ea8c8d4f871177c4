package e2e

import (
	"encoding/json"
	"errors"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// booking is what the tool book takes.
const booking = `{"type": "object", "required": ["traveller", "class", "stops", "payment"],
	"$defs": {"Stop": {"type": "object", "required": ["city"], "properties": {
		"city": {"type": "string"}, "nights": {"type": "integer", "description": "How many nights"}}}},
	"properties": {
		"traveller": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
		"class": {"type": "string", "enum": ["first", "second"], "description": "Where to sit"},
		"stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}},
		"payment": {"oneOf": [
			{"title": "card", "type": "object", "required": ["kind", "number"], "properties": {"kind": {"const": "card"}, "number": {"type": "string"}}},
			{"title": "invoice", "type": "object", "required": ["kind"], "properties": {"kind": {"const": "invoice"}, "address": {"type": "string"}}}]},
		"insured": {"type": "boolean"},
		"extras": {"type": "object", "description": "Anything else"}}}`

// raw is a tool with a schema of its own.
type raw struct {
	decl tool.Declaration
	call func(ctx *tool.Context, args json.RawMessage) (any, error)
}

func (r raw) Declaration() tool.Declaration { return r.decl }

func (r raw) Call(ctx *tool.Context, args json.RawMessage) (any, error) { return r.call(ctx, args) }

// offline is a toolset that cannot be reached.
type offline struct{}

func (offline) String() string { return "warehouse" }

func (offline) Tools(ctx *tool.Context) ([]tool.Tool, error) {
	if ctx.User == "lost" {
		return nil, errors.New("connection refused")
	}
	return nil, nil
}

// workshop is an agent with tools to be called by themselves, and whose instruction has
// values of the state.
func workshop() *agent.Agent {
	book := raw{tool.Declaration{Name: "book", Description: "Books a journey with several stops.", Parameters: json.RawMessage(booking)}, func(ctx *tool.Context, args json.RawMessage) (any, error) {
		if _, err := ctx.SaveArtifact("ticket.json", &event.Part{InlineData: &event.Blob{MIMEType: "application/json", Data: args}}); err != nil {
			return nil, err
		}
		return map[string]any{"booked": args, "for": ctx.User}, ctx.State.Set("last_booking", args)
	}}
	look := raw{tool.Declaration{Name: "look_up", Description: "Looks up a train.", Effect: tool.Pure, Parameters: json.RawMessage(`{"type": "object", "required": ["train"], "properties": {"train": {"type": "string"}}}`)}, func(_ *tool.Context, args json.RawMessage) (any, error) {
		var in struct{ Train string }
		if err := json.Unmarshal(args, &in); err != nil || in.Train == "ghost" {
			return nil, errors.New("there is no such train")
		}
		return "on time", nil
	}}
	cancel := tool.Confirm(tool.Must(tool.New(tool.Declaration{Name: "cancel_journey", Description: "Cancels a journey."}, func(*tool.Context, struct{}) (string, error) { return "cancelled", nil })), nil)
	return agent.Must(agent.NewLLM(agent.LLMConfig{
		Name: "workshop", Description: "Plans journeys.", Tools: []tool.Tool{book, look, cancel}, Toolsets: []tool.Toolset{offline{}},
		Instruction: "You plan journeys for {user:name?}.\nThe latest topic is {topic?}. Answer briefly.",
		Model:       scripted.Func(scripted.Say("Gladly.")),
	}))
}
