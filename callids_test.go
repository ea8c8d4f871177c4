package parley_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/modelserver"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// payments is an agent whose tools are pay, which needs an approval, and ask,
// which is answered from outside.
func payments(t *testing.T, m model.Model) parley.Config {
	t.Helper()
	type in struct {
		Amount int `json:"amount"`
	}
	pay := tool.Confirm(tool.Must(tool.New(tool.Declaration{Name: "pay"}, func(_ *tool.Context, in in) (map[string]int, error) {
		return map[string]int{"paid": in.Amount}, nil
	})), nil)
	ask := tool.Must(tool.New(tool.Declaration{Name: "ask", LongRunning: true}, func(*tool.Context, in) (any, error) {
		return map[string]string{"status": "pending"}, nil
	}))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "assistant", Model: m, Tools: []tool.Tool{pay, ask}})
	if err != nil {
		t.Fatal(err)
	}
	return parley.Config{Agents: map[string]*agent.Agent{"app": root}}
}

// scriptedPayments is payments in TypeScript, with a model of the author's own
// that gives the replies in turn, and says at the end which ids it was sent.
func scriptedPayments(t *testing.T, replies []modelserver.Reply) parley.Config {
	t.Helper()
	var turns [][]map[string]any
	for _, r := range replies {
		var parts []map[string]any
		for _, c := range r.Calls {
			parts = append(parts, map[string]any{"functionCall": map[string]any{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Args)}})
		}
		turns = append(turns, parts)
	}
	doc, err := json.Marshal(turns)
	if err != nil {
		t.Fatal(err)
	}
	code := `import { BaseLlm, FunctionTool, LlmAgent, LongRunningFunctionTool } from '@google/adk';
const parameters = { type: 'OBJECT', properties: { amount: { type: 'NUMBER' } } } as any;
const turns = ` + string(doc) + ` as any[];
class Numbered extends BaseLlm {
  async *generateContentAsync(request: any): AsyncGenerator<any, void> {
    const parts = turns.shift();
    if (parts?.length) {
      yield { content: { role: 'model', parts } };
      return;
    }
    const sent = request.contents.flatMap((c: any) => c.parts).map((p: any) => p.functionCall ? 'call ' + p.functionCall.id : p.functionResponse ? 'result ' + p.functionResponse.id : '');
    yield { content: { role: 'model', parts: [{ text: sent.filter(Boolean).join(', ') }] } };
  }
  async connect(): Promise<any> { throw new Error('not live'); }
}
const pay = new FunctionTool({ name: 'pay', description: 'Pays.', parameters, requireConfirmation: true, execute: async ({ amount }: any) => ({ paid: amount }) } as any);
const ask = new LongRunningFunctionTool({ name: 'ask', description: 'Asks.', parameters, execute: async () => ({ status: 'pending' }) } as any);
export const rootAgent = new LlmAgent({ name: 'assistant', model: new Numbered({ model: 'numbered' }), tools: [pay, ask] });`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}}
}

// numberedModels are the ways in which numbered calls come in. sent is what the
// provider was sent back in its last request: calls and results with their ids.
var numberedModels = map[string]func(t *testing.T, replies []modelserver.Reply) (cfg parley.Config, stream bool, sent func(events []*event.Event) string){
	"a Go model": func(t *testing.T, replies []modelserver.Reply) (parley.Config, bool, func([]*event.Event) string) {
		t.Helper()
		var steps []scripted.Step
		for _, r := range replies {
			var calls []*event.FunctionCall
			for _, c := range r.Calls {
				calls = append(calls, &event.FunctionCall{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args)})
			}
			if len(calls) > 0 {
				steps = append(steps, scripted.Calls(calls...))
			} else {
				steps = append(steps, scripted.Say("Done."))
			}
		}
		m := scripted.New(steps...)
		return payments(t, m), false, func([]*event.Event) string {
			var ids []string
			for _, c := range m.Requests()[len(m.Requests())-1].Contents() {
				for _, call := range c.FunctionCalls() {
					ids = append(ids, "call "+call.ID)
				}
				for _, r := range c.FunctionResponses() {
					ids = append(ids, "result "+r.ID)
				}
			}
			return strings.Join(ids, ", ")
		}
	},
	"a TypeScript model": func(t *testing.T, replies []modelserver.Reply) (parley.Config, bool, func([]*event.Event) string) {
		t.Helper()
		return scriptedPayments(t, replies), false, func(events []*event.Event) string { return events[len(events)-1].Content.Text() }
	},
	"gemini": hostedNumbers(0, false), "gemini stream": hostedNumbers(0, true),
	"openai": hostedNumbers(1, false), "openai stream": hostedNumbers(1, true),
}

