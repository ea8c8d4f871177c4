package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// talk is an application in testdata/agents and a conversation with it.
type talk struct {
	dir    string
	models says
	stream bool
	// story has what the user says on lines that start with "> ", and below
	// each what comes of it, one line an event. "> f returned {…}" answers the
	// latest call of f.
	story   string
	log     []string // what the log must have in it or, after "no ", must not
	engines int      // 0 for one
}

// says is what hosted models answer, by their name: one line a call.
//
//	call f{…} & g{…}       calls functions
//	tell instruction       says what it was told; also tools, contents, config
//	refuse CODE            answers with an error
//	fail                   cannot be reached
//
// Every other line is said as it is.
type says map[string]string

const flash = "gemini-2.5-flash"

var eventID = regexp.MustCompile(`"[a-z2-7]{16}"`)

// callID is the id that a call gets here; stories have ID in its place.
var callID = regexp.MustCompile(`\bparley-[a-z2-7]{24}\b`)

// introduction is what the loop itself says of an agent.
var introduction = regexp.MustCompile(`^You are an agent\. Your internal name is "[^"]*"\.(\n\nThe description about you is "[^"]*")?(\n\n)?`)

var functionCall = regexp.MustCompile(`^(\w+)(\{.*\})$`)

func step(line string) scripted.Step {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "call":
		var calls []*event.FunctionCall
		for one := range strings.SplitSeq(rest, " & ") {
			m := functionCall.FindStringSubmatch(one)
			calls = append(calls, &event.FunctionCall{Name: m[1], Args: json.RawMessage(m[2])})
		}
		return scripted.Calls(calls...)
	case "tell":
		return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			return scripted.Say(told(req, rest))(ctx, req)
		}
	case "refuse":
		return scripted.Error(rest, "The model refused.")
	case "fail":
		return scripted.Fail(errors.New("no route to the model"))
	}
	return scripted.Say(line)
}

// told is what a model was told in a request.
func told(req *model.Request, what string) string {
	switch what {
	case "instruction":
		text, _, _ := strings.Cut(req.Instruction, "\n\n\nYou have a list of other agents")
		return introduction.ReplaceAllString(text, "")
	case "tools":
		var all []string
		for _, d := range req.Tools {
			all = append(all, fmt.Sprintf("%s (%s) %s", d.Name, d.Description, d.Parameters))
		}
		return strings.Join(all, "; ")
	case "contents":
		var all []string
		for _, c := range req.Contents() {
			all = append(all, c.Role+said(c))
		}
		return strings.Join(all, " | ")
	case "config":
		var set map[string]any
		_ = json.Unmarshal([]byte(toJSON(req.Config)), &set)
		maps.DeleteFunc(set, func(_ string, v any) bool { return v == nil || v == "" || v == 0.0 })
		return toJSON(set)
	}
	panic("a model cannot tell " + what)
}

// make is Options.Models. Agents that name the same model share its lines.
func (s says) make() func(string, json.RawMessage, func(string) string) (model.Model, error) {
	made := map[string]model.Model{}
	var mu sync.Mutex
	return func(name string, options json.RawMessage, _ func(string) string) (model.Model, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(options) > len("{}") {
			name += string(options)
		}
		if made[name] == nil {
			lines, ok := s[name]
			if !ok {
				return nil, fmt.Errorf("no model is called %s", name)
			}
			var steps []scripted.Step
			for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
				steps = append(steps, step(strings.TrimSpace(line)))
			}
			made[name] = scripted.New(steps...)
		}
		return made[name], nil
	}
}

// host is a server with one application.
type host struct {
	srv *parley.Server
	app string
	log *logBuffer
}

// serve loads an application. It ends with the test.
func serve(t *testing.T, dir string, models says, environ ...string) (*host, error) {
	t.Helper()
	return serveWith(t, dir, models, 1, environ...)
}

