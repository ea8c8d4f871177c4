package scripted_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

func ExampleNew() {
	m := scripted.New(
		scripted.Call("get_weather", map[string]string{"city": "Lisbon"}),
		scripted.Say("It is sunny in Lisbon."),
	)
	req := &model.Request{}
	req.SetContents([]*event.Content{event.Text(event.RoleUser, "What is the weather in Lisbon?")})
	for range 2 {
		for resp := range m.Generate(context.Background(), req) {
			for _, call := range resp.Content.FunctionCalls() {
				fmt.Printf("%s(%s)\n", call.Name, call.Args)
			}
			fmt.Print(resp.Content.Text())
		}
	}
	// Output:
	// get_weather({"city":"Lisbon"})
	// It is sunny in Lisbon.
}

func ExampleFunc() {
	m := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		return scripted.Say("You said: "+scripted.LastUserText(req))(ctx, req)
	})
	fmt.Println(model.Ask(context.Background(), m, "hello"))
	fmt.Println(m.Calls())
	// Output:
	// You said: hello <nil>
	// 1
}
