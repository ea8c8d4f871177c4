package agent

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// LoadMemory returns a tool with which a model searches earlier sessions of the
// user.
func LoadMemory() tool.Tool { return loadMemory{} }

type loadMemory struct{}

func (loadMemory) Declaration() tool.Declaration {
	return tool.Declaration{
		Name: "load_memory", Description: "Searches what was said in earlier conversations with the user.", Effect: tool.Pure,
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
	}
}

// Request explains the tool.
func (loadMemory) Request(_ *tool.Context, req *model.Request) error {
	instruct(req, "You have a memory of earlier conversations. To answer a question that needs something from there, call load_memory with a query.")
	return nil
}

func (loadMemory) Call(tc *tool.Context, args json.RawMessage) (any, error) {
	var in struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	found, err := tc.SearchMemory(in.Query)
	if err != nil {
		return nil, err
	}
	memories := make([]any, 0, len(found))
	for _, one := range found {
		memories = append(memories, map[string]any{
			"content": one.Content, "author": one.Author, "timestamp": one.Time.UTC().Format(time.RFC3339),
		})
	}
	return map[string]any{"memories": memories}, nil
}

// PreloadMemory returns a tool that the model does not see: before each model
// call it adds to the instruction what earlier sessions contain about the
// user's message.
func PreloadMemory() tool.Tool { return preloadMemory{} }

type preloadMemory struct{}

func (preloadMemory) silent() {}

func (preloadMemory) Declaration() tool.Declaration { return tool.Declaration{Name: "preload_memory"} }

func (preloadMemory) Call(*tool.Context, json.RawMessage) (any, error) {
	return "The memory has been loaded already.", nil
}

// Request adds what is remembered about the message.
func (preloadMemory) Request(tc *tool.Context, req *model.Request) error {
	found, err := tc.SearchMemory(tc.UserContent.Text())
	if err != nil || len(found) == 0 {
		return err
	}
	var b strings.Builder
	b.WriteString("These parts of earlier conversations with the user may have to do with the question. Use them only if they have.\n<PAST_CONVERSATIONS>\n")
	for _, one := range found {
		b.WriteString("Time: " + one.Time.UTC().Format(time.RFC3339) + "\n")
		b.WriteString(whoSaid(one.Author) + ": " + one.Content.Text() + "\n")
	}
	b.WriteString("</PAST_CONVERSATIONS>")
	instruct(req, b.String())
	return nil
}

func whoSaid(author string) string {
	if author == "" {
		return event.User
	}
	return author
}
