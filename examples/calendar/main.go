// Calendar shows a login: an agent wants to look into your calendar, asks you to
// allow it, and continues when you did. It needs no key and no network: the
// provider and the calendar behind it are parts of the program, and the offline
// model stands in for a real one.
//
//	go run ./examples/calendar               talk to it, and log in with a browser
//	go run ./examples/calendar -user ann     log in as ann, without a browser
//	go run ./examples/calendar -serve        serve it on port 8000, with the developer UI
//	go run ./examples/calendar -serve -port 9000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	_ "github.com/parley-run/parley/devui" // for -serve
	"github.com/parley-run/parley/internal/testkit/provider"
)

func main() {
	var opts options
	flag.BoolVar(&opts.serve, "serve", false, "serve the agent, with the developer UI")
	flag.IntVar(&opts.port, "port", 8000, "the port of -serve; 0 for a free one")
	flag.StringVar(&opts.user, "user", "", "log in with this `name`, without a browser")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, opts); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

type options struct {
	serve bool
	port  int
	user  string
}

func run(ctx context.Context, out io.Writer, opts options) error {
	// The provider and the API that it protects. In production, they belong to others.
	p, err := provider.New(provider.Options{Events: []provider.Event{
		{Title: "Breakfast with Ben", Start: "08:30"}, {Title: "Dentist", Start: "14:00"},
	}})
	if err != nil {
		return err
	}
	defer p.Close()
	id, secret := p.Client()
	cfg := parley.Config{Network: parley.NetworkConfig{Host: "127.0.0.1", Port: opts.port}, Stdout: out}
	cfg.UI.Enabled = opts.serve
	srv, err := newServer(ctx, site{p.Issuer(), id, secret}, cfg)
	if err != nil {
		return err
	}
	if opts.serve {
		return srv.Run(ctx)
	}
	defer srv.Close(ctx)
	back, err := listenCallback(ctx)
	if err != nil {
		return err
	}
	defer back.close()
	v := &visitor{server: srv, out: out, redirect: back.address, visit: back.wait(out)}
	if opts.user != "" {
		v.visit = unattended(opts.user)
	}
	return converse(ctx, v)
}

// converse says what the example is about.
func converse(ctx context.Context, v *visitor) error {
	for _, text := range []string{"List the events in my calendar", `Add the event "Walk the dog"`, "List the events again"} {
		if err := v.say(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// newServer adds the agent, and what its logins need, to a configuration.
func newServer(ctx context.Context, s site, cfg parley.Config) (*parley.Server, error) {
	root, err := newAgent(ctx, s)
	if err != nil {
		return nil, err
	}
	cfg.Agents = map[string]*agent.Agent{"calendar": root}
	cfg.Logins.AllowPrivate = []string{"127.0.0.0/8"} // because the provider is on this machine
	return parley.Open(ctx, cfg)
}

// unattended asks the provider, which is made for trying things out, to let a user
// in without a page, and stops where the browser would be sent back.
func unattended(user string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, address string) (string, error) {
		address += "&auto_login=" + url.QueryEscape(user)
		for range 5 {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
			if err != nil {
				return "", err
			}
			resp, err := client.Transport.RoundTrip(req)
			if err != nil {
				return "", err
			}
			_ = resp.Body.Close()
			next, err := resp.Location()
			if err != nil {
				return "", fmt.Errorf("log in: %s: %w", resp.Status, err)
			}
			if address = next.String(); next.Query().Has("state") {
				return address, nil
			}
		}
		return "", errors.New("log in: the provider leads in circles")
	}
}
