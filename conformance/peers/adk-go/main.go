// Command adk-go serves the applications of the conformance suite, as package
// testkit has them, with adk-go and its REST handler.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/server/adkrest"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
)

func main() {
	port := flag.Int("port", 8000, "port to listen on, on the loopback interface")
	flag.Parse()
	f := &fixture{places: map[string]*place{}}
	weather, err := f.agent("weather_agent")
	if err != nil {
		log.Fatal(err)
	}
	relay, err := f.relay()
	if err != nil {
		log.Fatal(err)
	}
	server, err := adkrest.NewServer(adkrest.ServerConfig{
		SessionService: session.InMemoryService(), MemoryService: memory.InMemoryService(), ArtifactService: artifact.InMemoryService(),
		AgentLoader: apps{"weather": weather, "relay": relay}, SSEWriteTimeout: 2 * time.Minute, // as its launcher sets it
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), server))
}

// apps are agents by the names of their applications.
type apps map[string]agent.Agent

func (a apps) ListAgents() []string   { return []string{"relay", "weather"} }
func (a apps) RootAgent() agent.Agent { return a["weather"] }
func (a apps) LoadAgent(name string) (agent.Agent, error) {
	if one, ok := a[name]; ok {
		return one, nil
	}
	return nil, fmt.Errorf("agent %q not found", name)
}

type fixture struct {
	mu     sync.Mutex
	places map[string]*place
}

// place is where calls wait for each other.
type place struct {
	arrived int
	open    func()
	opened  chan struct{}
}

func (f *fixture) at(name string) *place {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.places[name]
	if p == nil {
		opened := make(chan struct{})
		p = &place{opened: opened, open: sync.OnceFunc(func() { close(opened) })}
		f.places[name] = p
	}
	p.arrived++
	return p
}

