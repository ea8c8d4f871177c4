package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// ledger counts what tools have done.
type ledger struct {
	mu   sync.Mutex
	done []string
}

func (l *ledger) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, fmt.Sprintf(format, args...))
}

func (l *ledger) want(t *testing.T, want string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.done, ", "); got != want {
		t.Errorf("done: %q, want %q", got, want)
	}
}

type payIn struct {
	Amount int `json:"amount"`
}

// pay is a tool that must be confirmed.
func (l *ledger) pay(name string, when tool.When) tool.Tool {
	return tool.Confirm(tool.Must(tool.New(tool.Declaration{Name: name}, func(_ *tool.Context, in payIn) (map[string]int, error) {
		l.add("%s %d", name, in.Amount)
		return map[string]int{"paid": in.Amount}, nil
	})), when)
}

// questions are the requests for confirmations in events, as call ids by the
// name of the tool.
func questions(t *testing.T, events []*event.Event) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, ev := range events {
		for i, call := range ev.FunctionCalls() {
			if call.Name != tool.ConfirmationCall {
				continue
			}
			var args struct {
				OriginalFunctionCall struct{ ID, Name string }
				ToolConfirmation     struct {
					Hint      string
					Confirmed *bool
				}
			}
			if err := json.Unmarshal(call.Args, &args); err != nil {
				t.Fatal(err)
			}
			if c := args.ToolConfirmation; c.Hint == "" || c.Confirmed == nil || *c.Confirmed || ev.LongRunningToolIDs[i] != call.ID || args.OriginalFunctionCall.ID == "" {
				t.Errorf("the question is %s", call.Args)
			}
			found[args.OriginalFunctionCall.Name] = call.ID
		}
	}
	return found
}

func decide(id, answer string) *event.Part {
	return &event.Part{FunctionResponse: &event.FunctionResponse{ID: id, Name: tool.ConfirmationCall, Response: json.RawMessage(answer)}}
}

func (c *chat) decide(id, answer string) []*event.Event {
	c.t.Helper()
	return c.answer(id, tool.ConfirmationCall, answer)
}

// unasked is the story without the questions.
func unasked(events []*event.Event) string {
	var lines []string
	for line := range strings.SplitSeq(story(events), "\n") {
		if !strings.Contains(line, tool.ConfirmationCall) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

const unapproved = `returned {"error":"This tool call requires confirmation, please approve or reject."}`

func TestConfirmation(t *testing.T) {
	for answer, want := range map[string]string{
		`{"confirmed":true}`:                           "a: pay returned {\"paid\":7}\na: Done. (end)",
		`{"confirmed":false}`:                          "a: pay returned {\"error\":\"This tool call is rejected.\"}\na: Done. (end)",
		`{"response":"{\"confirmed\":true}"}`:          "a: pay returned {\"paid\":7}\na: Done. (end)",
		`{"confirmed":false,"reason":"No."}`:           "a: pay returned {\"error\":\"This tool call is rejected.\",\"reason\":\"No.\"}\na: Done. (end)",
		`{"confirmed":true,"editedArgs":{"amount":5}}`: "a: pay returned {\"editedArgs\":{\"amount\":5},\"paid\":5}\na: Done. (end)",
	} {
		t.Run(answer, func(t *testing.T) {
			var l ledger
			m := scripted.New(scripted.Call("pay", payIn{7}), scripted.Say("Chatting."), scripted.Say("Done."))
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(l.pay("pay", nil))}))
			first := c.say("pay 7")
			id := questions(t, first)["pay"]
			wantStory(t, first, `
a: call pay{"amount":7}
a: call adk_request_confirmation{"originalFunctionCall":{"id":"`+first[0].FunctionCalls()[0].ID+`","name":"pay","args":{"amount":7}},"toolConfirmation":{"hint":"Please approve or reject the call of pay.","confirmed":false}}
a: pay `+unapproved)
			if first[1].Content.Role != event.RoleModel || len(first[2].Actions.RequestedToolConfirmations) != 1 {
				t.Errorf("the question is %+v, the response %+v", first[1], first[2])
			}
			wantStory(t, c.say("meanwhile"), "a: Chatting. (end)")
			l.want(t, "")
			wantStory(t, c.decide(id, answer), want)
			made := ""
			if strings.Contains(want, "paid") {
				made = "pay 7"
			}
			if strings.Contains(answer, "editedArgs") {
				made = "pay 5"
			}
			l.want(t, made)
			for _, content := range m.Requests()[2].Contents() {
				doc, _ := content.MarshalJSON()
				if strings.Contains(string(doc), tool.ConfirmationCall) {
					t.Errorf("the model sees %s", doc)
				}
			}
			if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{decide(id, `{"confirmed":true}`)}}); !errors.Is(err, run.ErrAnswered) {
				t.Errorf("a second answer: %v", err)
			}
			l.want(t, made)
		})
	}
}

