// Package offline is a model that needs no key and no network, so that an
// agent can be tried, shown and tested anywhere.
//
// It matches the words of the user to the names and the descriptions of the agent's
// tools, looks for the arguments in the message, calls the tool, and answers with the
// result. If no tool matches, the answer says so. The same request always has the same
// answer.
package offline

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/model"
)

func init() { registry.Register("offline", New()) }

// New returns the offline model.
func New() model.Model { return offline{} }

type offline struct{}

func (offline) Name() string { return "offline" }

// Ignored returns the tools of a provider: nothing runs them here. See
// model.Ignorer.
func (offline) Ignored(c *model.Config) []string {
	var names []string
	for _, one := range c.ProviderTools {
		names = append(names, "tools: "+string(one))
	}
	return names
}

func (offline) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		call, text := decide(req, readTurn(req.Contents()))
		if call == nil && req.Stream {
			for word := range strings.SplitAfterSeq(text, " ") {
				piece := model.Text(word)
				piece.Partial = true
				if word != "" && !yield(piece, nil) {
					return
				}
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
			}
		}
		whole := model.Text(text)
		if call != nil {
			whole.Content.Parts = []*event.Part{{FunctionCall: call}}
			text = call.Name + " " + string(call.Args)
		}
		whole.FinishReason = "STOP"
		whole.Usage = usage(req, text)
		yield(whole, nil)
	}
}

// decide is the whole mind of the model: a call of a tool, or else a text.
func decide(req *model.Request, t turn) (*event.FunctionCall, string) {
	if result := report(t.latest); result != "" {
		return nil, t.format(req, result)
	}
	tools := readTools(req.Tools)
	tool := match(tools, t.user)
	if tool == nil {
		tool = find(tools, t.asked)
	}
	switch {
	case tool == nil:
		if call := transfer(req, t); call != nil {
			return call, ""
		}
	case t.called[tool.name]:
		if result := report(t.responses); result != "" {
			return nil, t.format(req, result)
		}
	default:
		texts := []string{t.user}
		if tool.name == t.asked {
			texts = append(t.before, t.user)
		}
		args, missing := fill(tool, texts)
		if len(missing) > 0 {
			return nil, t.format(req, question(tool.name, missing))
		}
		return &event.FunctionCall{Name: tool.name, Args: encode(args)}, ""
	}
	if wantsJSON(req.Config) {
		return nil, t.format(req, t.user)
	}
	return nil, noMatch(req, t.user)
}

// format turns what the model has to say into the format that was asked for.
func (t turn) format(req *model.Request, text string) string {
	if !wantsJSON(req.Config) {
		return text
	}
	return string(sample(req.Config.ResponseSchema, text, t.user))
}

func wantsJSON(c *model.Config) bool {
	return c != nil && (len(c.ResponseSchema) > 0 || c.ResponseMIMEType == "application/json")
}

// usage counts words: there are no tokens here, but code that adds up usage should
// see that a longer conversation costs more.
func usage(req *model.Request, answer string) *event.Usage {
	u := &event.Usage{Prompt: count(req.Instruction), Candidates: count(answer)}
	for _, c := range req.Contents() {
		for _, p := range parts(c) {
			u.Prompt += count(p.Text)
		}
	}
	u.Total = u.Prompt + u.Candidates
	return u
}

func count(text string) (n int64) {
	for range strings.FieldsSeq(text) {
		n++
	}
	return n
}

// encode is for values that always encode: what came from JSON, and text.
func encode(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}
