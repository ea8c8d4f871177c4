// Package testkit is what the tests of several packages share: an application
// whose model does as the user says, a client that holds every answer against
// the HTTP contract, and a check that nothing is left running.
package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// Fixture is a set of applications for tests. Their model is scripted by the
// user: the first word of a message that is in this list says what happens, and
// a message without one is echoed.
//
//	weather in CITY   calls get_weather, then reports
//	pair              makes two calls at once, each of which waits for the other
//	state VALUE       calls a tool that sets user:u, app:a, temp:t and k, then reads temp:t
//	keep KEY VALUE    calls a tool that sets one key of the state
//	recall KEY        calls a tool that reads one
//	art NAME TEXT     calls a tool that saves an artifact
//	remind QUERY      calls a tool that searches the memory
//	long              calls a long-running tool that gives a receipt
//	silent            calls a long-running tool that gives none
//	danger TABLE      calls a tool that must be confirmed and counts what it did
//	dangers           makes two such calls at once
//	ask               asks the user for a number from 1 to 9
//	choose            lets the user choose
//	slow GATE         calls a tool that waits until the gate is opened
//	release GATE      calls a tool that opens the gate
//	broken            calls a tool that fails
//	panic             calls a tool that panics
//	fail              the model cannot be reached
//	stutter           the model is lost in the middle of its answer
//	errcode           the model refuses
//	call NAME         calls a tool of the client
//	think             thinks before it answers
//	story GATE        says the beginning of a text, and the rest when the gate is open
//
// So a client that has only HTTP decides how long a run takes, and no test has
// to sleep.
type Fixture struct {
	gates  meetings // opened by Open
	tables meetings // where the calls of pair meet, by invocation
}

// NewFixture makes a set of applications that share their gates.
func NewFixture() *Fixture { return &Fixture{} }

// Apps are the applications of the fixture.
//
//   - weather is one agent with all tools.
//   - relay runs two agents one after the other: a reporter that works like
//     weather, and a reviewer that approves, or cannot reach its model when the
//     message has the word "break" in it.
func (f *Fixture) Apps() map[string]*agent.Agent {
	return map[string]*agent.Agent{"weather": f.agent("weather_agent"), "relay": f.relay()}
}

// WeatherApp is the application weather on its own.
func WeatherApp() *agent.Agent { return NewFixture().agent("weather_agent") }

// Open opens a gate, for tests in the same process.
func (f *Fixture) Open(gate string) { f.gates.open(gate) }

func (f *Fixture) agent(name string) *agent.Agent {
	return must(agent.NewLLM(agent.LLMConfig{
		Name:        name,
		Description: "Tells the weather in any city.",
		Instruction: "Answer questions about the weather. Look it up; never guess.",
		Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			return f.answer(req)(ctx, req)
		}),
		Tools: f.tools(),
	}))
}

func (f *Fixture) relay() *agent.Agent {
	reviewer := must(agent.NewLLM(agent.LLMConfig{
		Name:            "reviewer",
		InstructionFunc: func(ctx *tool.Context) (string, error) { return ctx.UserContent.Text(), nil },
		Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			if strings.Contains(req.Instruction, "break") {
				return scripted.Fail(errLost)(ctx, req)
			}
			return scripted.Say("I approve.")(ctx, req)
		}),
	}))
	return must(agent.NewSequential(agent.Config{
		Name: "relay_agent", Description: "Reports, then reviews.",
		SubAgents: []*agent.Agent{f.agent("reporter"), reviewer},
	}))
}

func must(a *agent.Agent, err error) *agent.Agent {
	if err != nil {
		panic(err) // the fixture itself is wrong
	}
	return a
}

var errLost = errors.New("boom")

