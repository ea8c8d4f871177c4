package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// chat is one conversation with an agent.
type chat struct {
	server             *parley.Server
	app, user, session string
	screen             *screen
	stderr             io.Writer
	// interactive means that a person types: a failed turn is then shown, and does
	// not end the chat.
	interactive bool
	// interrupts receives the user's Ctrl-C, which stops the answer.
	interrupts <-chan os.Signal
	quit       func()                  // ends the conversation, where it cannot be stopped otherwise
	keep       func(text string) error // keeps a message for later conversations; nil for none
	// waiting are the calls that wait for an answer from outside, in order.
	waiting []*event.FunctionCall
	// desk receives users who return from a login, and asked are the calls of this
	// turn that request one.
	desk  *loginListener
	asked []*event.FunctionCall
}

// path returns the URL path of the session.
func (c *chat) path() string {
	return "/apps/" + url.PathEscape(c.app) + "/users/" + url.PathEscape(c.user) + "/sessions/" + url.PathEscape(c.session)
}

// all sends messages until there are no more.
func (c *chat) all(ctx context.Context, message next) error {
	for {
		prompt := c.prompt()
		text, err := message(ctx, prompt)
		if errors.Is(err, io.EOF) {
			if c.interactive {
				c.screen.line("")
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
		if c.interactive && !strings.HasSuffix(text, "\n") {
			c.screen.line("") // it was not typed, so the prompt is still open
		}
		switch text = strings.TrimSpace(text); strings.ToLower(text) {
		case "":
			continue
		case "exit", "quit", "/exit", "/quit":
			return nil
		}
		if !c.interactive {
			fmt.Fprint(c.screen.out, prompt)
			c.screen.line(text)
		} else if c.command(text) {
			continue
		}
		err = c.say(ctx, text)
		switch {
		case errors.Is(err, errUndecided):
			c.screen.line(undecidedHelp)
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case err != nil && c.interactive:
			fmt.Fprintf(c.stderr, "error: %s\n", clean(strings.TrimPrefix(err.Error(), "parley: ")))
		case err != nil:
			return err
		}
	}
}

// say sends a message and shows the turn.
func (c *chat) say(ctx context.Context, text string) error {
	message, err := c.message(text)
	if err != nil {
		return err
	}
	if c.keep != nil && c.question() == nil && len(c.desk.pending) == 0 && !strings.HasPrefix(text, "/") {
		_ = c.keep(text) // it is not worth an error
	}
	defer c.screen.finish()
	c.asked = nil
	run, err := c.server.Start(ctx, parley.Request{App: c.app, User: c.user, Session: c.session, Message: message, Stream: true})
	if err != nil {
		return err
	}
	stopped, done := c.stopOnInterrupt(ctx, run)
	defer done()
	var failed error // by the model, which is part of the conversation
	given := message.FunctionResponses()
	taken := func() { // before what is asked next, which may have the same id
		for _, response := range given {
			c.answered(response)
		}
		given = nil
	}
	for ev, err := range run.Events(ctx) {
		if err != nil && stopped() {
			c.screen.line("Stopped.")
			return nil
		}
		if err != nil {
			return err
		}
		taken()
		c.screen.show(ev)
		c.watch(ev)
		if ev.ErrorCode != "" || ev.ErrorMessage != "" {
			failed = errors.New(strings.TrimPrefix(ev.ErrorCode+": "+ev.ErrorMessage, ": "))
		}
	}
	taken()
	if err := c.logins(ctx); err != nil {
		return err
	}
	c.showWaiting()
	if stopped() {
		return nil
	}
	return failed
}

// showWaiting shows the calls that wait for an answer. Questions are asked at the
// prompt.
func (c *chat) showWaiting() {
	for _, call := range c.waiting {
		if questionIn(call) == nil {
			c.screen.line(fmt.Sprintf("%s waits for an answer. To give one: /answer %s {\"status\": \"done\"}", call.Name, call.ID))
		}
	}
}

// stopOnInterrupt cancels a run when the user interrupts it, and ends the conversation
// at the second time. stopped reports whether that has happened, and done ends the watch.
func (c *chat) stopOnInterrupt(ctx context.Context, run *parley.Run) (stopped func() bool, done func()) {
	var cancelled atomic.Bool
	over := make(chan struct{})
	select {
	case <-c.interrupts: // meant for the answer before
	default:
	}
	go func() {
		for {
			select {
			case <-c.interrupts:
			case <-over:
				return
			}
			if cancelled.Swap(true) {
				c.quit()
				return
			}
			if err := run.Cancel(ctx); err != nil {
				fmt.Fprintf(c.stderr, "error: %s\n", clean(err.Error()))
			}
		}
	}()
	return cancelled.Load, func() { close(over) }
}

const commandHelp = `/help                  show this
/session               show the id of the session
/answer <id> <json>    answer the call of a tool that waits
/say <text>            speak to the agent while it waits for an answer
exit, quit, Ctrl-D     end the conversation

Ctrl-C stops an answer, and ends the conversation when there is none.`

// command runs a command that is not for the agent, and reports whether the line is
// one.
func (c *chat) command(text string) bool {
	name, _, _ := strings.Cut(text, " ")
	switch name {
	case "/answer", "/say":
		return false
	case "/help":
		c.screen.line(commandHelp)
		return true
	case "/session":
		c.screen.line(c.session)
		return true
	}
	if !commandName.MatchString(name) {
		return false
	}
	c.screen.line(name + " is not a command: /help lists them, and /say sends any text to the agent.")
	return true
}

var commandName = regexp.MustCompile(`^/[a-z]+$`)

// message converts a typed line to a message: an answer to a call, the URL with
// which the user returned from a login, the answer to a question, or text.
func (c *chat) message(text string) (*event.Content, error) {
	if command, rest, _ := strings.Cut(text, " "); command == "/answer" {
		return c.answer(rest)
	}
	if back, err := c.desk.answer(text); back != nil || err != nil {
		return back, err
	}
	return c.reply(text)
}

// logins shows the logins that the agent waits for, with details of those that this
// turn has requested.
func (c *chat) logins(ctx context.Context) error {
	if len(c.asked) == 0 && len(c.desk.pending) > 0 {
		c.screen.line("The agent still waits for you to log in.")
	}
	for _, call := range c.asked {
		if !c.interactive {
			return errNotInteractive
		}
		l, err := c.desk.take(ctx, call)
		if err != nil {
			return err
		}
		c.screen.line(l.explain())
	}
	return nil
}

var errNotInteractive = errors.New("the agent asks for a login, which needs a terminal: talk to it in a terminal, " +
	"or with a client of parley api_server that answers the request")

// watch tracks the calls that wait for an answer.
func (c *chat) watch(ev *event.Event) {
	if ev.Partial {
		return
	}
	for _, call := range ev.FunctionCalls() {
		switch {
		case tool.IsCredentialCall(call.Name):
			c.asked = append(c.asked, call)
		case slices.Contains(ev.LongRunningToolIDs, call.ID):
			c.waiting = append(c.waiting, call)
		}
	}
	for _, response := range ev.FunctionResponses() {
		c.answered(response)
	}
}

// answered removes a call, unless more answers follow.
func (c *chat) answered(response *event.FunctionResponse) {
	if !response.Interim() {
		c.desk.answered(response.ID)
		c.waiting = slices.DeleteFunc(c.waiting, func(call *event.FunctionCall) bool { return call.ID == response.ID })
	}
}

// answer creates the message that answers a call from an id, a space, and JSON. A
// value that is not an object becomes the result member of one, as for tools.
func (c *chat) answer(text string) (*event.Content, error) {
	id, value, _ := strings.Cut(strings.TrimSpace(text), " ")
	calls := slices.Concat(c.waiting, c.desk.calls())
	at := slices.IndexFunc(calls, func(call *event.FunctionCall) bool { return call.ID == id })
	if at < 0 {
		return nil, fmt.Errorf("no call with the id %q waits for an answer", id)
	}
	response := json.RawMessage(strings.TrimSpace(value))
	if !json.Valid(response) {
		return nil, fmt.Errorf("the answer to %s is not JSON: %s", id, value)
	}
	if !bytes.HasPrefix(response, []byte("{")) && !tool.IsCredentialCall(calls[at].Name) {
		response = slices.Concat([]byte(`{"result":`), response, []byte("}"))
	}
	return answering(calls[at], response), nil
}
