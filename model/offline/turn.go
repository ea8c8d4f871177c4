package offline

import (
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
)

// transferTool hands the conversation to another agent.
const transferTool = "transfer_to_agent"

// contextPrefix begins a message that has the user's role, but is about what
// another agent said or did.
const contextPrefix = "For context:"

// turn is what the model needs to know of the conversation.
type turn struct {
	user string // what the user said last

	// Since then:
	latest    []*event.FunctionResponse // those that nothing follows
	responses []*event.FunctionResponse
	called    map[string]bool // names of tools

	// When the model asked for arguments and the user's text may be the
	// answer: the tool, and what the user had said before.
	asked  string
	before []string
}

func readTurn(contents []*event.Content) turn {
	t := turn{called: map[string]bool{}}
	start := lastUser(contents)
	if start >= 0 {
		t.user = said(contents[start])
		t.asked, t.before = pending(contents[:start])
	}
	for i, c := range contents[start+1:] {
		last := start+1+i == len(contents)-1
		for _, p := range parts(c) {
			switch {
			case p.FunctionCall != nil:
				t.called[p.FunctionCall.Name] = true
			case p.FunctionResponse != nil:
				t.called[p.FunctionResponse.Name] = true
				t.responses = append(t.responses, p.FunctionResponse)
				if last {
					t.latest = append(t.latest, p.FunctionResponse)
				}
			case strings.Contains(p.Text, transferTool):
				// Another agent's transfer, as context. It counts: two agents that
				// each know only the other would never stop.
				t.called[transferTool] = true
			}
		}
	}
	return t
}

// pending goes back over questions for arguments of one tool that end the
// conversation, and the texts that led to them.
func pending(contents []*event.Content) (tool string, texts []string) {
	for len(contents) > 0 {
		last := contents[len(contents)-1]
		if last == nil || last.Role != event.RoleModel {
			break
		}
		name, ok := asks(said(last))
		if !ok || tool != "" && name != tool {
			break
		}
		user := lastUser(contents)
		if user < 0 {
			break
		}
		tool, texts = name, append(texts, said(contents[user]))
		contents = contents[:user]
	}
	slices.Reverse(texts)
	return tool, texts
}

// lastUser is the position of the last thing that the user really said, -1 if
// there is none.
func lastUser(contents []*event.Content) int {
	for i, c := range slices.Backward(contents) {
		if c == nil || c.Role == event.RoleModel {
			continue
		}
		text := strings.TrimSpace(said(c))
		if text == "" || strings.HasPrefix(text, contextPrefix) {
			continue
		}
		if !slices.ContainsFunc(parts(c), func(p *event.Part) bool { return p.FunctionResponse != nil }) {
			return i
		}
	}
	return -1
}

// said is the text of a message.
func said(c *event.Content) string {
	var b strings.Builder
	for _, p := range parts(c) {
		if p.IsText() && !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// parts are the parts of a message that are there: a callback may have put
// anything into the conversation.
func parts(c *event.Content) []*event.Part {
	if c == nil {
		return nil
	}
	if !slices.Contains(c.Parts, nil) {
		return c.Parts
	}
	return slices.DeleteFunc(slices.Clone(c.Parts), func(p *event.Part) bool { return p == nil })
}
