package openai

import (
	"encoding/json"
	"strconv"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// encoder writes the frames of a response, and collects its output. What it writes
// follows from the stored events of the run: the frame with a number is the same for
// every reader.
type encoder struct {
	head *head
	// load completes head, which needs the message of the run, before the first frame.
	load func(*head)

	next  int  // number of the next frame
	after int  // frames up to this number are not written
	quiet bool // no frame is

	own       map[string]bool // tools of the client
	spans     map[string]*output
	calls     map[string]*output
	open      []*output // calls of the server without a result, in their order
	usage     event.Usage
	failed    *face.Step
	functions int // calls that the client is to make
	questions int // and other things that the run waits for
	outcome
}

// output is an item of the output while it is written.
type output struct {
	index     int
	id, name  string
	call      string
	arguments json.RawMessage
	client    bool // the client makes the call
	cut       cutter
}

func newEncoder(h *head) *encoder {
	e := &encoder{head: h, after: -1, spans: map[string]*output{}, calls: map[string]*output{}, outcome: outcome{status: "in_progress"}}
	e.learn()
	return e
}

// learn reads what the encoder needs of the head.
func (e *encoder) learn() {
	var tools []struct {
		Name string `json:"name"`
	}
	e.head.echo.into("tools", &tools)
	e.own = map[string]bool{}
	for _, t := range tools {
		e.own[t.Name] = true
	}
}

// frame appends a frame. members begin with a comma.
func (e *encoder) frame(dst []byte, name string, members []byte) []byte {
	n := e.next
	e.next++
	if e.quiet || n <= e.after {
		return dst
	}
	doc := append([]byte(`{"type":"`), name...)
	doc = strconv.AppendInt(append(doc, `","sequence_number":`...), int64(n), 10)
	return sse.Append(dst, name, "", append(append(doc, members...), '}'))
}

// life appends a frame with the whole response.
func (e *encoder) life(dst []byte, name string, o *outcome) []byte {
	if e.quiet {
		return dst
	}
	return e.frame(dst, name, append([]byte(`,"response":`), e.head.object(o)...))
}

// Begin writes what comes before the output.
func (e *encoder) Begin(dst []byte) []byte {
	if e.load != nil {
		e.load(e.head)
		e.learn()
	}
	begun := &outcome{status: "in_progress"}
	if e.head.echo.flag("background") {
		queued := &outcome{status: "queued"}
		dst = e.life(e.life(dst, "response.created", queued), "response.queued", queued)
	} else {
		dst = e.life(dst, "response.created", begun)
	}
	return e.life(dst, "response.in_progress", begun)
}

// at returns the members that say which item a frame is about.
func (o *output) at(part string) []byte {
	doc := wire.Quote([]byte(`,"item_id":`), o.id)
	doc = strconv.AppendInt(append(doc, `,"output_index":`...), int64(o.index), 10)
	return append(doc, part...)
}

// add begins an item of the output.
func (e *encoder) add(dst []byte, id string, item []byte) ([]byte, *output) {
	o := &output{index: len(e.output), id: id}
	e.output = append(e.output, item)
	return e.item(dst, "response.output_item.added", o), o
}

// done completes an item of the output.
func (e *encoder) done(dst []byte, o *output, item []byte) []byte {
	e.output[o.index] = item
	return e.item(dst, "response.output_item.done", o)
}

func (e *encoder) item(dst []byte, name string, o *output) []byte {
	members := strconv.AppendInt([]byte(`,"output_index":`), int64(o.index), 10)
	return e.frame(dst, name, append(append(members, `,"item":`...), e.output[o.index]...))
}

// whole writes an item that has no pieces.
func (e *encoder) whole(dst []byte, id string, item []byte) []byte {
	dst, o := e.add(dst, id, item)
	return e.done(dst, o, item)
}

// Step writes a step.
func (e *encoder) Step(dst []byte, s *face.Step, _ string) []byte {
	switch s.Kind {
	case face.TextStart, face.ThoughtStart:
		return e.begin(dst, s)
	case face.TextDelta, face.ThoughtDelta:
		if o := e.spans[s.ID]; o != nil {
			o.cut.add(s.Text, e.delta(&dst, s, o))
		}
	case face.TextEnd, face.ThoughtEnd:
		return e.finish(dst, s)
	case face.Call:
		return e.call(dst, s)
	case face.Result:
		return e.result(dst, s)
	case face.Ask:
		e.questions++
		return e.whole(dst, "q_"+s.ID, questionItem("q_"+s.ID, s.Question))
	case face.File, face.Code:
		id := "part_" + s.EventID + "-" + strconv.Itoa(len(e.output))
		return e.whole(dst, id, partItem(id, s.Part))
	case face.Usage:
		e.usage.Add(s.Usage)
	case face.Failure:
		failed := *s
		e.failed = &failed
	case face.Cut:
		if reasons[s.Name] != "" {
			cut := *s
			e.failed = &cut
		}
	case face.State, face.Speaker, face.Saved: // the protocol does not have them
	}
	return dst
}

// Parts of the names of frames, and of their members, for texts and for thoughts.
const (
	ofText    = `,"content_index":0`
	ofThought = `,"summary_index":0`
)

func (e *encoder) begin(dst []byte, s *face.Step) []byte {
	var o *output
	if s.Kind == face.ThoughtStart {
		id := "rs_" + s.ID
		dst, o = e.add(dst, id, reasoningItem(id, "", false))
		dst = e.frame(dst, "response.reasoning_summary_part.added", summaryPart(append(o.at(ofThought), `,"part":`...), ""))
	} else {
		id := "msg_" + s.ID
		dst, o = e.add(dst, id, messageItem(id, "", false))
		dst = e.frame(dst, "response.content_part.added", textPart(append(o.at(ofText), `,"part":`...), ""))
	}
	e.spans[s.ID] = o
	return dst
}

// delta returns a function that writes a delta.
func (e *encoder) delta(dst *[]byte, s *face.Step, o *output) func(string) {
	name, part, rest := "response.output_text.delta", ofText, `,"logprobs":[]`
	if s.Kind == face.ThoughtDelta || s.Kind == face.ThoughtEnd {
		name, part, rest = "response.reasoning_summary_text.delta", ofThought, ""
	}
	return func(text string) {
		*dst = e.frame(*dst, name, append(wire.Quote(append(o.at(part), `,"delta":`...), text), rest...))
	}
}

func (e *encoder) finish(dst []byte, s *face.Step) []byte {
	o := e.spans[s.ID]
	if o == nil {
		return dst
	}
	delete(e.spans, s.ID)
	o.cut.flush(e.delta(&dst, s, o))
	if s.Kind == face.ThoughtEnd {
		dst = e.frame(dst, "response.reasoning_summary_text.done", wire.Quote(append(o.at(ofThought), `,"text":`...), s.Text))
		dst = e.frame(dst, "response.reasoning_summary_part.done", summaryPart(append(o.at(ofThought), `,"part":`...), s.Text))
		return e.done(dst, o, reasoningItem(o.id, s.Text, true))
	}
	dst = e.frame(dst, "response.output_text.done", append(wire.Quote(append(o.at(ofText), `,"text":`...), s.Text), `,"logprobs":[]`...))
	dst = e.frame(dst, "response.content_part.done", textPart(append(o.at(ofText), `,"part":`...), s.Text))
	return e.done(dst, o, messageItem(o.id, s.Text, true))
}

func (e *encoder) call(dst []byte, s *face.Step) []byte {
	var o *output
	if s.Pending && e.own[s.Name] {
		e.functions++
		dst, o = e.add(dst, "fc_"+s.ID, functionItem("fc_"+s.ID, s, false))
		o.client, e.calls[s.ID] = true, o
		text := string(s.JSON)
		dst = e.frame(dst, "response.function_call_arguments.delta", wire.Quote(append(o.at(""), `,"delta":`...), text))
		members := wire.Quote(append(o.at(""), `,"name":`...), s.Name)
		dst = e.frame(dst, "response.function_call_arguments.done", wire.Quote(append(members, `,"arguments":`...), text))
		return e.done(dst, o, functionItem(o.id, s, true))
	}
	if s.Pending {
		e.questions++
	}
	id := "tc_" + s.ID
	dst, o = e.add(dst, id, toolItem(id, s.ID, s.Name, s.JSON, nil, "in_progress"))
	o.call, o.name, o.arguments, e.calls[s.ID] = s.ID, s.Name, s.JSON, o
	e.open = append(e.open, o)
	return dst
}

func (e *encoder) result(dst []byte, s *face.Step) []byte {
	o := e.calls[s.ID]
	switch {
	case o == nil: // of a call that an earlier run has made
		id := "tc_" + s.ID
		dst, o = e.add(dst, id, toolItem(id, s.ID, s.Name, nil, nil, "in_progress"))
		o.name, o.call, e.calls[s.ID] = s.Name, s.ID, o
	case o.client || o.call == "":
		return dst
	}
	status := "completed"
	if s.Failed {
		status = "failed"
	}
	dst = e.done(dst, o, toolItem(o.id, s.ID, o.name, o.arguments, s.JSON, status))
	o.call = "" // it has its result
	return dst
}

// End writes the end of a run.
func (e *encoder) End(dst []byte, row *session.Run) []byte {
	for _, o := range e.open {
		if o.call != "" {
			dst = e.done(dst, o, toolItem(o.id, o.call, o.name, o.arguments, nil, "incomplete"))
		}
	}
	e.open = nil
	e.ended(row)
	name := "response." + e.status
	if e.status == "cancelled" {
		name = "response.incomplete" // the protocol has no frame of that name
	}
	return e.stop(e.life(dst, name, &e.outcome))
}

// stop ends the stream.
func (e *encoder) stop(dst []byte) []byte {
	if e.quiet {
		return dst
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Break writes the end of a stream whose run continues, or cannot be read.
func (e *encoder) Break(dst []byte, p face.Problem) []byte {
	e.next = max(e.next, e.after+1)
	members := append([]byte(`,"code":"server_error","message":`), wire.Quote(nil, p.Message)...)
	return e.stop(e.frame(dst, "error", append(members, `,"param":null`...)))
}
