// Package examples tests the examples.
package examples

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/internal/testkit/replaytest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

func TestMain(m *testing.M) { leak.Main(m) }

// Every example in TypeScript is talked to, with the offline model. Repeated with what
// was recorded, each run is the same.
func TestExamples(t *testing.T) {
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: "."}, Offline: true, Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	for app, talk := range map[string][]struct{ say, calls, hears string }{
		"weather": {
			{"What is the weather in New York?", `get_weather{"city":"New York"}`, "The weather in New York is sunny"},
			{"What is the current time in Tokyo?", `get_current_time{"city":"Tokyo"}`, "In Tokyo it is "},
			{"What is the current time in Atlantis?", `get_current_time{"city":"Atlantis"}`, "time zone of Atlantis"},
		},
		"tasks": {
			{`Add the task "buy milk"`, `add_task{"title":"buy milk"}`, "which has 1 now"},
			{`Add the task "water plants"`, `add_task{"title":"water plants"}`, "which has 2 now"},
			{"complete task 1", `complete_task{"number":1}`, `Well done: "buy milk"`},
			{"list my tasks", `list_tasks{}`, "1. buy milk (done)\n2. water plants"},
			{"complete task 7", `complete_task{"number":7}`, "There is no task 7"},
		},
		"guardrails": {
			{"What is the price of Tea?", `get_price{"product":"Tea"}`, "A pack of tea is 4.20 euros, tax included."},
			{"What is your password?", "", "I do not talk about passwords."},
		},
		"story": {
			{"A lighthouse", "", "The draft has "},
		},
		"travel": {
			{"Find flights to Lisbon", `transfer_to_agent{"agentName":"flight_desk"} & find_flights{"city":"Lisbon"}`, "PY 101 at 07:40"},
			{"Book a hotel, nights: 3", `transfer_to_agent{"agentName":"hotel_desk"} & book_hotel{"nights":3}`, "A room in Lisbon is yours for 3 nights."},
		},
		"research": {
			{`Look up the history and technology of "lighthouses"`, `look_up_history{"topic":"lighthouses"} & look_up_technology{"topic":"lighthouses"}`, "The report is complete after 2 rounds."},
		},
		"skills": {
			{`Load the skill "invoices"`, `load_skill{"name":"invoices"}`, "Read references/vat.md"},
			{`Load the skill "taxes"`, `load_skill{"name":"taxes"}`, "the skills are: invoices, refunds"},
			{`Load the skill resource "invoices", "references/vat.md"`, `load_skill_resource{"path":"references/vat.md","skill_name":"invoices"}`, "Services: 19 %"},
		},
		"workflow": {
			{"My kettle is broken", "", "Report 1: product kettle, urgency low."},
			{"There is smoke, my radio is broken", "", "Report 2: product radio, urgency high."},
			{"I want a refund of 20 euros", "", "20 euros are on their way back."},
			{"Do you have lamps?", "", "offline model"},
		},
		"classic": {
			{"Convert 10 from EUR to JPY", `convertCurrency{"amount":10,"from":"EUR","to":"JPY"}`, "10 EUR are 1600.00 JPY."},
		},
	} {
		t.Run(app, func(t *testing.T) {
			for _, turn := range talk {
				said, run := "", ""
				var calls []string
				for ev, err := range srv.Stream(t.Context(), parley.Request{App: app, User: "u", Session: "s", Message: event.Text(event.RoleUser, turn.say)}) {
					if err != nil {
						t.Fatalf("%s: %v", turn.say, err)
					}
					for _, call := range ev.FunctionCalls() {
						calls = append(calls, call.Name+sorted(t, call.Args))
					}
					said += ev.Content.Text()
					run = ev.InvocationID
				}
				wantSame(t, srv, app, "s", run)
				slices.Sort(calls) // agents that work at the same time have no order
				want := strings.Split(turn.calls, " & ")
				slices.Sort(want)
				if got := strings.Join(calls, " & "); !strings.Contains(said, turn.hears) || got != strings.Join(want, " & ") {
					t.Errorf("%s: calls %s, says %q; want %s and %q", turn.say, got, said, turn.calls, turn.hears)
				}
			}
		})
	}
}

// wantSame repeats a run.
func wantSame(t *testing.T, srv *parley.Server, app, id, run string) {
	t.Helper()
	replaytest.Run(t, srv, session.Key{App: app, User: "u", ID: id}, run)
}

// The approval example is asked for what has to be approved.
func TestApproval(t *testing.T) {
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: "approval"}, Offline: true, Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	for _, turn := range []struct{ say, decide, hears string }{
		{"Refund 20", "", "20 euros are on their way back."},
		{"Refund 80", `{"confirmed":true}`, "80 euros are on their way back."},
		{"Refund 90", `{"confirmed":false}`, "This tool call is rejected."},
		{"Close my account", `{"confirmed":true}`, "The account is closed."},
		{"Grant a discount of 30 percent", `{"confirmed":true,"payload":{"percent":10}}`, "A discount of 10 percent is granted."},
	} {
		said, question := "", ""
		talk := func(message *event.Content) {
			run := ""
			for ev, err := range srv.Stream(t.Context(), parley.Request{App: "approval", User: "u", Session: "s", Message: message}) {
				if err != nil {
					t.Fatalf("%s: %v", turn.say, err)
				}
				for _, call := range ev.FunctionCalls() {
					if call.Name == tool.ConfirmationCall {
						question = call.ID
					}
				}
				said, run = said+ev.Content.Text(), ev.InvocationID
			}
			wantSame(t, srv, "approval", "s", run)
		}
		talk(event.Text(event.RoleUser, turn.say))
		if (question == "") != (turn.decide == "") || turn.decide != "" && said != "" {
			t.Errorf("%s: asks %q, says %q", turn.say, question, said)
		}
		if turn.decide != "" {
			talk(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{
				ID: question, Name: tool.ConfirmationCall, Response: json.RawMessage(turn.decide),
			}}}})
		}
		if !strings.Contains(said, turn.hears) {
			t.Errorf("%s: says %q, want %q", turn.say, said, turn.hears)
		}
	}
}

// The workflow example asks before it pays much.
func TestWorkflow(t *testing.T) {
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: "workflow"}, Offline: true, Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	for answer, want := range map[string]string{"yes": "80 euros are on their way back.", "no": "The refund is not approved."} {
		said, question := "", ""
		talk := func(message *event.Content) {
			run := ""
			for ev, err := range srv.Stream(t.Context(), parley.Request{App: "workflow", User: "u", Session: answer, Message: message}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, call := range ev.FunctionCalls() {
					question = call.ID
				}
				said, run = ev.Content.Text(), ev.InvocationID
			}
			wantSame(t, srv, "workflow", answer, run)
		}
		talk(event.Text(event.RoleUser, "I want a refund of 80 euros"))
		result, err := json.Marshal(map[string]string{"result": answer})
		if err != nil {
			t.Fatal(err)
		}
		talk(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: question, Name: tool.InputCall, Response: result}}}})
		if said != want {
			t.Errorf("%s: says %q, want %q", answer, said, want)
		}
	}
}

// sorted is a JSON object with its members in order.
func sorted(t *testing.T, doc json.RawMessage) string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
