package openai

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/session"
)

// complete answers a chat completion. Without a session, the client sends the whole
// conversation, which is stored for the time of the run only.
func (h handler) complete(w http.ResponseWriter, r *http.Request) error {
	in, doc, err := h.read(w, r, readChat)
	if err != nil {
		return err
	}
	for _, name := range []string{"X-Session-Id", "X-OpenWebUI-Chat-Id"} {
		if id := r.Header.Get(name); id != "" && in.session == "" {
			in.session = id
		}
	}
	in.noStore = in.session == ""
	l, err := h.launch(r, in, doc)
	if err != nil {
		return err
	}
	defer l.end()
	enc := &chat{
		id: "chatcmpl-" + l.run.ID(), model: in.model, created: l.row.Created, withUsage: in.usage,
		stateless: l.ephemeral, own: map[string]bool{},
	}
	for _, d := range in.tools {
		enc.own[d.Name] = true
	}
	reader := l.run.Read()
	defer reader.Close()
	if in.stream {
		return face.Stream(w, r, h, reader, &face.Transcript{Replayable: true}, enc, l.run)
	}
	steps, row, err := h.collect(r, reader, l.run)
	if err != nil || row == nil {
		return err
	}
	return enc.whole(w, steps, row)
}

// chat writes the chunks of a chat completion, and collects its message.
type chat struct {
	id, model            string
	created              time.Time
	withUsage, stateless bool
	own                  map[string]bool // tools of the client

	text, thought strings.Builder
	span          string // of the last text
	calls         []chatCall
	usage         event.Usage
	failed        *face.Step
}

