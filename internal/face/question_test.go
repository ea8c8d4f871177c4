package face

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/event"
)

// Only a boolean decides about a confirmation: no other value is taken for a refusal.
func TestConfirmationReplies(t *testing.T) {
	t.Parallel()
	q := QuestionOf(&event.FunctionCall{
		ID: "c1", Name: "adk_request_confirmation", Args: json.RawMessage(`{"originalFunctionCall":{"name":"refund","args":{}},"toolConfirmation":{}}`),
	})
	if q == nil || q.Kind != Confirmation {
		t.Fatalf("the question is %+v", q)
	}
	for value, want := range map[string]string{
		`true`: `{"confirmed":true}`, `false`: `{"confirmed":false}`,
		`{"approved":true}`: `{"confirmed":true}`, `{"confirmed":false}`: `{"confirmed":false}`,
		`{"confirmed":true,"payload":{"n":1}}`:           `{"confirmed":true,"payload":{"n":1}}`,
		`{"approved":true,"editedArgs":{"n":1}}`:         `{"confirmed":true,"editedArgs":{"n":1}}`,
		`{"confirmed":false,"reason":"no"}`:              `{"confirmed":false,"reason":"no"}`,
		`{"confirmed":false,"reason":{"of":"a client"}}`: `{"confirmed":false}`,
		`{"approved":null,"confirmed":true}`:             `{"confirmed":true}`,
		`{"confirmed":"maybe"}`:                          "",
		`{"confirmed":"true"}`:                           "",
		`{"confirmed":1}`:                                "",
		`{"confirmed":null}`:                             "",
		`{"approved":"yes"}`:                             "",
		`{"approved":"yes","confirmed":true}`:            "",
		`{"approved":true,"confirmed":"maybe"}`:          "",
		`{}`:                                             "",
		`null`:                                           "",
		``:                                               "",
		`"true"`:                                         "",
		`[true]`:                                         "",
		`0`:                                              "",
		`not JSON`:                                       "",
	} {
		got := ""
		if part := q.Reply(json.RawMessage(value)); part != nil {
			got = string(part.FunctionResponse.Response)
		}
		if got != want {
			t.Errorf("the answer %s becomes %q, want %q", value, got, want)
		}
	}
}
