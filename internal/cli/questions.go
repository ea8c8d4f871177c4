package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// question is a call that asks the user for something that can be typed.
type question struct {
	call    *event.FunctionCall
	text    string   // what is asked
	options []string // the options, if any
	prompt  string
}

// questionIn returns the question of a call; nil if it has none that can be
// answered by typing.
func questionIn(call *event.FunctionCall) *question {
	var args struct {
		Original struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"originalFunctionCall"`
		Confirmation struct {
			Hint    string          `json:"hint"`
			Payload json.RawMessage `json:"payload"`
		} `json:"toolConfirmation"`
		Message string   `json:"message"`
		Options []string `json:"options"`
	}
	if json.Unmarshal(call.Args, &args) != nil {
		return nil
	}
	q := &question{call: call}
	switch call.Name {
	case tool.ConfirmationCall:
		q.text = strings.TrimSpace(fmt.Sprintf("%s\n  %s %s", args.Confirmation.Hint, args.Original.Name, short(args.Original.Args)))
		if len(args.Confirmation.Payload) > 0 {
			q.text += "\n  payload: " + short(args.Confirmation.Payload)
		}
		q.prompt = "[y/n]: "
	case tool.InputCall:
		q.text, q.prompt = args.Message, "[answer]: "
	case tool.ChoiceCall:
		q.options, q.prompt = args.Options, "[choice]: "
		for i, option := range args.Options {
			q.text += fmt.Sprintf("  %d. %s\n", i+1, option)
		}
		q.text = strings.TrimSuffix(q.text, "\n")
	default:
		return nil
	}
	return q
}

// question returns the oldest open question, or nil.
func (c *chat) question() *question {
	for _, call := range c.waiting {
		if q := questionIn(call); q != nil {
			return q
		}
	}
	return nil
}

// prompt returns the prompt for a message or, while a question is open, shows the
// question and returns the prompt for the answer.
func (c *chat) prompt() string {
	q := c.question()
	if q == nil {
		return "[" + event.User + "]: "
	}
	c.screen.line(q.text)
	return q.prompt
}

// errUndecided rejects a line that does not answer a confirmation. The user is told
// undecidedHelp, and asked again.
var errUndecided = errors.New("neither y nor n")

const undecidedHelp = "Type y to approve the call or n to reject it. /say TEXT speaks to the agent in the meantime."

// reply converts a line: to the answer to the open question, or else to text. A line
// that is neither yes nor no does not answer a confirmation; /say sends any line to the
// agent.
func (c *chat) reply(line string) (*event.Content, error) {
	if said, ok := strings.CutPrefix(line, "/say "); ok {
		return event.Text(event.RoleUser, said), nil
	}
	q := c.question()
	if q == nil {
		return event.Text(event.RoleUser, line), nil
	}
	var response json.RawMessage
	switch {
	case q.call.Name != tool.ConfirmationCall:
		response = q.answer(line)
	case slices.Contains([]string{"y", "yes"}, strings.ToLower(line)):
		response = json.RawMessage(`{"confirmed":true}`)
	case slices.Contains([]string{"n", "no"}, strings.ToLower(line)):
		response = json.RawMessage(`{"confirmed":false}`)
	default:
		return nil, errUndecided
	}
	return answering(q.call, response), nil
}

// answer converts a line to the answer to a question: an object unchanged,
// otherwise the option with that number, or the text.
func (q *question) answer(line string) json.RawMessage {
	if strings.HasPrefix(line, "{") && json.Valid([]byte(line)) {
		return json.RawMessage(line)
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.options) {
		line = q.options[n-1]
	}
	doc, err := json.Marshal(map[string]string{"result": line})
	if err != nil { // text cannot cause an error
		return json.RawMessage("{}")
	}
	return doc
}