// A message that does not answer the question is refused, and the question stays open.
func TestConfirmationRefused(t *testing.T) {
	var l ledger
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: tools(l.pay("pay", nil)), Model: scripted.New(scripted.Call("pay", payIn{7}), scripted.Say("Done."))}))
	first := c.say("go")
	id := questions(t, first)["pay"]
	for name, part := range map[string]*event.Part{
		"no decision":       decide(id, `{}`),
		"a text":            decide(id, `{"result":"yes"}`),
		"no bool":           decide(id, `{"confirmed":"true"}`),
		"pending":           decide(id, `{"status":"pending"}`),
		"a broken text":     decide(id, `{"response":"{"}`),
		"another id":        decide("adk-other", `{"confirmed":true}`),
		"another function":  {FunctionResponse: &event.FunctionResponse{ID: id, Name: "pay", Response: json.RawMessage(`{"confirmed":true}`)}},
		"the call itself":   {FunctionResponse: &event.FunctionResponse{ID: first[0].FunctionCalls()[0].ID, Name: "pay", Response: json.RawMessage(`{"paid":7}`)}},
		"the call as login": {FunctionResponse: &event.FunctionResponse{ID: id, Name: tool.CredentialCall, Response: json.RawMessage(`{}`)}},
	} {
		if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{part}}); err == nil || !strings.Contains(err.Error(), part.FunctionResponse.ID) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.want(t, "")
	// What makes other answers interim does not keep a decision open.
	wantStory(t, c.decide(id, `{"confirmed":true,"status":"pending"}`), "a: pay returned {\"paid\":7}\na: Done. (end)")
	if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{decide(id, `{"confirmed":true}`)}}); !errors.Is(err, run.ErrAnswered) {
		t.Errorf("a second answer: %v", err)
	}
	l.want(t, "pay 7")
}

func TestConfirmationWhen(t *testing.T) {
	var l ledger
	big := func(_ *tool.Context, args json.RawMessage) (bool, error) {
		var in payIn
		err := json.Unmarshal(args, &in)
		return in.Amount > 100, err
	}
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: tools(l.pay("pay", big)), Model: scripted.New(
		scripted.Call("pay", payIn{7}), scripted.Say("Paid."),
		scripted.Call("pay", map[string]string{"amount": "all"}), scripted.Say("That was nonsense."),
		scripted.Call("pay", payIn{700}), scripted.Say("Paid, too."))}))
	wantStory(t, c.say("7"), "a: call pay{\"amount\":7}\na: pay returned {\"paid\":7}\na: Paid. (end)")
	// The user is not asked to approve what cannot be done.
	if got := c.say("all"); len(questions(t, got)) != 0 || !strings.Contains(story(got), "invalid arguments") {
		t.Errorf("events:\n%s", story(got))
	}
	id := questions(t, c.say("700"))["pay"]
	wantStory(t, c.decide(id, `{"confirmed":true}`), "a: pay returned {\"paid\":700}\na: Paid, too. (end)")
	l.want(t, "pay 7, pay 700")
}

