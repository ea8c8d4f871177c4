package container_test

import (
	"fmt"
	"log"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/openai"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/container"
)

// The model writes Python, which runs in Docker or Podman.
func ExampleNew() {
	executor, err := container.New(container.Config{Image: "python:3.13-slim"})
	if err != nil {
		log.Fatal(err) // neither docker nor podman is on the PATH
	}
	gpt, err := openai.New("gpt-5-mini", nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = agent.NewLLM(agent.LLMConfig{
		Name: "analyst", Model: gpt,
		Instruction: "To calculate, write Python in a block ```python, and print the result.",
		Code:        &code.Config{Executor: executor, DataFiles: true},
	})
	if err != nil {
		log.Fatal(err)
	}
}

// An executor needs Docker or Podman, or a program with the same commands.
func ExampleNew_missing() {
	_, err := container.New(container.Config{Program: "/opt/containers/podman"})
	fmt.Println(err)
	// Output: code cannot be run in containers: /opt/containers/podman is not on the PATH
}
