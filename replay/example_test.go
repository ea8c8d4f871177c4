package replay_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/replay"
)

// A run is repeated with the recorded answers: no model is asked. Then models are asked
// again, and the report says what differs.
func Example() {
	ctx := context.Background()
	model := scripted.New(scripted.Say("Take the train."), scripted.Say("Take the bus."))
	guide := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "guide", Model: model}))
	srv, err := parley.Open(ctx, parley.Config{
		Agents:    map[string]*agent.Agent{"travel": guide},
		Recording: parley.RecordingConfig{Share: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	run, err := srv.Start(ctx, parley.Request{App: "travel", User: "ann", Session: "rome", Message: event.Text(event.RoleUser, "How do I get there?")})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := run.Wait(ctx); err != nil {
		log.Fatal(err)
	}

	for _, plan := range []replay.Plan{{}, {LiveModels: true}} {
		report, err := srv.Replay(ctx, run.Key(), run.ID(), plan)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("the same:", report.Same)
		for _, ev := range report.Events {
			for _, d := range ev.Differences {
				fmt.Println(d.Path, string(d.Recorded), string(d.Now))
			}
		}
	}
	// Output:
	// the same: true
	// the same: false
	// content.parts[0].text "Take the train." "Take the bus."
}
