package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// clerk sells tea: it looks up the price, takes the money, and thanks. A message such
// as "tea, gate g" changes the instruction when the gate opens, as a change of the
// code does.
func (s *stage) clerk() *agent.Agent {
	type order struct {
		Item string `json:"item"`
	}
	type payment struct {
		Amount int `json:"amount"`
	}
	price := tool.Must(tool.New(tool.Declaration{Name: "look_up", Description: "Looks up the price of an item.", Effect: tool.Pure},
		func(_ *tool.Context, in order) (any, error) { return map[string]any{"item": in.Item, "price": 4}, nil }))
	charge := tool.Must(tool.New(tool.Declaration{Name: "charge", Description: "Takes money from the account of the user."},
		func(ctx *tool.Context, in payment) (any, error) {
			return map[string]any{"charged": in.Amount}, ctx.State.Set("paid", in.Amount)
		}))
	return agent.Must(agent.NewLLM(agent.LLMConfig{
		Name: "clerk", Description: "Sells tea.", Model: model.Named("house"), Tools: []tool.Tool{price, charge},
		InstructionFunc: func(ctx *tool.Context) (string, error) {
			if _, name, gated := strings.Cut(ctx.UserContent.Text(), "gate "); gated {
				select {
				case <-s.gate(strings.TrimSpace(name)):
					return "You sell tea. Be brief and never rude.", nil
				default:
				}
			}
			return "You sell tea. Be polite and never rude.", nil
		},
	}))
}

// sellers are the models that the clerk can have. gated answers when the gate "sellers"
// opens, which it need not.
func (s *stage) sellers() map[string]model.Model {
	return map[string]model.Model{
		"house":   seller("house", "Thank you, that is %d euros for the tea. Enjoy it while it is hot!"),
		"poet":    seller("poet", "Thank you! That makes %d euros for a cup of steaming tea. Enjoy it while it is hot!"),
		"gpt-5":   caster("gpt-5"), // which has a price
		"caster":  caster("caster"),
		"refuses": scripted.Func(scripted.Error("SAFETY", "I do not sell.")),
		"gated": scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			select {
			case <-s.gate("sellers"):
			case <-ctx.Done():
			}
			return scripted.Say("At last.")(ctx, req)
		}),
	}
}

// caster says what the weather is in Paris.
func caster(name string) model.Model {
	return scripted.Func(func(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		resp := model.Text("The weather in Paris is sunny with a temperature of 25 degrees Celsius.")
		if last := scripted.LastResponses(req); len(last) == 0 {
			resp.Content.Parts = []*event.Part{{FunctionCall: &event.FunctionCall{Name: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`)}}}
		}
		resp.ModelVersion, resp.Usage = name, &event.Usage{Prompt: 1400, Candidates: 40, Total: 1440}
		return func(yield func(*model.Response, error) bool) { yield(resp, nil) }
	})
}

func seller(name, thanks string) model.Model {
	return scripted.Func(func(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		resp := model.Text("")
		switch last := scripted.LastResponses(req); {
		case len(last) == 0:
			resp.Content.Parts = []*event.Part{{FunctionCall: &event.FunctionCall{Name: "look_up", Args: json.RawMessage(`{"item":"tea"}`)}}}
		case last[0].Name == "look_up":
			var found struct{ Price int }
			_ = json.Unmarshal(last[0].Response, &found)
			resp.Content.Parts = []*event.Part{{FunctionCall: &event.FunctionCall{Name: "charge", Args: fmt.Appendf(nil, `{"amount":%d}`, found.Price)}}}
		default:
			var paid struct{ Charged int }
			_ = json.Unmarshal(last[0].Response, &paid)
			text := fmt.Sprintf(thanks, paid.Charged)
			if strings.Contains(req.Instruction, "rhyme") {
				text += " Tea for thee, from me."
			}
			if req.Config != nil && req.Config.Temperature != nil {
				text += fmt.Sprintf(" It is %v degrees.", *req.Config.Temperature)
			}
			resp = model.Text(text)
		}
		in := int64(40 + 10*len(req.Contents()))
		resp.ModelVersion, resp.Usage = name, &event.Usage{Prompt: in, Candidates: 12, Total: in + 12}
		return func(yield func(*model.Response, error) bool) { yield(resp, nil) }
	})
}
