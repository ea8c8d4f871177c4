package code_test

import (
	"context"
	"fmt"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/javascript"
)

// An agent whose model calculates in JavaScript.
func Example() {
	root := agent.Must(agent.NewLLM(agent.LLMConfig{
		Name: "calculator",
		Model: scripted.New( // a model of a provider, in a real program
			scripted.Say("```javascript\nconsole.log(6 * 7)\n```"),
			scripted.Say("It is 42.")),
		Instruction: "To calculate, write JavaScript in a block ```javascript, and print the result.",
		Code:        &code.Config{Executor: javascript.New(javascript.Config{})},
	}))
	srv, err := parley.Open(context.Background(), parley.Config{Agents: map[string]*agent.Agent{"calculator": root}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close(context.Background())
	message := event.Text(event.RoleUser, "What is six times seven?")
	for ev, err := range srv.Stream(context.Background(), parley.Request{App: "calculator", User: "u", Session: "s", Message: message}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, p := range ev.Content.Parts {
			switch {
			case p.ExecutableCode != nil:
				fmt.Println("code:", p.ExecutableCode.Code)
			case p.CodeExecutionResult != nil:
				fmt.Printf("%s: %q\n", p.CodeExecutionResult.Outcome, p.CodeExecutionResult.Output)
			default:
				fmt.Println(p.Text)
			}
		}
	}
	// Output:
	// code: console.log(6 * 7)
	// OUTCOME_OK: "Code execution result:\n42\n\n"
	// It is 42.
}