func hostedNumbers(place int, stream bool) func(*testing.T, []modelserver.Reply) (parley.Config, bool, func([]*event.Event) string) {
	return func(t *testing.T, replies []modelserver.Reply) (parley.Config, bool, func([]*event.Event) string) {
		t.Helper()
		s := switches[place]
		api := &modelserver.Server{Dialect: s.dialect, Replies: replies}
		models := httptest.NewServer(api)
		t.Cleanup(models.Close)
		for key, value := range s.env(models.URL) {
			t.Setenv(key, value)
		}
		return payments(t, model.Named(s.name)), stream, func([]*event.Event) string {
			asked := api.Asked()
			var ids []string
			for _, turn := range asked[len(asked)-1].Turns {
				if words := strings.Fields(turn); words[0] == "call" || words[0] == "result" {
					ids = append(ids, words[0]+" "+words[1])
				}
			}
			return strings.Join(ids, ", ")
		}
	}
}

// numberedTalk is a session with an agent.
type numberedTalk struct {
	t      *testing.T
	cfg    parley.Config
	stream bool
	srv    *parley.Server
}

func (n *numberedTalk) start() {
	n.t.Helper()
	n.cfg.Log = slog.New(slog.DiscardHandler)
	srv, err := parley.Open(context.Background(), n.cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	n.srv = srv
	n.t.Cleanup(func() { srv.Close(context.Background()) })
}

func (n *numberedTalk) send(parts ...*event.Part) []*event.Event {
	n.t.Helper()
	var events []*event.Event
	for ev, err := range n.srv.Stream(n.t.Context(), parley.Request{App: "app", User: "u", Session: "s", Stream: n.stream, Message: &event.Content{Role: event.RoleUser, Parts: parts}}) {
		if err != nil {
			n.t.Fatal(err)
		}
		if !ev.Partial {
			events = append(events, ev)
		}
	}
	return events
}

// asked are the ids of the confirmations that events ask for, in order.
func asked(events []*event.Event) (ids []string) {
	for _, ev := range events {
		for _, call := range ev.FunctionCalls() {
			if call.Name == tool.ConfirmationCall {
				ids = append(ids, call.ID)
			}
		}
	}
	return ids
}

func confirms(id string, yes bool) *event.Part {
	return &event.Part{FunctionResponse: &event.FunctionResponse{ID: id, Name: tool.ConfirmationCall, Response: fmt.Appendf(nil, `{"confirmed":%t}`, yes)}}
}

// results are what the tools returned in events.
func results(events []*event.Event) string {
	var all []string
	for _, ev := range events {
		for _, r := range ev.FunctionResponses() {
			all = append(all, string(r.Response))
		}
	}
	return strings.Join(all, " ")
}

var done = modelserver.Reply{Text: []string{"Done."}}

const rejection = `{"error":"This tool call is rejected."}`

// An approval is for the call that was asked about, also if the model has given
// its id to another call of the same response. The provider gets its ids back.
func TestApprovalOfCallsWithOneID(t *testing.T) {
	calls := []modelserver.Call{{ID: "call_0", Name: "pay", Args: `{"amount":1}`}, {ID: "call_0", Name: "pay", Args: `{"amount":2}`}}
	for name, build := range numberedModels {
		t.Run(name, func(t *testing.T) {
			cfg, stream, sent := build(t, []modelserver.Reply{{Calls: calls}, done, done})
			n := &numberedTalk{t: t, cfg: cfg, stream: stream}
			n.start()
			first := n.send(&event.Part{Text: "pay"})
			ids := asked(first)
			if made := first[0].FunctionCalls(); len(ids) != 2 || len(made) != 2 || made[0].ID != "call_0" || made[1].ID == "call_0" {
				t.Fatalf("questions %q about %+v", ids, made)
			}
			second := n.send(confirms(ids[0], false), confirms(ids[1], true))
			if got, want := results(second), rejection+` {"paid":2}`; got != want {
				t.Errorf("reject the first and approve the second: %s, want %s", got, want)
			}
			if got, want := sent(second), "call call_0, call call_0, result call_0, result call_0"; got != want && !strings.HasPrefix(got, "call call_0, call call_0, result call_0, result call_0, ") {
				t.Errorf("the provider was sent %q, want %q", got, want)
			}
		})
		t.Run(name+", one at a time", func(t *testing.T) {
			cfg, stream, _ := build(t, []modelserver.Reply{{Calls: calls}, done, done})
			n := &numberedTalk{t: t, cfg: cfg, stream: stream}
			n.start()
			ids := asked(n.send(&event.Part{Text: "pay"}))
			if got, want := results(n.send(confirms(ids[1], true))), `{"paid":2}`; got != want {
				t.Errorf("approve the second: %s, want %s", got, want)
			}
			if got, want := results(n.send(confirms(ids[0], false))), rejection; got != want {
				t.Errorf("reject the first: %s, want %s", got, want)
			}
		})
	}
}

// Some servers number the calls of each response from 0. Calls of different
// turns stay apart, in every store and after a restart.
func TestCallsWithIDsOfEarlierTurns(t *testing.T) {
	call := func(amount int) modelserver.Reply {
		return modelserver.Reply{Calls: []modelserver.Call{{ID: "call_0", Name: "ask", Args: fmt.Sprintf(`{"amount":%d}`, amount)}}}
	}
	replies := []modelserver.Reply{call(1), done, call(2), done, done, done}
	for name, build := range numberedModels {
		for _, store := range []string{"memory", "sqlite"} {
			t.Run(name+"/"+store, func(t *testing.T) {
				cfg, stream, sent := build(t, replies)
				if store != "memory" {
					cfg.Sessions.URL = "sqlite://" + filepath.Join(t.TempDir(), "s.db")
				}
				n := &numberedTalk{t: t, cfg: cfg, stream: stream}
				n.start()
				restart := func() {
					if store != "memory" && cfg.Scripts.Dir == "" { // the model in TypeScript would begin again
						n.srv.Close(t.Context())
						n.start()
					}
				}
				one := n.send(&event.Part{Text: "one"})[0].FunctionCalls()[0]
				restart()
				two := n.send(&event.Part{Text: "two"})[0].FunctionCalls()[0]
				if one.ID != "call_0" || two.ID == "call_0" {
					t.Fatalf("the calls have the ids %s and %s", one.ID, two.ID)
				}
				restart()
				answer := func(call *event.FunctionCall) []*event.Event {
					return n.send(&event.Part{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(`{"ok":true}`)}})
				}
				answer(two)
				last := answer(one)
				got := sent(last)
				if want := "call call_0, result call_0, call call_0, result call_0, "; !strings.HasPrefix(got, want) || strings.Contains(got, model.CallIDPrefix) {
					t.Errorf("the provider was sent %q, want it to begin with %q", got, want)
				}
			})
		}
	}
}

