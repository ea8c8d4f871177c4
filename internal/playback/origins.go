package playback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/replay"
)

// origin says where a part of a request comes from, as package agent does.
type origin struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Event  string `json:"event,omitempty"`
}

// request returns the request to a model, with the contents that are new in it, as the
// others follow from the log, and where its parts come from. A recording has the
// instruction in one piece, and does not have which of an agent's toolsets a tool is of.
func (t *tracer) request(s *storedStep) (request, origins json.RawMessage) {
	req := s.Step.Request
	if req == nil {
		return nil, nil
	}
	list := []origin{}
	config := map[string]json.RawMessage{}
	_ = json.Unmarshal(req.Config, &config) // there may be none
	if req.Instruction != "" {
		config["systemInstruction"] = wire.Quote(nil, req.Instruction)
		list = append(list, origin{Path: "config.systemInstruction[0]", Origin: "instruction, as agent " + s.Agent + " sent it"})
	}
	if tools, from := t.tools(s); len(tools) > 0 {
		config["tools"] = tools
		list = append(list, from...)
	}
	for i, c := range req.Added {
		from := origin{Path: fmt.Sprintf("contents[%d]", i)}
		if ev := t.madeOf(s, i, c); ev != nil {
			from.Origin, from.Event = agentrt.SourceOf(ev, s.Agent), ev.ID
		}
		list = append(list, from)
	}
	request, err := json.Marshal(struct {
		Model    string                     `json:"model"`
		Contents []json.RawMessage          `json:"contents"`
		Config   map[string]json.RawMessage `json:"config"`
	}{s.Name, req.Added, config})
	if err != nil {
		return nil, nil
	}
	origins, _ = json.Marshal(list) //nolint:errchkjson // it has only texts
	return request, origins
}

// tools returns the tools of a request, each apart, and where they come from.
func (t *tracer) tools(s *storedStep) (doc json.RawMessage, from []origin) {
	var list []json.RawMessage
	if len(s.Step.Request.Tools) == 0 || json.Unmarshal(s.Step.Request.Tools, &list) != nil {
		return nil, nil
	}
	for i, one := range list {
		var named struct{ Name string }
		_ = json.Unmarshal(one, &named) // its origin is that of others
		by := "tool that agent " + s.Agent + " offered"
		switch {
		case named.Name == agentrt.TransferTool:
			by = "transfer of agent " + s.Agent
		case slices.ContainsFunc(t.client, func(d replay.Declaration) bool { return d.Name == named.Name }):
			by = "tool of the client"
		}
		from = append(from, origin{Path: fmt.Sprintf("config.tools[%d]", i), Origin: by})
		list[i] = slices.Concat([]byte(`{"functionDeclarations":[`), one, []byte(`]}`))
	}
	doc, _ = json.Marshal(list) //nolint:errchkjson // these are documents
	return doc, from
}

// madeOf returns the event that a new content of a request is made of; nil if it is not
// known. A content that an event does not have as it is can be what another agent said, or
// have results of tools from several events, of which it is the first.
func (t *tracer) madeOf(s *storedStep, i int, doc json.RawMessage) *event.Event {
	if ev := s.Request.from[i]; ev != nil {
		return ev
	}
	c := &event.Content{}
	if c.UnmarshalJSON(doc) != nil || len(c.Parts) == 0 {
		return nil
	}
	if first := c.Parts[0].FunctionResponse; first != nil {
		return t.last(func(ev *event.Event) bool {
			return slices.ContainsFunc(ev.FunctionResponses(), func(r *event.FunctionResponse) bool {
				return r.Name == first.Name && bytes.Equal(r.Response, first.Response)
			})
		})
	}
	return t.last(func(ev *event.Event) bool {
		if ev.Author == event.User || ev.Author == s.Agent || ev.Content == nil {
			return false
		}
		told := agentrt.AsContext(ev)
		return told != nil && slices.EqualFunc(told.Parts, c.Parts, func(a, b *event.Part) bool { return a.IsText() && b.IsText() && a.Text == b.Text })
	})
}

// last returns the last event of the run for which is holds; nil if there is none.
func (t *tracer) last(is func(*event.Event) bool) *event.Event {
	for _, ev := range slices.Backward(t.of.events) {
		if is(ev) {
			return ev
		}
	}
	if is(t.of.message) {
		return t.of.message
	}
	return nil
}