// serveWith is serve with several engines.
func serveWith(t *testing.T, dir string, models says, engines int, environ ...string) (*host, error) {
	t.Helper()
	h := &host{app: "app", log: &logBuffer{}}
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	limits := engine.DefaultLimits()
	limits.Turn = time.Minute // a busy machine is not what is tested
	apps, err := script.Load(t.Context(), script.Options{
		Dir: dir, AppName: h.app, Environ: environ, Models: models.make(), Log: log, Limits: &limits, Engines: engines,
		Processes: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apps.Close)
	root, _, err := apps.Agent(h.app)
	if err != nil {
		return nil, err
	}
	h.srv, err = parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{h.app: root}, Limits: parley.Limits{ModelCalls: 20}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.srv.Close(context.WithoutCancel(t.Context())) })
	return h, nil
}

func (h *host) send(ctx context.Context, message *event.Content, stream bool) iter.Seq2[*event.Event, error] {
	return h.srv.Stream(ctx, parley.Request{App: h.app, User: "u", Session: "s", Message: message, Stream: stream})
}

func (c talk) run(t *testing.T, environ ...string) {
	t.Helper()
	h, err := serveWith(t, filepath.Join("testdata", "agents", c.dir), c.models, c.engines, environ...)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(c.story)
	var got []string
	calls := map[string]string{} // the ids of the latest calls
	for line := range strings.SplitSeq(want, "\n") {
		text, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		got = append(got, line)
		message := event.Text(event.RoleUser, text)
		if name, result, ok := strings.Cut(text, " returned "); ok {
			message.Parts = []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: calls[name], Name: name, Response: json.RawMessage(result)}}}
		}
		for ev, err := range h.send(t.Context(), message, c.stream) {
			if err != nil {
				got = append(got, "failed: "+err.Error())
				continue
			}
			for _, call := range ev.FunctionCalls() {
				calls[call.Name] = call.ID
			}
			got = append(got, lineOf(ev))
		}
	}
	if text := callID.ReplaceAllString(strings.Join(got, "\n"), "ID"); text != want {
		t.Errorf("what happened:\n%s\nwanted:\n%s\nlog:\n%s", text, want, h.log)
	}
	for _, text := range c.log {
		absent, no := strings.CutPrefix(text, "no ")
		switch {
		case !no:
			h.log.await(t, text)
		case strings.Contains(h.log.String(), absent):
			t.Errorf("%q is in the log:\n%s", absent, h.log)
		}
	}
}

// lineOf is an event on one line.
func lineOf(ev *event.Event) string {
	line := ev.Author
	if ev.Branch != "" {
		line += "@" + ev.Branch
	}
	line += ":"
	if ev.Partial {
		line += " ~"
	}
	line += said(ev.Content)
	if ev.ErrorCode != "" {
		line += fmt.Sprintf(" error %s (%s)", ev.ErrorCode, ev.ErrorMessage)
	}
	if len(ev.Actions.StateDelta) > 0 {
		line += " state" + toJSON(ev.Actions.StateDelta)
	}
	delete(ev.CustomMetadata, "pieceIndex") // of pieces
	if len(ev.CustomMetadata) > 0 {
		line += " metadata" + eventID.ReplaceAllString(toJSON(ev.CustomMetadata), `"…"`)
	}
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{ev.Actions.TransferToAgent != "", "transfer " + ev.Actions.TransferToAgent},
		{ev.Actions.Escalate, "escalates"},
		{ev.Actions.SkipSummarization, "as it is"},
		{len(ev.LongRunningToolIDs) > 0, "waits"},
		{ev.TurnComplete, "(end)"},
	} {
		if note.holds {
			line += " " + note.text
		}
	}
	return line
}

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func said(c *event.Content) string {
	if c == nil {
		return ""
	}
	text := ""
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			text += fmt.Sprintf(" call %s%s", p.FunctionCall.Name, p.FunctionCall.Args)
		case p.FunctionResponse != nil:
			text += fmt.Sprintf(" %s returned %s", p.FunctionResponse.Name, p.FunctionResponse.Response)
		default:
			text += " " + strings.ReplaceAll(p.Text, "\n", "↵")
		}
	}
	return text
}

// logBuffer is a log that is read while it may still be written.
type logBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed by the next write; nil without a waiter
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// await returns when the log has a text in it.
func (b *logBuffer) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		b.mu.Lock()
		found := strings.Contains(b.buf.String(), text)
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("%q has not come into the log:\n%s", text, b)
		}
	}
}