func (p *place) wait(ctx context.Context) error {
	select {
	case <-p.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type (
	none    struct{}
	valueIn struct {
		Value string `json:"value"`
	}
	keyIn struct {
		Key string `json:"key"`
	}
	gateIn struct {
		Gate string `json:"gate"`
	}
	seatIn struct {
		Seat int `json:"seat"`
	}
	cityIn struct {
		City string `json:"city"`
	}
	tableIn struct {
		Table string `json:"table"`
	}
	keepIn struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	fileIn struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	result = map[string]any
)

var success = result{"status": "success"}

func (f *fixture) tools() ([]tool.Tool, error) {
	var tools []tool.Tool
	var errs []error
	take := func(t tool.Tool, err error) { tools, errs = append(tools, t), append(errs, err) }
	take(function("get_weather", func(_ agent.Context, in cityIn) (result, error) {
		return result{"status": "success", "report": "It is sunny in " + in.City + "."}, nil
	}))
	take(function("meet", func(ctx agent.Context, in seatIn) (result, error) {
		p := f.at("table " + ctx.InvocationID())
		f.mu.Lock()
		all := p.arrived == 2
		f.mu.Unlock()
		if all {
			p.open()
		}
		return result{"seat": in.Seat}, p.wait(ctx)
	}))
	take(function("remember", func(ctx agent.Context, in valueIn) (result, error) {
		var errs []error
		for _, key := range []string{"user:u", "app:a", "temp:t", "k"} {
			errs = append(errs, ctx.State().Set(key, in.Value))
		}
		return success, errors.Join(errs...)
	}))
	take(function("keep", func(ctx agent.Context, in keepIn) (result, error) { return success, ctx.State().Set(in.Key, in.Value) }))
	take(function("recall", func(ctx agent.Context, in keyIn) (result, error) {
		value, err := ctx.State().Get(in.Key)
		if errors.Is(err, session.ErrStateKeyNotExist) {
			return result{"found": false, "value": nil}, nil
		}
		return result{"found": true, "value": value}, err
	}))
	take(function("save_file", func(ctx agent.Context, in fileIn) (result, error) {
		saved, err := ctx.Artifacts().Save(ctx, in.Name, genai.NewPartFromText(in.Text))
		if err != nil {
			return nil, err
		}
		return result{"version": saved.Version}, nil
	}))
	take(function("remind", func(ctx agent.Context, in keyIn) (result, error) {
		found, err := ctx.SearchMemory(ctx, in.Key)
		if err != nil {
			return nil, err
		}
		said := []string{}
		for _, one := range found.Memories {
			said = append(said, one.Author+": "+text(one.Content))
		}
		return result{"said": said}, nil
	}))
	take(function("wait_for", func(ctx agent.Context, in gateIn) (result, error) { return success, f.at(in.Gate).wait(ctx) }))
	take(function("open", func(_ agent.Context, in gateIn) (result, error) {
		f.at(in.Gate).open()
		return success, nil
	}))
	take(function("fail", func(agent.Context, none) (result, error) { return nil, errors.New("the sensor is broken") }))
	take(function("explode", func(agent.Context, none) (result, error) { panic("a secret of the tool") }))
	take(functiontool.New(functiontool.Config{Name: "delete_table", Description: "Deletes a table.", RequireConfirmation: true}, func(ctx agent.Context, in tableIn) (result, error) {
		key := "deleted_" + in.Table
		before, err := ctx.State().Get(key)
		if err != nil && !errors.Is(err, session.ErrStateKeyNotExist) {
			return nil, err
		}
		count, _ := before.(int)
		return result{"deleted": in.Table}, ctx.State().Set(key, count+1)
	}))
	take(functiontool.New(functiontool.Config{Name: "ask_approval", Description: "Asks a person, who answers later.", IsLongRunning: true}, func(agent.Context, none) (result, error) {
		return result{"status": "pending", "ticket": "t-1"}, nil
	}))
	take(functiontool.New(functiontool.Config{Name: "ask_silently", Description: "Asks a person, who answers later.", IsLongRunning: true}, func(agent.Context, none) (result, error) {
		return nil, nil
	}))
	return tools, errors.Join(errs...)
}

func function[In any](name string, fn functiontool.Func[In, result]) (tool.Tool, error) {
	return functiontool.New(functiontool.Config{Name: name, Description: "A tool of the fixture."}, fn)
}

func (f *fixture) agent(name string) (agent.Agent, error) {
	tools, err := f.tools()
	if err != nil {
		return nil, err
	}
	return llmagent.New(llmagent.Config{
		Name: name, Description: "Tells the weather in any city.", Instruction: "Answer questions about the weather. Look it up; never guess.",
		Model: scripted(func(req *model.LLMRequest) step { return answer(req.Contents) }), Tools: tools,
	})
}

func (f *fixture) relay() (agent.Agent, error) {
	reporter, err := f.agent("reporter")
	if err != nil {
		return nil, err
	}
	reviewer, err := llmagent.New(llmagent.Config{
		Name:                "reviewer",
		InstructionProvider: func(ctx agent.ReadonlyContext) (string, error) { return text(ctx.UserContent()), nil },
		Model: scripted(func(req *model.LLMRequest) step {
			if req.Config != nil && strings.Contains(text(req.Config.SystemInstruction), "break") {
				return step{lost: true}
			}
			return step{text: "I approve."}
		}),
	})
	if err != nil {
		return nil, err
	}
	return sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{
		Name: "relay_agent", Description: "Reports, then reviews.", SubAgents: []agent.Agent{reporter, reviewer},
	}})
}