// A tool that asks by itself gets what the user sent along.
func TestConfirmationPayload(t *testing.T) {
	var l ledger
	days := tool.Must(tool.New(tool.Declaration{Name: "leave"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		if ctx.Confirmation == nil {
			return tool.Pending("A manager decides."), ctx.RequestConfirmation("How many days?", map[string]int{"days": 0})
		}
		l.add("%s %t %s", ctx.Confirmation.Hint, ctx.Confirmation.Confirmed, ctx.Confirmation.Payload)
		return map[string]json.RawMessage{"granted": ctx.Confirmation.Payload}, nil
	}))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: tools(days), Model: scripted.New(
		scripted.Call("leave", nil), scripted.Say("Enjoy."), scripted.Call("leave", nil), scripted.Say("None."))}))
	first := c.say("go")
	if got := story(first); !strings.Contains(got, `"toolConfirmation":{"hint":"How many days?","confirmed":false,"payload":{"days":0}}`) || !strings.Contains(got, `leave returned {"message":"A manager decides.","pending":true}`) {
		t.Errorf("events:\n%s", got)
	}
	wantStory(t, c.decide(questions(t, first)["leave"], `{"confirmed":true,"payload":{"days":3}}`), "a: leave returned {\"granted\":{\"days\":3}}\na: Enjoy. (end)")
	wantStory(t, c.decide(questions(t, c.say("again"))["leave"], `{"confirmed":true}`), "a: leave returned {\"granted\":{\"days\":0}}\na: None. (end)")
	l.want(t, `How many days? true {"days":3}, How many days? true {"days":0}`)
}

func twoPayments(l *ledger, last ...scripted.Step) *agent.Agent {
	steps := append([]scripted.Step{scripted.Calls(
		&event.FunctionCall{Name: "pay", Args: json.RawMessage(`{"amount":1}`)},
		&event.FunctionCall{Name: "send", Args: json.RawMessage(`{"amount":2}`)},
		&event.FunctionCall{Name: "look", Args: json.RawMessage(`{"of":"x"}`)},
	)}, last...)
	return mustLLM(agent.LLMConfig{Name: "a", Tools: tools(l.pay("pay", nil), l.pay("send", nil), lookup("look")), Model: scripted.New(steps...)})
}

func TestConfirmationsOneByOne(t *testing.T) {
	var l ledger
	c := newChat(t, twoPayments(&l, scripted.Say("Half."), scripted.Say("All.")))
	first := c.say("go")
	if got := unasked(first); !strings.HasSuffix(got, "pay "+unapproved+" send "+unapproved+` look returned {"found":"x"}`) {
		t.Errorf("events:\n%s", got)
	}
	ids := questions(t, first)
	wantStory(t, c.decide(ids["send"], `{"confirmed":false}`), "a: send returned {\"error\":\"This tool call is rejected.\"}\na: Half. (end)")
	l.want(t, "")
	wantStory(t, c.decide(ids["pay"], `{"confirmed":true}`), "a: pay returned {\"paid\":1}\na: All. (end)")
	l.want(t, "pay 1")
}