// chatDelta is what a chunk adds to the message, or the whole message.
type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Refusal   *string    `json:"refusal,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Calls     []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    *int   `json:"index,omitempty"` // in chunks
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatChoice struct {
	Index    int        `json:"index"`
	Delta    *chatDelta `json:"delta,omitempty"`
	Message  *chatDelta `json:"message,omitempty"`
	Logprobs *struct{}  `json:"logprobs"`
	Finish   *string    `json:"finish_reason"`
}

type chatUsage struct {
	Prompt     int64            `json:"prompt_tokens"`
	Completion int64            `json:"completion_tokens"`
	Total      int64            `json:"total_tokens"`
	InDetails  map[string]int64 `json:"prompt_tokens_details"`
	OutDetails map[string]int64 `json:"completion_tokens_details"`
}

type chatObject struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

func (c *chat) object(kind string, choices ...chatChoice) chatObject {
	return chatObject{ID: c.id, Object: kind, Created: c.created.Unix(), Model: c.model, Choices: append([]chatChoice{}, choices...)}
}

func (c *chat) chunk(dst []byte, delta chatDelta, finish *string) []byte {
	doc, _ := json.Marshal(c.object("chat.completion.chunk", chatChoice{Delta: &delta, Finish: finish})) //nolint:errchkjson // texts only
	return sse.Append(dst, "", "", doc)
}

// Begin writes the first chunk.
func (c *chat) Begin(dst []byte) []byte {
	empty := ""
	return c.chunk(dst, chatDelta{Role: "assistant", Content: &empty}, nil)
}

// Step writes a step.
func (c *chat) Step(dst []byte, s *face.Step, _ string) []byte {
	switch s.Kind {
	case face.TextDelta:
		text := s.Text
		if c.span != s.ID && c.text.Len() > 0 { // of another message
			text = "\n\n" + text
		}
		c.span = s.ID
		return c.say(dst, text)
	case face.ThoughtDelta:
		c.thought.WriteString(s.Text)
		return c.chunk(dst, chatDelta{Reasoning: s.Text}, nil)
	case face.Call:
		if s.Pending && c.own[s.Name] {
			return c.call(dst, s.ID, s.Name, string(s.JSON))
		}
	case face.Ask:
		return c.ask(dst, s.Question)
	case face.Usage:
		c.usage.Add(s.Usage)
	case face.Failure:
		failed := *s
		c.failed = &failed
	case face.Cut:
		if reasons[s.Name] != "" {
			cut := *s
			c.failed = &cut
		}
	case face.TextStart, face.TextEnd, face.ThoughtStart, face.ThoughtEnd, face.Result, face.State, face.File, face.Saved, face.Code, face.Speaker:
		// the protocol does not have them
	}
	return dst
}

func (c *chat) say(dst []byte, text string) []byte {
	c.text.WriteString(text)
	return c.chunk(dst, chatDelta{Content: &text}, nil)
}

// ask asks a question: as a call in a session, where a tool message can answer it,
// otherwise as a text.
func (c *chat) ask(dst []byte, q *face.Question) []byte {
	if !c.stateless {
		return c.call(dst, q.ID, q.Name, string(questionItem("q_"+q.ID, q)))
	}
	text := q.Message
	if text == "" {
		text = "May " + q.Tool + " be called with " + string(q.Args) + "?"
	}
	if q.AuthURI != "" {
		text += " " + q.AuthURI
	}
	if c.text.Len() > 0 {
		text = "\n\n" + text
	}
	return c.say(dst, text+" (To answer, send the conversation with an X-Session-Id.)")
}

func (c *chat) call(dst []byte, id, name, arguments string) []byte {
	index := len(c.calls)
	call := chatCall{Index: &index, ID: id, Type: "function"}
	call.Function.Name, call.Function.Arguments = name, arguments
	dst = c.chunk(dst, chatDelta{Calls: []chatCall{call}}, nil)
	call.Index = nil
	c.calls = append(c.calls, call)
	return dst
}

// end returns why the completion has ended, or the failure of the run.
func (c *chat) end(row *session.Run) (finish, failure string) {
	switch {
	case len(c.calls) > 0:
		return "tool_calls", ""
	case c.failed != nil && reasons[c.failed.Name] == "max_output_tokens":
		return "length", ""
	case c.failed != nil && reasons[c.failed.Name] != "":
		return "content_filter", ""
	case row.Status == session.Failed && row.Failure != nil:
		return "", row.Failure.Message
	case row.Status == session.Failed, c.failed != nil:
		if c.failed != nil {
			return "", c.failed.Text
		}
		return "", "The run failed."
	}
	return "stop", ""
}

func (c *chat) tokens() *chatUsage {
	u := &c.usage
	return &chatUsage{
		u.Prompt + u.ToolUsePrompt, u.Candidates + u.Thoughts, u.Total,
		map[string]int64{"cached_tokens": u.CachedContent},
		map[string]int64{"reasoning_tokens": u.Thoughts},
	}
}

// End writes the end of a run.
func (c *chat) End(dst []byte, row *session.Run) []byte {
	finish, failure := c.end(row)
	if failure != "" {
		return c.Break(dst, face.Problem{Message: failure})
	}
	dst = c.chunk(dst, chatDelta{}, &finish)
	if c.withUsage {
		last := c.object("chat.completion.chunk")
		last.Usage = c.tokens()
		doc, _ := json.Marshal(last) //nolint:errchkjson // texts and numbers only
		dst = sse.Append(dst, "", "", doc)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Break writes the end of a stream whose run has failed, continues, or cannot be read.
func (c *chat) Break(dst []byte, p face.Problem) []byte {
	doc, _ := json.Marshal(map[string]any{"error": map[string]any{"message": p.Message, "type": "server_error", "code": "server_error", "param": nil}}) //nolint:errchkjson // texts only
	return append(sse.Append(dst, "", "", doc), "data: [DONE]\n\n"...)
}

// whole answers with the completion.
func (c *chat) whole(w http.ResponseWriter, steps []face.Step, row *session.Run) error {
	for i := range steps {
		c.Step(nil, &steps[i], "")
	}
	finish, failure := c.end(row)
	if failure != "" {
		w.Header().Set("X-Should-Retry", "false") // clients would start another run
		return &face.Problem{Status: http.StatusInternalServerError, Message: failure}
	}
	text := c.text.String()
	message := &chatDelta{Role: "assistant", Reasoning: c.thought.String(), Calls: c.calls}
	if text != "" || len(c.calls) == 0 {
		message.Content = &text
	}
	doc := c.object("chat.completion", chatChoice{Message: message, Finish: &finish})
	doc.Usage = c.tokens()
	b, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return answer(w, b)
}