// commands are the words that the model acts on, with what follows them in the
// message.
var commands = map[string]func(rest []string) scripted.Step{
	"weather": func(rest []string) scripted.Step {
		return scripted.Call("get_weather", weatherIn{City: city(rest)})
	},
	"pair": func([]string) scripted.Step {
		return scripted.Calls(
			&event.FunctionCall{Name: "meet", Args: json.RawMessage(`{"seat":1}`)},
			&event.FunctionCall{Name: "meet", Args: json.RawMessage(`{"seat":2}`)},
		)
	},
	"state":  func(rest []string) scripted.Step { return scripted.Call("remember", valueIn{Value: at(rest, 0)}) },
	"keep":   func(rest []string) scripted.Step { return scripted.Call("keep", keepIn{at(rest, 0), at(rest, 1)}) },
	"recall": func(rest []string) scripted.Step { return scripted.Call("recall", keyIn{Key: at(rest, 0)}) },
	"long":   func([]string) scripted.Step { return scripted.Call("ask_approval", nil) },
	"silent": func([]string) scripted.Step { return scripted.Call("ask_silently", nil) },
	"danger": func(rest []string) scripted.Step { return scripted.Call("delete_table", tableIn{Table: at(rest, 0)}) },
	"dangers": func([]string) scripted.Step {
		return scripted.Calls(
			&event.FunctionCall{Name: "delete_table", Args: json.RawMessage(`{"table":"one"}`)},
			&event.FunctionCall{Name: "delete_table", Args: json.RawMessage(`{"table":"two"}`)},
		)
	},
	"ask": func([]string) scripted.Step {
		return scripted.Call(tool.InputCall, json.RawMessage(`{"message":"How many?","responseSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},"required":["n"]}}`))
	},
	"choose": func([]string) scripted.Step {
		return scripted.Call(tool.ChoiceCall, json.RawMessage(`{"options":["red","blue"]}`))
	},
	"art": func(rest []string) scripted.Step {
		return scripted.Call("save_file", fileIn{Name: at(rest, 0), Text: at(rest, 1)})
	},
	"remind":  func(rest []string) scripted.Step { return scripted.Call("remind", keyIn{Key: strings.Join(rest, " ")}) },
	"slow":    func(rest []string) scripted.Step { return scripted.Call("wait_for", gateIn{Gate: at(rest, 0)}) },
	"release": func(rest []string) scripted.Step { return scripted.Call("open", gateIn{Gate: at(rest, 0)}) },
	"broken":  func([]string) scripted.Step { return scripted.Call("fail", nil) },
	"panic":   func([]string) scripted.Step { return scripted.Call("explode", nil) },
	"fail":    func([]string) scripted.Step { return scripted.Fail(errLost) },
	"stutter": func([]string) scripted.Step { return stutter },
	"errcode": func([]string) scripted.Step { return scripted.Error("SAFETY", "The answer was withheld.") },
	"call": func(rest []string) scripted.Step {
		return scripted.Call(at(rest, 0), map[string]string{"color": "red"})
	},
	"think": func([]string) scripted.Step { return think },
}

// answer is answer with the commands that need the gates of the fixture.
func (f *Fixture) answer(req *model.Request) scripted.Step {
	words := strings.Fields(scripted.LastUserText(req))
	if len(words) > 1 && strings.EqualFold(words[0], "story") && len(scripted.LastResponses(req)) == 0 {
		return f.story(words[1])
	}
	return answer(req)
}

// Story is what the command story says.
const Story = "Once upon a time there was a server."

// story says Story word by word, and waits in the middle until a gate is open.
func (f *Fixture) story(gate string) scripted.Step {
	return func(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			for i, word := range strings.SplitAfter(Story, " ") {
				if i == 4 && f.gates.wait(ctx, gate) != nil {
					yield(nil, ctx.Err())
					return
				}
				if !yield(&model.Response{Partial: true, Content: event.Text(event.RoleModel, word)}, nil) {
					return
				}
			}
			yield(&model.Response{Content: event.Text(event.RoleModel, Story)}, nil)
		}
	}
}

// think thinks, and then answers.
func think(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		parts := []*event.Part{{Text: "Let me see.", Thought: true}, {Text: "It is done."}}
		for _, p := range parts {
			if !yield(&model.Response{Partial: true, Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{p}}}, nil) {
				return
			}
		}
		yield(&model.Response{Content: &event.Content{Role: event.RoleModel, Parts: parts}}, nil)
	}
}

func answer(req *model.Request) scripted.Step {
	if responses := scripted.LastResponses(req); len(responses) > 0 {
		return report(responses)
	}
	contents := req.Contents()
	for _, p := range contents[len(contents)-1].Parts {
		if p.InlineData != nil {
			return scripted.Say(fmt.Sprintf("I see %d bytes of %s.", len(p.InlineData.Data), p.InlineData.MIMEType))
		}
	}
	text := scripted.LastUserText(req)
	words := strings.Fields(text)
	for i, word := range words {
		if command := commands[strings.ToLower(plain(word))]; command != nil {
			return command(words[i+1:])
		}
	}
	return scripted.Say("You said: " + text)
}

// report is what the model says after its calls.
func report(responses []*event.FunctionResponse) scripted.Step {
	if responses[0].Name == "remember" {
		return scripted.Call("recall", keyIn{Key: "temp:t"})
	}
	var said []string
	for _, r := range responses {
		var out weatherOut
		if r.Name == "get_weather" && json.Unmarshal(r.Response, &out) == nil {
			said = append(said, out.Report)
		} else {
			said = append(said, fmt.Sprintf("%s returned %s", r.Name, r.Response))
		}
	}
	return scripted.Say(strings.Join(said, " "))
}

// stutter says three words, if anyone listens to pieces, and then the model is
// gone.
func stutter(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		for piece, err := range scripted.Say("One moment, please")(ctx, req) {
			if piece != nil && !piece.Partial {
				piece, err = nil, errLost
			}
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}
}

func plain(word string) string { return strings.Trim(word, ".,:;!?") }

func city(rest []string) string {
	if i := slices.Index(rest, "in"); i >= 0 && i+1 < len(rest) {
		return plain(rest[i+1])
	}
	return "Oslo"
}

func at(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}
