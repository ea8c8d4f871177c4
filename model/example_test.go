package model_test

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

func ExampleAsk() {
	m := scripted.New(scripted.Say("Paris."))
	text, err := model.Ask(context.Background(), m, "What is the capital of France?")
	fmt.Println(text, err)
	// Output: Paris. <nil>
}

// shout is a model of an author's own.
type shout struct{}

func (shout) Name() string { return "shout" }

func (shout) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		contents := req.Contents()
		last := contents[len(contents)-1]
		yield(model.Text(strings.ToUpper(last.Text())+"!"), nil)
	}
}

func ExampleModel() {
	var m model.Model = shout{}
	req := &model.Request{Instruction: "Be loud."}
	req.SetContents([]*event.Content{event.Text(event.RoleUser, "good morning")})
	for resp, err := range m.Generate(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Content.Text())
	}
	// Output: GOOD MORNING!
}

func ExampleNewRouted() {
	m, err := model.NewRouted(map[string]model.Model{
		"large": scripted.New(scripted.Fail(fmt.Errorf("overloaded"))),
		"small": scripted.New(scripted.Say("Hello from the small one.")),
	}, func(_ context.Context, _ *model.Request, failed *model.Failed) (string, error) {
		if failed == nil {
			return "large", nil
		}
		return "small", nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Ask(context.Background(), m, "Hello."))
	// Output: Hello from the small one. <nil>
}
