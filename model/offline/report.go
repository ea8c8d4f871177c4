package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// report reads out what tools returned; "" when there is nothing to read out.
func report(responses []*event.FunctionResponse) string {
	var sentences []string
	for _, r := range responses {
		if r.Name != transferTool {
			sentences = append(sentences, sentence(r))
		}
	}
	if len(sentences) == 1 {
		return sentences[0]
	}
	for i, s := range sentences {
		sentences[i] = endSentence(s)
	}
	return strings.Join(sentences, " ")
}

var (
	human   = []string{"report", "message", "result", "text", "answer", "summary", "data"}
	blame   = []string{"error_message", "errorMessage", "error", "message", "detail"}
	wrapper = []string{"result", "data", "output"}
)

func sentence(r *event.FunctionResponse) string {
	object := readMembers(r.Response)
	if object == nil && json.Valid(r.Response) {
		return plain(r.Response)
	}
	status := strings.ToLower(object.text("status"))
	switch {
	case status == "error" || object.text("error") != "":
		if why := object.text(blame...); why != "" {
			return endSentence("That did not work: " + why)
		}
		return "That did not work."
	case status == "pending" || string(object.get("pending")) == "true":
		if why := object.text("message"); why != "" {
			return endSentence(r.Name + " is waiting: " + why)
		}
		return r.Name + " is waiting for its result."
	}
	if text := object.text(human...); text != "" {
		return text
	}
	object = slices.DeleteFunc(object, func(m member) bool {
		return m.name == "status" || string(m.value) == "null"
	})
	if len(object) == 1 && slices.Contains(wrapper, object[0].name) {
		if inner := readMembers(object[0].value); len(inner) > 0 {
			object = inner
		}
	}
	if len(object) == 0 {
		return r.Name + " is done."
	}
	pairs := make([]string, len(object))
	for i, m := range object {
		pairs[i] = strings.ReplaceAll(m.name, "_", " ") + ": " + plain(m.value)
	}
	return strings.Join(pairs, ", ")
}

// text is the first of the members that is a string with something in it.
func (m members) text(names ...string) string {
	for _, name := range names {
		var s string
		if json.Unmarshal(m.get(name), &s) == nil && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// plain is a value as people write it; what is inside of objects and lists
// stays JSON.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && len(raw) > 0 && raw[0] == '"' {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func endSentence(s string) string {
	s = strings.TrimRight(s, " \n")
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// question asks for the arguments that were not found.
func question(tool string, missing []string) string {
	return fmt.Sprintf("To use %s I need: %s.", tool, strings.Join(missing, ", "))
}

var questions = regexp.MustCompile(`^To use (\S+) I need: `)

// asks recognises such a question, and tells the tool.
func asks(text string) (tool string, ok bool) {
	m := questions.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// noMatch is the answer if nothing matched: it says so, and what would have matched.
func noMatch(req *model.Request, user string) string {
	var b strings.Builder
	b.WriteString("I am Parley's offline model. I do not think: I only match words to tools")
	if user = strings.TrimSpace(user); user != "" {
		fmt.Fprintf(&b, ", and I found no tool for “%s”", shorten(user))
	}
	b.WriteString(".")
	tools := slices.DeleteFunc(slices.Clone(req.Tools), func(d model.Declaration) bool {
		return d.Name == "" || d.Name == transferTool
	})
	if len(tools) == 0 {
		b.WriteString(" This agent has no tools that I could call. ")
	} else {
		b.WriteString(" These I can call:\n\n")
		for _, d := range tools {
			b.WriteString("- " + d.Name)
			if about := strings.TrimSpace(d.Description); about != "" {
				first, _, _ := strings.Cut(about, "\n")
				b.WriteString(": " + shorten(first))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("For real answers, give the agent a real model.")
	return b.String()
}

// shorten keeps what is quoted from becoming most of the answer.
func shorten(text string) string {
	const limit = 200
	if short := firstRunes(text, limit); short != text {
		return short + "…"
	}
	return text
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
