package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
)

// chat is one conversation with an agent.
type chat struct {
	server             *parley.Server
	app, user, session string
	screen             *screen
	stderr             io.Writer
	// interactive means that a person types: a turn that fails is then shown,
	// and not the end.
	interactive bool
	// waiting are the calls that are answered from outside, in the order in
	// which they were made.
	waiting []*event.FunctionCall
}

// path is where the session is served.
func (c *chat) path() string {
	return "/apps/" + url.PathEscape(c.app) + "/users/" + url.PathEscape(c.user) + "/sessions/" + url.PathEscape(c.session)
}

// all takes messages until there are no more.
func (c *chat) all(ctx context.Context, message next) error {
	for {
		if c.interactive {
			c.prompt()
		}
		text, err := message(ctx)
		if errors.Is(err, io.EOF) {
			if c.interactive {
				c.screen.line("")
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
		switch text = strings.TrimSpace(text); strings.ToLower(text) {
		case "":
			continue
		case "exit", "quit":
			return nil
		}
		if !c.interactive {
			c.prompt()
			c.screen.line(text)
		}
		err = c.say(ctx, text)
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case err != nil && c.interactive:
			fmt.Fprintf(c.stderr, "error: %s\n", clean(strings.TrimPrefix(err.Error(), "parley: ")))
		case err != nil:
			return err
		}
	}
}

// say is one turn: a message, and everything that the agent does about it.
func (c *chat) say(ctx context.Context, text string) error {
	message := c.message(text)
	if command, rest, _ := strings.Cut(text, " "); command == "/answer" {
		var err error
		if message, err = c.answer(rest); err != nil {
			return err
		}
	}
	defer c.screen.finish()
	var failed error // by the model, which is part of the conversation
	for ev, err := range c.server.Stream(ctx, parley.Request{App: c.app, User: c.user, Session: c.session, Message: message, Stream: true}) {
		if err != nil {
			return err
		}
		c.screen.show(ev)
		c.watch(ev)
		if ev.ErrorCode != "" || ev.ErrorMessage != "" {
			failed = errors.New(strings.TrimPrefix(ev.ErrorCode+": "+ev.ErrorMessage, ": "))
		}
	}
	for _, given := range message.FunctionResponses() {
		c.answered(given)
	}
	for _, call := range c.waiting {
		if questionIn(call) != nil {
			continue // it is asked below
		}
		c.screen.line(fmt.Sprintf("%s waits for an answer. To give one: /answer %s {\"status\": \"done\"}", call.Name, call.ID))
	}
	return failed
}

// watch keeps track of the calls that wait for an answer.
func (c *chat) watch(ev *event.Event) {
	if ev.Partial {
		return
	}
	for _, call := range ev.FunctionCalls() {
		if slices.Contains(ev.LongRunningToolIDs, call.ID) {
			c.waiting = append(c.waiting, call)
		}
	}
	for _, response := range ev.FunctionResponses() {
		c.answered(response)
	}
}

// answered takes a call off the list, unless more is to come.
func (c *chat) answered(response *event.FunctionResponse) {
	if !response.Interim() {
		c.waiting = slices.DeleteFunc(c.waiting, func(call *event.FunctionCall) bool { return call.ID == response.ID })
	}
}

// answer makes the message that answers a call: an id, a blank, and JSON. What
// is not an object becomes the result in one, as with tools.
func (c *chat) answer(text string) (*event.Content, error) {
	id, value, _ := strings.Cut(strings.TrimSpace(text), " ")
	at := slices.IndexFunc(c.waiting, func(call *event.FunctionCall) bool { return call.ID == id })
	if at < 0 {
		return nil, fmt.Errorf("no call with the id %q waits for an answer", id)
	}
	response := json.RawMessage(strings.TrimSpace(value))
	if !json.Valid(response) {
		return nil, fmt.Errorf("the answer to %s is not JSON: %s", id, value)
	}
	if !bytes.HasPrefix(response, []byte("{")) {
		response = slices.Concat([]byte(`{"result":`), response, []byte("}"))
	}
	given := &event.FunctionResponse{ID: id, Name: c.waiting[at].Name, Response: response}
	return &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: given}}}, nil
}
