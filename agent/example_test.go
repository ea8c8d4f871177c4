package agent_test

import (
	"context"
	"fmt"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// ask sends one message and prints what the agents say.
func ask(root *agent.Agent, text string) {
	srv, err := parley.Open(context.Background(), parley.Config{Agents: map[string]*agent.Agent{"app": root}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close(context.Background())

	for ev, err := range srv.Stream(context.Background(), parley.Request{
		App: "app", User: "me", Session: "one", Message: event.Text(event.RoleUser, text),
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if said := ev.Content.Text(); said != "" {
			fmt.Println(ev.Author+":", said)
		}
	}
}

func ExampleNewLLM() {
	type order struct {
		City string `json:"city" jsonschema:"Where the parcel goes."`
	}
	parcel, err := tool.New(tool.Declaration{
		Name:        "ship_parcel",
		Description: "Ships a parcel to a city.",
	}, func(ctx *tool.Context, in order) (map[string]string, error) {
		if err := ctx.State.Set("user:last_city", in.City); err != nil {
			return nil, err
		}
		return map[string]string{"status": "success", "report": "The parcel is on its way to " + in.City + "."}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	root, err := agent.NewLLM(agent.LLMConfig{
		Name:        "shipping",
		Model:       offline.New(),
		Instruction: "Ship parcels. The last one went to {user:last_city?}.",
		Tools:       []tool.Tool{parcel},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(root, "Ship a parcel to Lisbon, please.")
	// Output: shipping: The parcel is on its way to Lisbon.
}

func ExampleNewSequential() {
	first := agent.Must(agent.New(agent.Config{Name: "first"}, func(_ *agent.Context, emit agent.Emit) error {
		return emit(&event.Event{Content: event.Text(event.RoleModel, "I go first.")})
	}))
	second := agent.Must(agent.New(agent.Config{Name: "second"}, func(ctx *agent.Context, emit agent.Emit) error {
		var author string
		for ev := range ctx.Events() {
			author = ev.Author
		}
		return emit(&event.Event{Content: event.Text(event.RoleModel, "I heard "+author+".")})
	}))
	root := agent.Must(agent.NewSequential(agent.Config{Name: "both", SubAgents: []*agent.Agent{first, second}}))
	ask(root, "Go.")
	// Output:
	// first: I go first.
	// second: I heard first.
}

func ExampleNew() {
	child := agent.Must(agent.New(agent.Config{Name: "child"}, func(_ *agent.Context, emit agent.Emit) error {
		return emit(&event.Event{Content: event.Text(event.RoleModel, "hello")})
	}))
	root := agent.Must(agent.New(agent.Config{Name: "boss", SubAgents: []*agent.Agent{child}}, func(ctx *agent.Context, emit agent.Emit) error {
		return child.Run(ctx, func(ev *event.Event) error {
			ev.Content = event.Text(event.RoleModel, ev.Content.Text()+", politely")
			return emit(ev)
		})
	}))
	ask(root, "Go.")
	// Output: child: hello, politely
}

func ExampleAsTool() {
	translator := agent.Must(agent.NewLLM(agent.LLMConfig{
		Name: "translator", Description: "Translates a text into French.",
		Model: scripted.New(scripted.Say("Bonjour")),
	}))
	root := agent.Must(agent.NewLLM(agent.LLMConfig{
		Name:  "assistant",
		Model: scripted.New(scripted.Call("translator", map[string]string{"request": "Hello"}), scripted.Say("It is Bonjour.")),
		Tools: []tool.Tool{agent.AsTool(translator)},
	}))
	ask(root, "What is hello in French?")
	// Output: assistant: It is Bonjour.
}

func ExampleWithPlugins() {
	clerk, err := agent.NewLLM(agent.LLMConfig{
		Name: "clerk", Model: offline.New(),
		Compactions: []*agent.Compaction{{Tokens: 100_000, Keep: 20, Summarize: agent.Summarizer(offline.New(), "")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	polite := &agent.Plugin{Name: "polite", AfterModel: func(_ *tool.Context, resp *model.Response) (*model.Response, error) {
		if resp.Partial {
			return nil, nil
		}
		return model.Text(resp.Content.Text() + " Thank you for asking."), nil
	}}
	root, err := agent.WithPlugins(clerk, polite)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(root, "hello")
	// Output: clerk: I am Parley's offline model. I do not think: I only match words to tools, and I found no tool for “hello”. This agent has no tools that I could call. For real answers, give the agent a real model. Thank you for asking.
}

func ExampleNewLLM_confirmation() {
	type file struct {
		Path string `json:"path" jsonschema:"The file, for example /tmp/x."`
	}
	remove, err := tool.New(tool.Declaration{
		Name:        "remove_file",
		Description: "Removes a file.",
	}, func(_ *tool.Context, in file) (map[string]string, error) {
		return map[string]string{"status": "success", "report": in.Path + " is gone."}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	root, err := agent.NewLLM(agent.LLMConfig{
		Name:  "cleaner",
		Model: offline.New(),
		Tools: []tool.Tool{tool.Confirm(remove, nil)}, // every call; or a function that picks
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv, err := parley.Open(context.Background(), parley.Config{Agents: map[string]*agent.Agent{"app": root}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close(context.Background())

	var question string
	say := func(message *event.Content) {
		for ev, err := range srv.Stream(context.Background(), parley.Request{App: "app", User: "me", Session: "one", Message: message}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			for _, call := range ev.FunctionCalls() {
				fmt.Println("call:", call.Name)
				if call.Name == tool.ConfirmationCall {
					question = call.ID
				}
			}
			if said := ev.Content.Text(); said != "" {
				fmt.Println(ev.Author+":", said)
			}
		}
	}
	say(event.Text(event.RoleUser, "Remove the file /tmp/x"))
	say(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{
		ID: question, Name: tool.ConfirmationCall, Response: []byte(`{"confirmed":true}`),
	}}}})
	// Output:
	// call: remove_file
	// call: adk_request_confirmation
	// cleaner: /tmp/x is gone.
}