func text(c *genai.Content) string {
	var b strings.Builder
	if c != nil {
		for _, p := range c.Parts {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// step is what the model does: calls, text, an error code, or nothing, because
// it is lost.
type step struct {
	calls     []*genai.FunctionCall
	text      string
	errorCode string
	lost      bool
}

func call(name string, args map[string]any) step {
	return step{calls: []*genai.FunctionCall{{Name: name, Args: args}}}
}

func plain(word string) string { return strings.Trim(word, ".,:;!?") }

func at(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}

var commands = map[string]func(rest []string) step{
	"weather": func(rest []string) step {
		city := "Oslo"
		if i := slices.Index(rest, "in"); i >= 0 && i+1 < len(rest) {
			city = plain(rest[i+1])
		}
		return call("get_weather", map[string]any{"city": city})
	},
	"pair": func([]string) step {
		return step{calls: []*genai.FunctionCall{{Name: "meet", Args: map[string]any{"seat": 1}}, {Name: "meet", Args: map[string]any{"seat": 2}}}}
	},
	"state": func(rest []string) step { return call("remember", map[string]any{"value": at(rest, 0)}) },
	"keep": func(rest []string) step {
		return call("keep", map[string]any{"key": at(rest, 0), "value": at(rest, 1)})
	},
	"recall": func(rest []string) step { return call("recall", map[string]any{"key": at(rest, 0)}) },
	"art": func(rest []string) step {
		return call("save_file", map[string]any{"name": at(rest, 0), "text": at(rest, 1)})
	},
	"remind": func(rest []string) step { return call("remind", map[string]any{"key": strings.Join(rest, " ")}) },
	"long":   func([]string) step { return call("ask_approval", nil) },
	"silent": func([]string) step { return call("ask_silently", nil) },
	"danger": func(rest []string) step { return call("delete_table", map[string]any{"table": at(rest, 0)}) },
	"dangers": func([]string) step {
		return step{calls: []*genai.FunctionCall{{Name: "delete_table", Args: map[string]any{"table": "one"}}, {Name: "delete_table", Args: map[string]any{"table": "two"}}}}
	},
	"slow":    func(rest []string) step { return call("wait_for", map[string]any{"gate": at(rest, 0)}) },
	"release": func(rest []string) step { return call("open", map[string]any{"gate": at(rest, 0)}) },
	"broken":  func([]string) step { return call("fail", nil) },
	"panic":   func([]string) step { return call("explode", nil) },
	"fail":    func([]string) step { return step{lost: true} },
	"stutter": func([]string) step { return step{text: "One moment, please", lost: true} },
	"errcode": func([]string) step { return step{errorCode: "SAFETY"} },
}

func answer(contents []*genai.Content) step {
	if len(contents) == 0 {
		return step{text: "You said: "}
	}
	last := contents[len(contents)-1]
	var said []string
	for _, p := range last.Parts {
		r := p.FunctionResponse
		if r == nil {
			continue
		}
		if r.Name == "remember" {
			return call("recall", map[string]any{"key": "temp:t"})
		}
		if report, ok := r.Response["report"].(string); ok && r.Name == "get_weather" {
			said = append(said, report)
			continue
		}
		raw, _ := json.Marshal(r.Response) // it came from JSON
		said = append(said, fmt.Sprintf("%s returned %s", r.Name, raw))
	}
	if len(said) > 0 {
		return step{text: strings.Join(said, " ")}
	}
	for _, p := range last.Parts {
		if p.InlineData != nil {
			return step{text: fmt.Sprintf("I see %d bytes of %s.", len(p.InlineData.Data), p.InlineData.MIMEType)}
		}
	}
	words := strings.Fields(text(last))
	for i, word := range words {
		if command := commands[strings.ToLower(plain(word))]; command != nil {
			return command(words[i+1:])
		}
	}
	return step{text: "You said: " + text(last)}
}

// scripted is a model that a function stands in for.
type scripted func(*model.LLMRequest) step

func (scripted) Name() string { return "scripted" }

func (s scripted) GenerateContent(_ context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		step := s(req)
		switch {
		case step.errorCode != "":
			yield(&model.LLMResponse{ErrorCode: step.errorCode, ErrorMessage: "The answer was withheld."}, nil)
			return
		case step.calls != nil:
			content := &genai.Content{Role: genai.RoleModel}
			for _, c := range step.calls {
				content.Parts = append(content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: c.Name, Args: c.Args}})
			}
			yield(&model.LLMResponse{Content: content}, nil)
			return
		}
		if stream {
			for piece := range strings.SplitAfterSeq(step.text, " ") {
				if piece != "" && !yield(&model.LLMResponse{Content: genai.NewContentFromText(piece, genai.RoleModel), Partial: true}, nil) {
					return
				}
			}
		}
		if step.lost {
			yield(nil, errors.New("boom"))
			return
		}
		yield(&model.LLMResponse{Content: genai.NewContentFromText(step.text, genai.RoleModel), TurnComplete: stream}, nil)
	}
}
