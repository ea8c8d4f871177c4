package openai

import (
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// request is the body of a request for a response, or for a chat completion.
type request struct {
	model, user, previous, session, instructions string

	items              []*item
	tools              []tool.Declaration
	stream, background bool
	noStore, usage     bool
	echo               echo
}

// echo has the members of a request that its response repeats, by their names.
type echo map[string]json.RawMessage

// echoed are the members of a request that its response repeats: the kinds of values
// that they may have, and what the response has without them. The order is that of the
// response.
var echoed = []struct{ name, kinds, otherwise string }{
	{"previous_response_id", `"`, "null"},
	{"instructions", `"[`, "null"},
	{"tools", "[", "[]"},
	{"tool_choice", `"{`, `"auto"`},
	{"truncation", `"`, `"disabled"`},
	{"parallel_tool_calls", "tf", "true"},
	{"text", "{", `{"format":{"type":"text"}}`},
	{"top_p", "0", "1"},
	{"presence_penalty", "0", "0"},
	{"frequency_penalty", "0", "0"},
	{"top_logprobs", "0", "0"},
	{"temperature", "0", "1"},
	{"reasoning", "{", "null"},
	{"user", `"`, "null"},
	{"max_output_tokens", "0", "null"},
	{"max_tool_calls", "0", "null"},
	{"store", "tf", "true"},
	{"background", "tf", "false"},
	{"service_tier", `"`, `"default"`},
	{"metadata", "{", "{}"},
	{"safety_identifier", `"`, "null"},
	{"prompt_cache_key", `"`, "null"},
}

// camel has the indices of echoed by the names as package wire folds them.
var camel = func() map[string]int {
	m := map[string]int{}
	for i, e := range echoed {
		m[wire.Camel(e.name)] = i
	}
	return m
}()

// repeat keeps a member for the response, and skips those that it does not have.
func (in *request) repeat(r *wire.Reader, name string) error {
	i, ok := camel[name]
	if !ok {
		return r.Skip()
	}
	e := echoed[i]
	if !strings.ContainsRune(e.kinds, rune(r.Kind())) {
		return r.Errorf("value_error", "The type of %s is wrong", e.name)
	}
	var doc json.RawMessage
	if err := r.Raw(&doc); err != nil {
		return err
	}
	in.echo[e.name] = doc
	return nil
}

// into decodes a member that was repeated; nothing if it was not there.
func (e echo) into(name string, v any) {
	if doc := e[name]; doc != nil {
		_ = json.Unmarshal(doc, v) // its kind was checked
	}
}

// flag returns a member that is a boolean.
func (e echo) flag(name string) bool { return string(e[name]) == "true" }

// readResponse reads the body of POST /v1/responses.
func readResponse(doc []byte) (*request, error) {
	in := &request{echo: echo{}}
	err := wire.Decode(doc, func(r *wire.Reader) error {
		return r.Object(func(name string) error {
			switch name {
			case "model":
				return r.ID(&in.model)
			case "input":
				return readItems(r, &in.items)
			case "tools":
				return in.readTools(r)
			case "conversation":
				if r.Kind() == '"' {
					return r.ID(&in.session)
				}
				return r.Object(func(name string) error {
					if name == "id" {
						return r.ID(&in.session)
					}
					return r.Skip()
				})
			case "stream":
				return r.Bool(&in.stream)
			}
			return in.repeat(r, name)
		})
	})
	if err != nil {
		return nil, err
	}
	in.read()
	return in, nil
}

// read takes what the server needs from the members that responses repeat.
func (in *request) read() {
	in.echo.into("previous_response_id", &in.previous)
	in.echo.into("instructions", &in.instructions)
	in.echo.into("safety_identifier", &in.user)
	in.echo.into("user", &in.user)
	in.background = in.echo.flag("background")
	in.noStore = string(in.echo["store"]) == "false"
	if string(in.echo["tool_choice"]) == `"none"` {
		in.tools = nil
	}
}

func (in *request) readTools(r *wire.Reader) error {
	doc := []byte("[")
	err := r.Array(func() error {
		d := tool.Declaration{}
		one, err := readTool(r, &d)
		in.tools = append(in.tools, d)
		if len(doc) > 1 {
			doc = append(doc, ',')
		}
		doc = append(doc, one...)
		return err
	})
	in.echo["tools"] = append(doc, ']')
	return err
}

// readChat reads the body of POST /v1/chat/completions.
func readChat(doc []byte) (*request, error) {
	in := &request{echo: echo{}}
	err := wire.Decode(doc, func(r *wire.Reader) error {
		return r.Object(func(name string) error {
			switch name {
			case "model":
				return r.ID(&in.model)
			case "messages":
				return r.Array(func() error { return in.readMessage(r) })
			case "tools":
				return in.readTools(r)
			case "stream":
				return r.Bool(&in.stream)
			case "streamOptions":
				return r.Object(func(name string) error {
					if name == "includeUsage" {
						return r.Bool(&in.usage)
					}
					return r.Skip()
				})
			case "user", "metadata", "toolChoice", "safetyIdentifier":
				return in.repeat(r, name)
			}
			return r.Skip()
		})
	})
	if err != nil {
		return nil, err
	}
	in.read()
	var metadata struct {
		Session string `json:"session_id"`
	}
	in.echo.into("metadata", &metadata)
	in.session = metadata.Session
	return in, nil
}

// readMessage reads a message of chat completions as items.
func (in *request) readMessage(r *wire.Reader) error {
	m := &item{}
	if err := m.read(r); err != nil {
		return err
	}
	switch m.role {
	case "tool", "function":
		m.kind = outputType
		if m.call == "" {
			return r.Errorf("missing", "A message of the role tool needs a tool_call_id")
		}
		in.items = append(in.items, m)
	case "system", "developer", "user", "assistant":
		m.kind = messageType
		if len(m.parts) > 0 {
			in.items = append(in.items, m)
		}
		in.items = append(in.items, m.calls...)
	default:
		return r.Errorf("value_error", "The role of a message must be system, developer, user, assistant or tool")
	}
	return nil
}