// A caller who imports a session does not know which ids are taken in it.
func TestCallWithIDOfImportedCall(t *testing.T) {
	m := scripted.New(scripted.Calls(&event.FunctionCall{ID: "call_0", Name: "pay", Args: json.RawMessage(`{"amount":1}`)}), scripted.Say("Done."))
	n := &numberedTalk{t: t, cfg: payments(t, m)}
	n.start()
	body := `{"sessionId":"s","events":[
		{"id":"1","invocationId":"e-1","author":"user","content":{"role":"user","parts":[{"text":"pay"}]}},
		{"id":"2","invocationId":"e-1","author":"assistant","content":{"role":"model","parts":[{"functionCall":{"id":"call_0","name":"look","args":{}}}]}},
		{"id":"3","invocationId":"e-1","author":"assistant","content":{"role":"user","parts":[{"functionResponse":{"id":"call_0","name":"look","response":{}}}]}}]}`
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/apps/app/users/u/sessions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	n.srv.Handler().ServeHTTP(w, r)
	if w.Code >= 300 {
		t.Fatalf("import: %d %s", w.Code, w.Body)
	}
	events := n.send(&event.Part{Text: "pay"})
	if id := events[0].FunctionCalls()[0].ID; id == "call_0" {
		t.Errorf("the call has the id %s, which is taken", id)
	}
	if got, want := results(n.send(confirms(asked(events)[0], true))), `{"paid":1}`; got != want {
		t.Errorf("approved: %s, want %s", got, want)
	}
}
