package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/gctune"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/openai"
	"github.com/parley-run/parley/tool"
)

// The applications: one that answers, one whose model takes its time, one whose model sees the conversation, one that asks
// for an approval, one that says a word and waits, one whose tool waits, and a workflow.
const (
	weatherApp = "weather"
	lateApp    = "late"
	talkApp    = "talk"
	askApp     = "ask"
	holdApp    = "hold"
	blockApp   = "block"
	graphApp   = "graph"
)

// newParley is the server as its users have it.
func newParley(w workload, where place) (subject, error) {
	gate := newGate()
	srv, err := parleyServer(gate, w, where)
	if err != nil {
		return subject{}, err
	}
	gctune.Tune(os.Getenv) // as the command does
	serve := func(ctx context.Context, listener net.Listener) error {
		go gctune.Watch(ctx)
		return srv.Serve(ctx, listener)
	}
	return subject{serve: serve, gate: gate}, nil
}

func parleyServer(gate *gate, w workload, where place) (*parley.Server, error) {
	if w.app == typescriptApp {
		return newTypeScript("", weatherModel{})
	}
	weather, err := tool.New(tool.Declaration{
		Name:        "get_weather",
		Description: "Reports the current weather in a city.",
	}, getWeather)
	if err != nil {
		return nil, err
	}
	slow, err := tool.New(tool.Declaration{
		Name:        "get_weather",
		Description: "Reports the current weather in a city, when the gate opens.",
		Effect:      tool.Pure,
	}, gate.getWeather)
	if err != nil {
		return nil, err
	}
	approve, err := tool.New(tool.Declaration{
		Name: "approve", Description: "Asks for an approval.", LongRunning: true,
	}, func(*tool.Context, struct{}) (report, error) { return report{Status: "pending"}, nil })
	if err != nil {
		return nil, err
	}
	encoded, err := newEncodedModel(gate)
	if err != nil {
		return nil, err
	}
	apps := map[string]*agent.Agent{}
	tools := map[string]tool.Tool{weatherApp: weather, lateApp: weather, talkApp: weather, askApp: approve, holdApp: weather, blockApp: slow}
	for name, m := range map[string]model.Model{weatherApp: weatherModel{}, lateApp: lateModel{}, talkApp: encoded, askApp: askModel{}, holdApp: holdModel{gate}, blockApp: weatherModel{}} {
		// What a model is sent grows with the session. That is the model's cost, and
		// would hide how much the rest grows.
		include := agent.IncludeNone
		if name == talkApp || name == askApp {
			include = agent.IncludeAll
		}
		apps[name], err = agent.NewLLM(agent.LLMConfig{
			Name:            name + "_agent",
			Model:           m,
			Instruction:     "Answer questions about the weather with the get_weather tool.",
			Tools:           []tool.Tool{tools[name]},
			IncludeContents: include,
		})
		if err != nil {
			return nil, err
		}
	}
	if apps[graphApp], err = newGraph(); err != nil {
		return nil, err
	}
	// A run that fails shows in the answer; the log would be the same thing again.
	var recording parley.RecordingConfig
	if w.records {
		recording.Share = 1
	}
	return parley.Open(context.Background(), parley.Config{
		Recording: recording,
		Agents:    apps, Sessions: parley.SessionConfig{URL: where.url, RunLease: where.lease},
		Stdout: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
}

// graphNodes is how many nodes the workflow has.
const graphNodes = 10

// newGraph is a workflow of functions, each of which passes its input on.
func newGraph() (*agent.Agent, error) {
	pass := func(_ *workflow.Context, in string) (string, error) { return in, nil }
	steps := []workflow.Step{workflow.Start}
	for i := range graphNodes {
		steps = append(steps, workflow.Func(fmt.Sprintf("node_%d", i), pass, workflow.NodeConfig{}))
	}
	return workflow.New(workflow.Config{Name: "graph_agent", Edges: workflow.Chain(steps...)})
}

type cityArgs struct {
	City string `json:"city" jsonschema:"The city, for example New York."`
}

type report struct {
	Status string `json:"status"`
	Report string `json:"report"`
}

func getWeather(_ *tool.Context, in cityArgs) (report, error) {
	return report{"success", "The weather in " + in.City + " is sunny with a temperature of 25 degrees Celsius."}, nil
}

// What the models say is made once: the cost of a model is not what is
// measured.
var (
	call = &model.Response{FinishReason: "STOP", Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{FunctionCall: &event.FunctionCall{Name: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`)}},
	}}}
	slowCall = &model.Response{FinishReason: "STOP", Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{FunctionCall: &event.FunctionCall{Name: "get_weather", Args: json.RawMessage(`{"city":"Slowtown"}`)}},
	}}}
	pieces, whole = spoken("The ", "weather ", "in ", "Paris ", "is ", "sunny, ", "with ", "25 ", "degrees ", "Celsius.")
)

// spoken is a text in pieces, and the whole.
func spoken(words ...string) (pieces []*model.Response, whole *model.Response) {
	for _, word := range words {
		piece := model.Text(word)
		piece.Partial = true
		pieces = append(pieces, piece)
	}
	whole = model.Text(strings.Join(words, ""))
	whole.FinishReason = "STOP"
	return pieces, whole
}

// weatherModel calls the tool and then says what it heard.
type weatherModel struct{}

func (weatherModel) Name() string { return "bench-weather" }

func (weatherModel) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	turn := req.Contents()
	return func(yield func(*model.Response, error) bool) {
		if len(turn[len(turn)-1].FunctionResponses()) == 0 {
			yield(call, nil)
			return
		}
		if req.Stream {
			for _, piece := range pieces {
				if !yield(piece, nil) {
					return
				}
			}
		}
		yield(whole, nil)
	}
}

// lateModel is weatherModel, after some time.
type lateModel struct{ weatherModel }

func (m lateModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		if err := retry.Sleep(ctx, lateness); err != nil {
			yield(nil, err)
			return
		}
		m.weatherModel.Generate(ctx, req)(yield)
	}
}

// encodedModel is weatherModel. When the gate is left open, it also encodes its requests as
// the adapter of a provider does.
type encodedModel struct {
	weatherModel
	gate    *gate
	adapter model.Model
}

func newEncodedModel(gate *gate) (*encodedModel, error) {
	adapter, err := openai.New("bench", &openai.Options{BaseURL: "http://provider.invalid/v1", HTTPClient: &http.Client{Transport: discard{}}})
	return &encodedModel{gate: gate, adapter: adapter}, err
}

func (m *encodedModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	if m.gate.isLeft() {
		for _, err := range m.adapter.Generate(ctx, req) {
			if err != nil {
				return func(yield func(*model.Response, error) bool) { yield(nil, err) }
			}
		}
	}
	return m.weatherModel.Generate(ctx, req)
}

// discard is a provider that reads requests, and answers with a word.
type discard struct{}

func (discard) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	const body = `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"yes"}}]}`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// askModel asks for an approval with a call of the id that the user writes, and says
// something when it has one.
type askModel struct{ weatherModel }

func (m askModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	turn := req.Contents()
	last := turn[len(turn)-1]
	if len(last.FunctionResponses()) > 0 {
		return m.weatherModel.Generate(ctx, req)
	}
	asked := &event.FunctionCall{ID: last.Text(), Name: "approve", Args: json.RawMessage(`{}`)}
	resp := &model.Response{FinishReason: "STOP", Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: asked}}}}
	return func(yield func(*model.Response, error) bool) { yield(resp, nil) }
}

// slowModel asks for the weather where it takes its time.
type slowModel struct{ weatherModel }

func (m slowModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	turn := req.Contents()
	if len(turn[len(turn)-1].FunctionResponses()) > 0 {
		return m.weatherModel.Generate(ctx, req)
	}
	return func(yield func(*model.Response, error) bool) { yield(slowCall, nil) }
}

// holdModel says one word and waits behind the gate.
type holdModel struct{ gate *gate }

func (holdModel) Name() string { return "bench-hold" }

func (h holdModel) Generate(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		if !yield(pieces[0], nil) {
			return
		}
		select {
		case <-h.gate.wait():
			yield(whole, nil)
		case <-ctx.Done():
			yield(nil, ctx.Err())
		}
	}
}

// gate is closed; opening it lets those pass who wait at that moment.
type gate struct {
	mu   sync.Mutex
	pass chan struct{}
	left bool // open, for good
}

func newGate() *gate { return &gate{pass: make(chan struct{})} }

// openGate is one that was never closed.
func openGate() *gate {
	g := newGate()
	g.leaveOpen()
	return g
}

func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pass
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.left {
		close(g.pass)
		g.pass = make(chan struct{})
	}
}

func (g *gate) isLeft() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left
}

// leaveOpen lets everyone pass from now on.
func (g *gate) leaveOpen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.left {
		close(g.pass)
		g.left = true
	}
}

// getWeather is the tool that waits behind the gate.
func (g *gate) getWeather(ctx *tool.Context, in cityArgs) (report, error) {
	select {
	case <-g.wait():
		return getWeather(ctx, in)
	case <-ctx.Done():
		return report{}, ctx.Err()
	}
}
