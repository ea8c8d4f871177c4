package container_test

import (
	"log"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/gemini"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/container"
)

// The model writes Python, which runs in Docker or Podman.
func ExampleNew() {
	executor, err := container.New(container.Config{Image: "python:3.13-slim"})
	if err != nil {
		log.Fatal(err) // neither docker nor podman is on the PATH
	}
	gem, err := gemini.New("gemini-2.5-flash", nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = agent.NewLLM(agent.LLMConfig{
		Name: "analyst", Model: gem,
		Instruction: "To calculate, write Python in a block ```python, and print the result.",
		Code:        &code.Config{Executor: executor, DataFiles: true},
	})
	if err != nil {
		log.Fatal(err)
	}
}
