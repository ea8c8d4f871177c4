package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// visitor is a client of the agent. It runs it in process; over HTTP the events
// and the answer are the same, as JSON.
type visitor struct {
	server *parley.Server
	out    io.Writer
	// redirect is where the provider sends the user back to, and visit sends the
	// user to an address and returns the one that the user came back with.
	redirect string
	visit    func(ctx context.Context, address string) (callback string, err error)
}

// say says something, and logs the user in when the agent asks for it.
func (v *visitor) say(ctx context.Context, text string) error {
	fmt.Fprintf(v.out, "[you]: %s\n", text)
	message := event.Text(event.RoleUser, text)
	for message != nil {
		var request *event.FunctionCall
		for ev, err := range v.server.Stream(ctx, parley.Request{App: "calendar", User: "you", Session: "today", Message: message}) {
			if err != nil {
				return err
			}
			for _, call := range ev.FunctionCalls() {
				if tool.IsCredentialCall(call.Name) {
					request = call
				}
			}
			v.show(ev)
		}
		message = nil
		if request != nil {
			var err error
			if message, err = v.logIn(ctx, request); err != nil {
				return err
			}
		}
	}
	return nil
}

// logIn sends the user to the provider, and makes the answer to the request.
func (v *visitor) logIn(ctx context.Context, request *event.FunctionCall) (*event.Content, error) {
	asked, err := tool.AskedConfig(request)
	if err != nil {
		return nil, err
	}
	if asked.Exchanged == nil || asked.Exchanged.OAuth2 == nil {
		return nil, errors.New("the agent asks for something other than a login")
	}
	login := asked.Exchanged.OAuth2
	login.RedirectURI = v.redirect
	login.AuthResponseURI, err = v.visit(ctx, login.AuthURI+"&redirect_uri="+url.QueryEscape(v.redirect))
	if err != nil {
		return nil, err
	}
	response, err := asked.AppendJSON(nil, credential.Camel)
	if err != nil {
		return nil, err
	}
	answer := &event.FunctionResponse{ID: request.ID, Name: request.Name, Response: response}
	return &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: answer}}}, nil
}

// show prints an event.
func (v *visitor) show(ev *event.Event) {
	for _, call := range ev.FunctionCalls() {
		if !tool.IsCredentialCall(call.Name) {
			fmt.Fprintf(v.out, "  → %s %s\n", call.Name, call.Args)
		}
	}
	for _, result := range ev.FunctionResponses() {
		fmt.Fprintf(v.out, "  ← %s %s\n", result.Name, result.Response)
	}
	if text := ev.Content.Text(); text != "" {
		fmt.Fprintf(v.out, "[%s]: %s\n", ev.Author, text)
	}
	if ev.ErrorMessage != "" {
		fmt.Fprintf(v.out, "[%s]: %s\n", ev.Author, ev.ErrorMessage)
	}
}

// callback is the redirect URI of the browser.
type callback struct {
	address string
	came    chan string
	server  *http.Server
}

func listenCallback(ctx context.Context) (*callback, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &callback{address: "http://" + listener.Addr().String() + "/callback", came: make(chan string, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		select {
		case d.came <- "http://" + r.Host + r.URL.String():
		default: // one is enough
		}
		fmt.Fprintln(w, "Go back to the terminal: the conversation continues there.")
	})
	d.server = &http.Server{Handler: mux}
	go func() { _ = d.server.Serve(listener) }()
	return d, nil
}

func (d *callback) close() { _ = d.server.Close() }

// wait shows the user the way, and waits until they come back.
func (d *callback) wait(out io.Writer) func(context.Context, string) (string, error) {
	return func(ctx context.Context, address string) (string, error) {
		fmt.Fprintf(out, "\nThe agent asks you to log in. Open this address in a browser, type any name, and choose Allow:\n\n  %s\n\n", address)
		select {
		case callback := <-d.came:
			return callback, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
