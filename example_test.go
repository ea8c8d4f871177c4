package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
)

// greeter is a server with an agent that answers what steps say.
func greeter(ctx context.Context, steps ...scripted.Step) *parley.Server {
	root, err := agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(steps...)})
	if err != nil {
		log.Fatal(err)
	}
	srv, err := parley.Open(ctx, parley.Config{Agents: map[string]*agent.Agent{"app": root}})
	if err != nil {
		log.Fatal(err)
	}
	return srv
}

func ExampleServer_Ask() {
	ctx := context.Background()
	srv := greeter(ctx, scripted.Say("Hello, Ann."))
	defer srv.Close(ctx)

	text, err := srv.Ask(ctx, "app", "ann", "first", "Hi, I am Ann.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output: Hello, Ann.
}

func ExampleServer_Start() {
	ctx := context.Background()
	srv := greeter(ctx, scripted.Say("Hello."))
	defer srv.Close(ctx)

	run, err := srv.Start(ctx, parley.Request{
		App: "app", User: "ann", Session: "first", Message: event.Text(event.RoleUser, "Hi"),
		OnBusy: session.Reject, IdempotencyKey: "message-1",
	})
	switch {
	case errors.Is(err, parley.ErrBusy):
		log.Print("the session is busy")
		return
	case errors.Is(err, parley.ErrLimited):
		log.Printf("try again in %v", parley.RetryAfter(err))
		return
	case err != nil:
		log.Print(err)
		return
	}
	for ev, err := range run.Events(ctx) {
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(ev.Author+":", ev.Content.Text())
	}
	// Output: greeter: Hello.
}

func ExampleRun_Cancel() {
	ctx := context.Background()
	srv := greeter(ctx, scripted.Wait(nil, scripted.Say("never")))
	defer srv.Close(ctx)

	run, err := srv.Start(ctx, parley.Request{App: "app", User: "ann", Session: "first", Message: event.Text(event.RoleUser, "Hi")})
	if err != nil {
		log.Print(err)
		return
	}
	if err := run.Cancel(ctx); err != nil {
		log.Print(err)
		return
	}
	_, err = run.Wait(ctx)
	fmt.Println(errors.Is(err, parley.ErrCancelled))
	// Output: true
}

func ExampleServer_Follow() {
	ctx := context.Background()
	srv := greeter(ctx, scripted.Say("Hello."))
	defer srv.Close(ctx)

	run, err := srv.Start(ctx, parley.Request{App: "app", User: "ann", Session: "first", Message: event.Text(event.RoleUser, "Hi")})
	if err != nil {
		log.Print(err)
		return
	}
	// Later, in another request or on another server that shares the store:
	after := "" // the id of the last event that was seen
	for ev, err := range srv.Follow(ctx, run.Key(), run.ID(), after) {
		if err != nil {
			log.Print(err)
			return
		}
		after = ev.ID
		fmt.Println(ev.Content.Text(), after != "")
	}
	// Output: Hello. true
}

func ExampleServer_Sessions() {
	ctx := context.Background()
	srv := greeter(ctx, scripted.Say("Hello."))
	defer srv.Close(ctx)

	key := session.Key{App: "app", User: "ann", ID: "first"}
	if _, err := srv.Sessions().Create(ctx, parley.NewSession{
		Key: key, State: session.State{"language": json.RawMessage(`"en"`)}, TTL: 24 * time.Hour,
	}); err != nil {
		log.Print(err)
		return
	}
	if _, err := srv.Ask(ctx, "app", "ann", "first", "Hi"); err != nil {
		log.Print(err)
		return
	}
	found, err := srv.Sessions().Get(ctx, key)
	if err != nil {
		log.Print(err)
		return
	}
	events, err := found.Events()
	if err != nil {
		log.Print(err)
		return
	}
	for _, ev := range events {
		fmt.Println(ev.Author+":", ev.Content.Text())
	}
	// Output:
	// user: Hi
	// greeter: Hello.
}

func ExampleServer_Schedules() {
	ctx := context.Background()
	srv := greeter(ctx, scripted.Say("Good morning."))
	defer srv.Close(ctx)

	made, err := srv.Schedules().Create(ctx, parley.Schedule{
		App: "app", User: "ann", ID: "morning",
		Cron: "0 9 * * MON-FRI", TimeZone: "Europe/Berlin", Missed: parley.MissedOnce,
		Message: event.Text(event.RoleUser, "What is new?"),
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(made.ID, made.Next.After(time.Now()))

	// It need not be due to be tried.
	fired, err := srv.Schedules().Run(ctx, "app", "ann", "morning")
	if err != nil {
		log.Print(err)
		return
	}
	run, err := srv.FindRun(ctx, session.Key{App: "app", User: "ann", ID: fired.Session}, fired.Run)
	if err != nil {
		log.Print(err)
		return
	}
	for ev, err := range run.Events(ctx) {
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(ev.Content.Text())
	}
	// Output:
	// morning true
	// Good morning.
}
