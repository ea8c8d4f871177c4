package face

import (
	"encoding/json"
	"strconv"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// QuestionKind says what a question asks for.
type QuestionKind string

// The kinds of questions.
const (
	// Confirmation asks whether a tool call may be made.
	Confirmation QuestionKind = "confirmation"
	// Input asks for a text, or a value that matches a schema.
	Input QuestionKind = "input"
	// Login asks the user to log in.
	Login QuestionKind = "login"
)

// Question is something that the server asks the user. The run waits for the answer.
type Question struct {
	// ID is that of the call with which the server asks, and Name its name.
	ID, Name string
	Kind     QuestionKind
	// Message is the text for the user; it may be empty.
	Message string
	// Call is the tool call that the question is about, with its tool and arguments;
	// empty if there is none.
	Call, Tool string
	Args       json.RawMessage
	// Schema is the JSON Schema of the answer; nil for any.
	Schema json.RawMessage
	// AuthURI is the address where the user logs in.
	AuthURI string
	// Payload is what the tool wants to be confirmed, nil if there is nothing.
	Payload json.RawMessage

	config *credential.Config // of a login
}

// QuestionOf returns the question that a call asks; nil if it is an ordinary call.
func QuestionOf(call *event.FunctionCall) *Question {
	q := &Question{ID: call.ID, Name: call.Name}
	switch {
	case call.Name == tool.ConfirmationCall:
		var args struct {
			Original struct {
				ID   string          `json:"id"`
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"originalFunctionCall"`
			Confirmation struct {
				Hint    string          `json:"hint"`
				Payload json.RawMessage `json:"payload"`
			} `json:"toolConfirmation"`
		}
		_ = json.Unmarshal(call.Args, &args) // the server wrote it
		q.Kind, q.Message, q.Call, q.Tool, q.Args = Confirmation, args.Confirmation.Hint, args.Original.ID, args.Original.Name, args.Original.Args
		if p := args.Confirmation.Payload; len(p) > 0 && string(p) != "null" {
			q.Payload = p
		}
	case tool.IsCredentialCall(call.Name):
		q.Kind = Login
		var args struct {
			Call string `json:"functionCallId"`
		}
		_ = json.Unmarshal(call.Args, &args)
		q.Call = args.Call
		if cfg, err := tool.AskedConfig(call); err == nil && cfg != nil && cfg.Exchanged != nil && cfg.Exchanged.OAuth2 != nil {
			q.AuthURI, q.config = cfg.Exchanged.OAuth2.AuthURI, cfg
		}
		q.Message = "Log in to continue."
	case call.Name == tool.InputCall:
		var args struct {
			Message string          `json:"message"`
			Schema  json.RawMessage `json:"responseSchema"`
		}
		_ = json.Unmarshal(call.Args, &args)
		q.Kind, q.Message, q.Schema = Input, args.Message, args.Schema
	case call.Name == tool.ChoiceCall:
		var args struct {
			Options json.RawMessage `json:"options"`
		}
		_ = json.Unmarshal(call.Args, &args)
		q.Kind, q.Message = Input, "Choose one of the options."
		if len(args.Options) > 0 {
			q.Schema = append(append([]byte(`{"type":"string","enum":`), args.Options...), '}')
		}
	default:
		return nil
	}
	return q
}

// QuestionIn returns the question of an open call; nil if the client is to make the
// call.
func QuestionIn(open *run.OpenCall) *Question {
	return QuestionOf(&event.FunctionCall{ID: open.ID, Name: open.Name, Args: open.Args})
}

// Confirm returns the answer to a confirmation. payload may be nil.
func (q *Question) Confirm(approved bool, payload json.RawMessage) *event.Part {
	return q.decide(decision{approved: approved, payload: payload})
}

// Refuse returns the answer that refuses a confirmation for a reason, which may be
// empty.
func (q *Question) Refuse(reason string) *event.Part { return q.decide(decision{reason: reason}) }

// decision is the answer to a confirmation. All but approved may be empty.
type decision struct {
	approved      bool
	payload, args json.RawMessage
	reason        string
}

func (q *Question) decide(d decision) *event.Part {
	doc := strconv.AppendBool([]byte(`{"confirmed":`), d.approved)
	if len(d.payload) > 0 {
		doc = append(append(doc, `,"payload":`...), d.payload...)
	}
	if len(d.args) > 0 {
		doc = append(append(doc, `,"editedArgs":`...), d.args...)
	}
	if d.reason != "" {
		doc = wire.Quote(append(doc, `,"reason":`...), d.reason)
	}
	return q.answer(append(doc, '}'))
}

// LogIn returns the answer to a question for a login: the address to which the
// provider has sent the user back, or an AuthConfig, a credential or an API key as the
// contract has them.
func (q *Question) LogIn(answer json.RawMessage) *event.Part {
	var back struct {
		URI string `json:"authResponseUri"`
	}
	if json.Unmarshal(answer, &back) != nil || back.URI == "" || q.config == nil || q.config.Exchanged == nil || q.config.Exchanged.OAuth2 == nil {
		return q.Answer(answer)
	}
	cfg := q.config.Clone()
	cfg.Exchanged.OAuth2.AuthResponseURI = back.URI
	doc, err := cfg.AppendJSON(nil, credential.Camel)
	if err != nil {
		return q.Answer(answer)
	}
	return q.answer(doc)
}

// Reply returns the answer that a value is: for a confirmation a boolean, or an object
// with "approved" or "confirmed" and perhaps a "payload", the "editedArgs" that replace
// those of the call, or the "reason" of a refusal; for a login what LogIn takes, or the
// address alone. It is nil for a confirmation with any other value.
func (q *Question) Reply(value json.RawMessage) *event.Part {
	switch q.Kind {
	case Confirmation:
		return q.confirmation(value)
	case Login:
		if len(value) > 0 && value[0] == '"' {
			value = append(append([]byte(`{"authResponseUri":`), value...), '}')
		}
		return q.LogIn(value)
	case Input:
	}
	return q.Answer(value)
}

// confirmation returns the answer to a confirmation that a value is; nil if it decides
// nothing.
func (q *Question) confirmation(value json.RawMessage) *event.Part {
	var plain *bool
	if json.Unmarshal(value, &plain) == nil && plain != nil {
		return q.Confirm(*plain, nil)
	}
	var said struct {
		Approved  *bool           `json:"approved"`
		Confirmed *bool           `json:"confirmed"`
		Payload   json.RawMessage `json:"payload"`
		Args      json.RawMessage `json:"editedArgs"`
		Reason    any             `json:"reason"`
	}
	// A value that is no boolean is an error, and leaves false.
	if json.Unmarshal(value, &said) != nil {
		return nil
	}
	if said.Approved == nil {
		said.Approved = said.Confirmed
	}
	if said.Approved == nil {
		return nil
	}
	reason, _ := said.Reason.(string)
	return q.decide(decision{*said.Approved, said.Payload, said.Args, reason})
}

// Decline returns the answer of a user who does not want to answer.
func (q *Question) Decline() *event.Part {
	switch q.Kind {
	case Confirmation:
		return q.Confirm(false, nil)
	case Login:
		return q.Answer(json.RawMessage(`{"error":"access_denied"}`))
	case Input:
	}
	return q.Answer(json.RawMessage(`{"status":"cancelled","error_message":"The user has cancelled."}`))
}

// Answer returns the answer to a question that is not a confirmation: an object as it
// is, any other value as {"result": value}.
func (q *Question) Answer(value json.RawMessage) *event.Part { return q.answer(Wrap(value)) }

func (q *Question) answer(doc json.RawMessage) *event.Part {
	return &event.Part{FunctionResponse: &event.FunctionResponse{ID: q.ID, Name: q.Name, Response: doc}}
}

// Wrap returns a value as the response of a function: an object.
func Wrap(value json.RawMessage) json.RawMessage {
	switch {
	case len(value) == 0:
		return json.RawMessage("{}")
	case value[0] == '{':
		return value
	}
	return append(append([]byte(`{"result":`), value...), '}')
}

// WrapText returns a text as the response of a function. A text that is a JSON object
// is that object: clients encode the results of their tools.
func WrapText(text string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return json.RawMessage(text)
	}
	return append(wire.Quote([]byte(`{"result":`), text), '}')
}