func TestConfirmationsTogether(t *testing.T) {
	var l ledger
	c := newChat(t, twoPayments(&l, scripted.Say("All.")))
	ids := questions(t, c.say("go"))
	got, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{
		decide(ids["send"], `{"confirmed":true}`), {Text: "and be quick"}, decide(ids["pay"], `{"confirmed":false}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantStory(t, got, "a: send returned {\"paid\":2} pay returned {\"error\":\"This tool call is rejected.\"}\na: All. (end)")
	l.want(t, "send 2")
}

// What the user sends along is what the tool gets, also if that is null. The
// payload of the question is for answers that have none.
func TestConfirmationWithoutPayload(t *testing.T) {
	for answer, want := range map[string]string{
		`{"confirmed":true}`:                                   `{"days":0}`,
		`{"confirmed":true,"payload":null}`:                    "null",
		`{"response":"{\"confirmed\":true,\"payload\":null}"}`: "null",
		`{"confirmed":true,"payload":{}}`:                      "{}",
	} {
		t.Run(answer, func(t *testing.T) {
			var got json.RawMessage
			leave := tool.Must(tool.New(tool.Declaration{Name: "leave"}, func(ctx *tool.Context, _ struct{}) (any, error) {
				if ctx.Confirmation == nil {
					return tool.Pending("A manager decides."), ctx.RequestConfirmation("How many days?", map[string]int{"days": 0})
				}
				got = ctx.Confirmation.Payload
				return "granted", nil
			}))
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: tools(leave), Model: scripted.New(scripted.Call("leave", nil), scripted.Say("Enjoy."))}))
			c.decide(questions(t, c.say("go"))["leave"], answer)
			if string(got) != want {
				t.Errorf("the tool got the payload %q, want %q", got, want)
			}
		})
	}
}

// Questions of different turns may be answered together, too.
func TestConfirmationsOfSeveralTurns(t *testing.T) {
	var l ledger
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: tools(l.pay("pay", nil)), Model: scripted.New(
		scripted.Calls(&event.FunctionCall{ID: "1", Name: "pay", Args: json.RawMessage(`{"amount":1}`)}),
		scripted.Calls(&event.FunctionCall{ID: "1", Name: "pay", Args: json.RawMessage(`{"amount":2}`)}),
		// Approved is what was asked about, not what has the same number.
		scripted.Calls(&event.FunctionCall{ID: "1", Name: "pay", Args: json.RawMessage(`{"amount":3}`)}))}))
	one, two := questions(t, c.say("one"))["pay"], questions(t, c.say("two"))["pay"]
	got := c.decide(one, `{"confirmed":true}`)
	l.want(t, "pay 1")
	if questions(t, got)["pay"] == "" {
		t.Errorf("the third payment was not asked about:\n%s", story(got))
	}
	if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{decide(two, `{"confirmed":true}`)}}); err == nil {
		t.Error("the script has ended, and the model answered")
	}
	l.want(t, "pay 1, pay 2")
}

func TestConfirmationInWorkflows(t *testing.T) {
	var l ledger
	branch := func(name string) *agent.Agent {
		return mustLLM(agent.LLMConfig{Name: name, Tools: tools(l.pay("pay_"+name, nil)), Model: scripted.New(
			scripted.Call("pay_"+name, payIn{1}), scripted.Say(name+" paid."))})
	}
	tree := func() *agent.Agent {
		return sequential("seq", parallel("par", branch("x"), branch("y")), speaker("last", scripted.Say("Both.")))
	}
	const last = "last: Both. state{\"last\":\"Both.\"} (end)"
	t.Run("one by one", func(t *testing.T) {
		c := newChat(t, tree())
		ids := questions(t, c.say("go"))
		wantStory(t, c.decide(ids["pay_y"], `{"confirmed":true}`), "y@par.y: pay_y returned {\"paid\":1}\ny@par.y: y paid.")
		wantStory(t, c.decide(ids["pay_x"], `{"confirmed":true}`), "x@par.x: pay_x returned {\"paid\":1}\nx@par.x: x paid.\n"+last)
	})
	t.Run("together", func(t *testing.T) {
		c := newChat(t, tree())
		ids := questions(t, c.say("go"))
		got, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{decide(ids["pay_y"], `{"confirmed":true}`), decide(ids["pay_x"], `{"confirmed":true}`)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"y@par.y: y paid.", "x@par.x: x paid.", last} {
			if strings.Count(story(got), want) != 1 {
				t.Errorf("no %q in:\n%s", want, story(got))
			}
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.done) != 4 {
		t.Errorf("done: %v", l.done)
	}
}

// The agent that asked goes on, wherever the conversation is by then.
func TestConfirmationInSubAgent(t *testing.T) {
	var l ledger
	sub := mustLLM(agent.LLMConfig{Name: "b", Tools: tools(l.pay("pay", nil)), DisallowTransferToParent: true, Model: scripted.New(scripted.Call("pay", payIn{5}), scripted.Say("B goes on."))})
	other := mustLLM(agent.LLMConfig{Name: "c", Tools: tools(l.pay("pay", nil)), Model: scripted.New(scripted.Call("pay", payIn{6}), scripted.Say("C goes on."))})
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", SubAgents: []*agent.Agent{sub, other}, Model: scripted.New(handTo("b"), scripted.Say("A chats."), handTo("c"))}))
	id := questions(t, c.say("go"))["pay"]
	wantStory(t, c.say("hello?"), "a: A chats. (end)")
	second := questions(t, c.say("c, please"))["pay"]
	_, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{decide(id, `{"confirmed":true}`), decide(second, `{"confirmed":true}`)}})
	if !errors.Is(err, run.ErrSeparate) || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), second) {
		t.Errorf("answers for two agents: %v", err)
	}
	l.want(t, "")
	wantStory(t, c.decide(id, `{"confirmed":true}`), "b: pay returned {\"paid\":5}\nb: B goes on. (end)")
	wantStory(t, c.decide(second, `{"confirmed":true}`), "c: pay returned {\"paid\":6}\nc: C goes on. (end)")
	l.want(t, "pay 5, pay 6")
}

// An approval holds when the call then has to wait for a login.
func TestConfirmationBeforeLogin(t *testing.T) {
	m := scripted.New(scripted.Call("calendar", nil), scripted.Say("Here it is."))
	o := newLoginChat(t, m, tool.Confirm(protected("calendar", "k"), nil))
	events, _ := o.run(event.Text(event.RoleUser, "go"), nil)
	answer := func(ev *event.Event, doc string) ([]*event.Event, error) {
		call := ev.FunctionCalls()[0]
		return o.run(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
			FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(doc)},
		}}}, &agentrt.Resume{Agent: ev.Author, InvocationID: ev.InvocationID})
	}
	events, err := answer(events[1], `{"confirmed":true}`)
	if !errors.Is(err, agent.ErrWaiting) {
		t.Fatal(err)
	}
	wantBrief(t, events, "a: call svc_request_credential\na: calendar returned {\"message\":\"Log in, please.\",\"pending\":true}")
	o.desk.keys["k"] = "token"
	if events, err = answer(events[0], `{}`); err != nil {
		t.Fatal(err)
	}
	wantBrief(t, events, "a: calendar returned {\"data\":\"token\",\"status\":\"success\"}\na: Here it is. (end)")
}

// A long-running call is answered from outside only after it was approved, and
// not at all when it was rejected.
func TestConfirmationOfLongRunningCall(t *testing.T) {
	for approve, want := range map[bool]string{true: "a: approve returned {\"ticket\":1}\na: Asked. (end)", false: "a: approve returned {\"error\":\"This tool call is rejected.\"}\na: Asked. (end)"} {
		c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: tools(tool.Confirm(later("approve", map[string]int{"ticket": 1}), nil)), Model: scripted.New(
			scripted.Call("approve", nil), scripted.Say("Asked."), scripted.Say("Over."))}))
		first := c.say("go")
		call := &event.FunctionResponse{ID: first[0].FunctionCalls()[0].ID, Name: "approve", Response: json.RawMessage(`{"ok":true}`)}
		result := &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: call}}}
		if _, err := c.send(result); !errors.Is(err, run.ErrUnknownCall) {
			t.Errorf("an answer before the approval: %v", err)
		}
		wantStory(t, c.decide(questions(t, first)["approve"], fmt.Sprintf(`{"confirmed":%t}`, approve)), want)
		got, err := c.send(result)
		if approve {
			wantStory(t, got, "a: Over. (end)")
		} else if !errors.Is(err, run.ErrAnswered) {
			t.Errorf("an answer after the rejection: %v", err)
		}
	}
}
