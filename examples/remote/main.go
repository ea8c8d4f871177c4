// Remote has two servers. The agent of the first, the assistant, has a sub-agent that
// the second server runs, the calendar, which needs you to log in: its task waits, and
// goes on by itself when you have. It needs no key and no network: the provider is a
// part of the program, and scripted models stand in for real ones.
//
//	go run ./examples/remote
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/a2a"
	_ "github.com/parley-run/parley/credential/openid" // the provider tells who has logged in
	"github.com/parley-run/parley/event"
	_ "github.com/parley-run/parley/faces" // the other server speaks A2A
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model/scripted"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, parley.Config{}); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// run holds the conversation with a server that has the assistant added to its
// configuration.
func run(ctx context.Context, out io.Writer, cfg parley.Config) error {
	address, closeCalendar, err := serveCalendar(ctx)
	if err != nil {
		return err
	}
	defer closeCalendar()
	assistant, err := newAssistant(address + "/a2a/calendar")
	if err != nil {
		return err
	}
	cfg.Agents = map[string]*agent.Agent{"assistant": assistant}
	srv, err := parley.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer srv.Close(ctx)
	for ev, err := range srv.Stream(ctx, parley.Request{App: "assistant", User: "user", Message: event.Text(event.RoleUser, "What is on today?")}) {
		if err != nil {
			return err
		}
		if ev.ErrorMessage != "" {
			return errors.New(ev.ErrorMessage)
		}
		if text := ev.Content.Text(); text != "" && ev.Author != event.User && !ev.Partial {
			fmt.Fprintf(out, "%s: %s\n", ev.Author, text)
		}
	}
	return nil
}

// newAssistant returns an agent that hands every conversation over to the agent whose
// card is at an address.
func newAssistant(card string) (*agent.Agent, error) {
	remote, err := a2a.New(a2a.Config{Card: card})
	if err != nil {
		return nil, err
	}
	far, err := agent.NewRemote(agent.RemoteConfig{
		Config: agent.Config{Name: "calendar", Description: "Knows the calendar of the user."}, Remote: remote,
	})
	if err != nil {
		return nil, err
	}
	return agent.NewLLM(agent.LLMConfig{
		Name: "assistant", Model: scripted.New(scripted.Call("transfer_to_agent", map[string]string{"agentName": "calendar"})),
		SubAgents: []*agent.Agent{far},
	})
}

// serveCalendar starts the other server, with an agent that needs a login. In
// production, it belongs to others.
func serveCalendar(ctx context.Context) (address string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = "http://" + listener.Addr().String()
	p, err := provider.New(provider.Options{RedirectURIs: []string{address + "/oauth/callback"}})
	if err != nil {
		return "", nil, err
	}
	srv, err := parley.Open(ctx, parley.Config{
		Agents:  map[string]*agent.Agent{"calendar": calendar.Agent(p)},
		Network: parley.NetworkConfig{PublicURL: address},
		Logins:  parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8"}}, // because the provider is on this machine
	})
	if err != nil {
		p.Close()
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(ctx, listener) // until it is stopped
	}()
	return address, func() {
		cancel()
		<-served
		p.Close()
	}, nil
}
