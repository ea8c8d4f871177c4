package eval

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
)

const snakeSet = `{
  "eval_set_id": "smoke",
  "name": "Smoke",
  "my_own": {"kept_as": "it is"},
  "eval_cases": [
    {
      "eval_id": "paris",
      "conversation": [
        {
          "invocation_id": "i1",
          "user_content": {
            "parts": [
              {
                "text": "Weather in Paris?"
              }
            ],
            "role": "user"
          },
          "final_response": {
            "parts": [
              {
                "text": "It is sunny."
              }
            ]
          },
          "intermediate_data": {
            "tool_uses": [
              {
                "name": "get_weather",
                "args": {
                  "the_city": "Paris"
                }
              }
            ],
            "intermediate_responses": [
              [
                "helper",
                [
                  {
                    "inline_data": {
                      "mime_type": "text/plain",
                      "data": "aGk="
                    }
                  }
                ]
              ]
            ]
          }
        }
      ],
      "session_input": {
        "app_name": "weather",
        "user_id": "ann",
        "state": {
          "some_key": 1
        }
      },
      "rubrics": [
        {
          "rubric_id": "r"
        }
      ]
    }
  ]
}
`

func TestBothSpellings(t *testing.T) {
	t.Parallel()
	set, err := ReadSet([]byte(snakeSet), "")
	if err != nil {
		t.Fatal(err)
	}
	camel, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"evalSetId":"smoke","name":"Smoke","my_own":{"kept_as":"it is"},"evalCases":[{"evalId":"paris","conversation":[{"invocationId":"i1",` +
		`"userContent":{"parts":[{"text":"Weather in Paris?"}],"role":"user"},"finalResponse":{"parts":[{"text":"It is sunny."}]},` +
		`"intermediateData":{"toolUses":[{"name":"get_weather","args":{"the_city":"Paris"}}],"intermediateResponses":[["helper",[{"inlineData":{"mimeType":"text/plain","data":"aGk="}}]]]}}],` +
		`"sessionInput":{"appName":"weather","userId":"ann","state":{"some_key":1}},"rubrics":[{"rubricId":"r"}]}]}`
	if diff := cmp.Diff(want, string(camel)); diff != "" {
		t.Error(diff)
	}
	again, err := ReadSet(camel, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Set{"snake_case": set, "camelCase": again} {
		c := s.Cases[0]
		call := c.Conversation[0].Intermediate.Calls[0]
		if s.ID != "smoke" || c.ID != "paris" || c.User != "ann" || string(c.State["some_key"]) != "1" || call.Name != "get_weather" || string(call.Args) != `{"the_city":"Paris"}` {
			t.Errorf("%s: %+v", name, c)
		}
	}
	// What is written is as it was, but for the order at the top and the white space of what is unknown.
	var before, after any
	if json.Unmarshal([]byte(snakeSet), &before) != nil || json.Unmarshal(file(camel, setShape), &after) != nil {
		t.Fatal("not JSON")
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// Newer tools write the events of a turn, where others have lists by kind.
func TestInvocationEvents(t *testing.T) {
	t.Parallel()
	c, err := ReadCase([]byte(`{"evalId": "e", "conversation": [{"userContent": {"parts": [{"text": "hi"}]}, "intermediateData": {"invocationEvents": [
		{"author": "a", "content": {"role": "model", "parts": [{"functionCall": {"id": "1", "name": "look", "args": {"x": 1}}}]}, "toolUseIndex": 0},
		{"author": "a", "content": {"role": "user", "parts": [{"functionResponse": {"id": "1", "name": "look", "response": {"y": 2}}}]}},
		{"author": "b", "content": {"role": "model", "parts": [{"text": "one moment"}]}}
	]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	did := c.Conversation[0].Intermediate
	if len(did.Calls) != 1 || did.Calls[0].Name != "look" || len(did.Responses) != 1 || len(did.Said) != 1 || did.Said[0].Author != "b" {
		t.Errorf("%+v", did)
	}
}

func TestOldForms(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"conversations": `[{"name": "dice", "data": [{"query": "Roll", "expected_tool_use": [{"tool_name": "roll_die", "tool_input": {"sides": 6}}],
			"expected_intermediate_agent_responses": [{"author": "a", "text": "rolling"}], "reference": "A six."}],
			"initial_session": {"state": {"k": 1}, "app_name": "x", "user_id": "u"}}]`,
		"turns": `[{"query": "Roll", "expected_tool_use": [{"tool_name": "roll_die", "tool_input": {"sides": 6}}],
			"expected_intermediate_agent_responses": [{"author": "a", "text": "rolling"}], "reference": "A six."}]`,
	} {
		set, err := ReadSet([]byte(doc), "dice")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		turn := set.Cases[0].Conversation[0]
		if set.ID != "dice" || set.Cases[0].ID != "dice" || turn.User.Text() != "Roll" || turn.Final.Text() != "A six." ||
			string(turn.Intermediate.Calls[0].Args) != `{"sides":6}` || turn.Intermediate.Said[0].Author != "a" {
			t.Errorf("%s: %+v", name, turn)
		}
		if name == "conversations" && (set.Cases[0].User != "u" || string(set.Cases[0].State["k"]) != "1") {
			t.Errorf("%s: %+v", name, set.Cases[0])
		}
	}
}

func TestSetsThatCannotBe(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"evalCases": [{"conversation": []}]}`:                                              "evalCases.0.evalId: Field required",
		`{"eval_cases": [{"eval_id": "x"}]}`:                                                 "eval_cases.0.conversation: Field required",
		`{"eval_cases": [{"eval_id": "x", "conversation": [{}]}]}`:                           "eval_cases.0.conversation.0: userContent: Field required",
		`{"eval_cases": [{"eval_id": "x", "conversation": 1}]}`:                              "eval_cases.0.conversation: Input should be an array",
		`{"eval_cases": [{"eval_id": 7, "conversation": []}]}`:                               "eval_cases.0.eval_id: Input should be a string",
		`{"evalCases": [{"evalId":"x","conversation":[]},{"evalId":"x","conversation":[]}]}`: `evalCases.1.evalId: two cases are called "x"`,
		`[{"data": [{}]}]`: "0.data.0.query: Field required",
		`["x"]`:            "neither an evaluation set nor a list of conversations",
		`{`:                "JSON decode error: ",
		`7`:                "Input should be an object",
	} {
		if _, err := ReadSet([]byte(doc), "s"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	say := func(author, role, text string) *event.Event {
		return &event.Event{Author: author, InvocationID: "i1", Content: event.Text(role, text)}
	}
	call := &event.Event{Author: "a", Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{Text: "let me see"}, {FunctionCall: &event.FunctionCall{ID: "1", Name: "look", Args: json.RawMessage(`{"x":1}`)}},
	}}}
	login := &event.Event{Author: "a", LongRunningToolIDs: []string{"2"}, Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{FunctionCall: &event.FunctionCall{ID: "2", Name: "svc_request_credential"}},
	}}}
	partial := say("a", event.RoleModel, "It")
	partial.Partial = true
	turns := Turns([]*event.Event{
		say("a", event.RoleModel, "before anyone spoke"), say(event.User, event.RoleUser, "one"), call, login, say("a", event.RoleModel, "first"), partial, say("b", event.RoleModel, "second"),
		{Author: event.User},
		say(event.User, event.RoleUser, "two"),
	})
	got, err := json.Marshal(turns)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"invocationId":"i1","userContent":{"role":"user","parts":[{"text":"one"}]},"finalResponse":{"role":"model","parts":[{"text":"second"}]},` +
		`"intermediateData":{"toolUses":[{"id":"1","name":"look","args":{"x":1}}],"toolResponses":[],"intermediateResponses":[["a",[{"text":"let me see"}]],["a",[{"text":"first"}]]]},"creationTimestamp":0},` +
		`{"invocationId":"i1","userContent":{"role":"user","parts":[{"text":"two"}]},"intermediateData":{"toolUses":[],"toolResponses":[],"intermediateResponses":[]},"creationTimestamp":0}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	c, err := NewCase("e", "app", "u", nil, turns, time.Unix(1, 0))
	if err != nil || len(c.Conversation) != 2 || c.User != "u" {
		t.Errorf("%+v, %v", c, err)
	}
}

// Whatever is read can be written and is then read the same.
func FuzzReadSet(f *testing.F) {
	f.Add([]byte(snakeSet))
	f.Add([]byte(`[{"name": "x", "data": [{"query": "q"}]}]`))
	f.Add([]byte(`{"evalCases":[{"evalId":"a","evalId":null,"conversation":[],"conversation_":{}}],"evalCases":[]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		set, err := ReadSet(doc, "s")
		if err != nil {
			return
		}
		once, err := json.Marshal(set)
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		stored := file(once, setShape)
		again, err := ReadSet(stored, "s")
		if err != nil {
			t.Fatalf("cannot be read again: %v: %s", err, stored)
		}
		twice, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Cases) != len(again.Cases) {
			t.Fatalf("%d cases became %d", len(set.Cases), len(again.Cases))
		}
		for i := range set.Cases {
			if set.Cases[i].ID != again.Cases[i].ID || len(set.Cases[i].Conversation) != len(again.Cases[i].Conversation) {
				t.Fatalf("case %d is another one: %s and %s", i, once, twice)
			}
		}
	})
}
