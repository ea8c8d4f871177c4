package face

import (
	"encoding/json"
	"hash/crc32"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/run"
)

// Kind is the kind of a Step.
type Kind uint8

// The kinds of steps. A text or a thought has a start, deltas and an end, and each has
// an id of its own. Texts of parallel agents may interleave.
const (
	TextStart    Kind = iota + 1
	TextDelta         // Text
	TextEnd           // Text is the whole of it
	ThoughtStart      // as for texts
	ThoughtDelta
	ThoughtEnd
	Call    // ID, Name, JSON (arguments); Pending if the client answers it
	Result  // ID, Name, JSON (response), Failed
	Ask     // Question
	State   // Delta: null deletes a key
	File    // Part with InlineData or FileData
	Code    // Part with ExecutableCode or CodeExecutionResult
	Saved   // Files: artifacts that were saved, with their versions
	Speaker // Name is the agent that the following steps are of; ID is the event with which it began
	Usage   // Usage, and Name of the model
	Cut     // Name is the reason why the model stopped before its answer was complete
	Failure // Name (code) and Text
)

// Step is what a run did, in terms that all protocols have.
type Step struct {
	Kind Kind
	// ID identifies the text or the call. It is the same for every reader.
	ID string
	// EventID is the event that the step is part of, stored or to be stored.
	EventID string
	// Parent is the id of the message that a call is part of.
	Parent         string
	Author, Branch string
	Name, Text     string
	JSON           json.RawMessage
	Delta          map[string]json.RawMessage
	Files          map[string]int64
	Part           *event.Part
	Usage          *event.Usage
	Question       *Question
	Pending        bool
	Failed         bool
}

// Transcript translates the items of a run.Reader into steps. It sends what a reader
// has not seen of a text when the stored event arrives, so pieces and events add up to
// the stored text.
type Transcript struct {
	// Replayable makes the steps follow from the stored events, for protocols that
	// number their frames: texts of parallel agents are shown when their events are
	// stored, which is one order for all readers, and the end of a stream whose run
	// continues closes nothing.
	Replayable bool

	seq     int64 // of the last stored event
	live    []*message
	speaker Speaking
	pending map[string]bool // calls that are answered from outside
}

// Speaking is the agent that speaks, and the event with which it began.
type Speaking struct{ Name, Event string }

// Speaker returns the agent of the last step, outside of parallel branches.
func (t *Transcript) Speaker() Speaking { return t.speaker }

// message is a message whose pieces arrive.
type message struct {
	event          string // the id of its event
	author, branch string
	sent           int    // bytes of all spans that were sent
	sum            uint32 // their checksum
	open           *span
	spans          int
	resumed        bool // only its event and sent are known
	text           strings.Builder
}

// span is a part of a message that is all thought, or all text.
type span struct {
	id      string
	thought bool
}

// Position returns where the reader is, for Resume: the sequence number of the last
// stored event, and of each message that has begun how much was sent.
func (t *Transcript) Position() string {
	b := strconv.AppendInt(nil, t.seq, 10)
	for _, m := range t.live {
		open := byte('-')
		if m.open != nil {
			if open = 'x'; m.open.thought {
				open = 't'
			}
		}
		b = append(append(b, ','), m.event...)
		b = strconv.AppendInt(append(b, ':'), int64(m.spans), 10)
		b = strconv.AppendInt(append(b, ':'), int64(m.sent), 10)
		b = strconv.AppendUint(append(b, ':'), uint64(m.sum), 16)
		b = append(append(b, ':'), open)
	}
	if t.speaker.Name != "" {
		b = append(append(b, ';'), t.speaker.Event...)
		b = append(append(b, ':'), url.PathEscape(t.speaker.Name)...)
	}
	return string(b)
}

// maxPosition is longer than the position of a thousand agents that speak at the same
// time.
const maxPosition = 64 << 10

// Resume sets the position of a reader that has seen everything before it. It returns
// the sequence number to read after.
func (t *Transcript) Resume(position string) (after int64, err error) {
	if len(position) > maxPosition {
		return 0, run.ErrUnknownEvent
	}
	position, speaker, spoken := strings.Cut(position, ";")
	if spoken {
		at, name, ok := strings.Cut(speaker, ":")
		if name, err = url.PathUnescape(name); err != nil || !ok {
			return 0, run.ErrUnknownEvent
		}
		t.speaker = Speaking{Name: name, Event: at}
	}
	first, rest, _ := strings.Cut(position, ",")
	if t.seq, err = strconv.ParseInt(first, 10, 64); err != nil || t.seq < 0 {
		return 0, run.ErrUnknownEvent
	}
	for rest != "" {
		var one string
		one, rest, _ = strings.Cut(rest, ",")
		fields := strings.Split(one, ":")
		if len(fields) != 5 {
			return 0, run.ErrUnknownEvent
		}
		spans, err1 := strconv.Atoi(fields[1])
		sent, err2 := strconv.Atoi(fields[2])
		sum, err3 := strconv.ParseUint(fields[3], 16, 32)
		if err1 != nil || err2 != nil || err3 != nil || spans < 0 || sent < 0 {
			return 0, run.ErrUnknownEvent
		}
		m := &message{event: fields[0], spans: spans, sent: sent, sum: uint32(sum), resumed: true}
		if fields[4] != "-" {
			m.open = &span{id: spanID(m.event, spans-1), thought: fields[4] == "t"}
		}
		t.live = append(t.live, m)
	}
	return t.seq, nil
}

// spanID returns the id of a part of a message.
func spanID(eventID string, index int) string {
	if index <= 0 {
		return eventID
	}
	return eventID + "-" + strconv.Itoa(index)
}

// Span is a part of the text of an event that is all thought, or all text.
type Span struct {
	ID      string
	Thought bool
	Text    string
}

// Spans returns the texts and thoughts of an event, with the ids that the steps of a
// Transcript have.
func Spans(ev *event.Event) (list []Span) {
	if ev.Content == nil {
		return nil
	}
	for _, p := range ev.Content.Parts {
		if !p.IsText() || p.Text == "" {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Thought != p.Thought {
			list = append(list, Span{ID: spanID(ev.ID, n), Thought: p.Thought})
		}
		list[len(list)-1].Text += p.Text
	}
	return list
}

// CallsID returns the id of the message that the calls of an event are part of: that of
// the text before them, or one of their own.
func CallsID(ev *event.Event) string {
	spans := Spans(ev)
	if n := len(spans); n > 0 && !spans[n-1].Thought {
		return spans[n-1].ID
	}
	return spanID(ev.ID, len(spans))
}

// Item appends the steps of an item to dst.
func (t *Transcript) Item(dst []Step, item run.Item) ([]Step, error) {
	if item.Entry == nil {
		ev := item.Piece
		if ev.Branch != "" && t.Replayable {
			return dst, nil
		}
		dst = t.speaks(dst, ev, item.EventID)
		m := t.message(&dst, ev, item.EventID)
		return m.add(dst, ev), nil
	}
	ev, err := item.Entry.Decode()
	if err != nil {
		return dst, err
	}
	t.seq = item.Entry.Seq
	return t.stored(t.speaks(dst, ev, ev.ID), ev), nil
}

// End appends the steps that close what is open at the end of a run.
func (t *Transcript) End(dst []Step) []Step {
	for _, m := range t.live {
		dst = m.close(dst)
	}
	t.live = nil
	return dst
}

// interrupt is End for a reader whose run continues.
func (t *Transcript) interrupt(dst []Step) []Step {
	if t.Replayable {
		return dst
	}
	return t.End(dst)
}

// speaks appends the change of the agent that speaks.
func (t *Transcript) speaks(dst []Step, ev *event.Event, id string) []Step {
	if ev.Author == event.User || ev.Branch != "" || ev.Author == t.speaker.Name {
		return dst
	}
	t.speaker = Speaking{Name: ev.Author, Event: id}
	return append(dst, Step{Kind: Speaker, ID: id, Name: ev.Author, Author: ev.Author, EventID: id})
}

// message returns the message of an event, and closes an earlier one of the same
// agent whose event never came.
func (t *Transcript) message(dst *[]Step, ev *event.Event, id string) *message {
	i := slices.IndexFunc(t.live, func(m *message) bool { return m.event == id })
	if i >= 0 {
		m := t.live[i]
		m.author, m.branch = ev.Author, ev.Branch
		return m
	}
	t.live = slices.DeleteFunc(t.live, func(m *message) bool {
		stale := m.author == ev.Author && m.branch == ev.Branch || m.resumed && m.author == "" && ev.Branch == ""
		if stale {
			*dst = m.close(*dst)
		}
		return stale
	})
	m := &message{event: id, author: ev.Author, branch: ev.Branch}
	t.live = append(t.live, m)
	return m
}

// add appends the texts of a piece.
func (m *message) add(dst []Step, ev *event.Event) []Step {
	if ev.Content == nil {
		return dst
	}
	if m.resumed { // the pieces so far come once more, as one
		whole := textOf(ev)
		switch {
		case len(whole) < m.sent || checksum(0, whole[:m.sent]) != m.sum:
			dst = m.restart(dst)
		default:
			m.resumed = false
			return m.rest(dst, ev)
		}
	}
	for _, p := range ev.Content.Parts {
		if p.IsText() && p.Text != "" {
			dst = m.send(dst, p.Thought, p.Text)
		}
	}
	return dst
}

// rest appends what of a whole message was not sent yet. What was sent must be its
// beginning.
func (m *message) rest(dst []Step, ev *event.Event) []Step {
	skip := m.sent
	for _, p := range ev.Content.Parts {
		if !p.IsText() {
			continue
		}
		if skip >= len(p.Text) {
			skip -= len(p.Text)
			continue
		}
		dst = m.send(dst, p.Thought, p.Text[skip:])
		skip = 0
	}
	return dst
}

// restart closes a message that turned out otherwise; what follows has other ids.
func (m *message) restart(dst []Step) []Step {
	dst = m.close(dst)
	m.sent, m.sum, m.resumed = 0, 0, false
	return dst
}

func (m *message) send(dst []Step, thought bool, text string) []Step {
	if m.open != nil && m.open.thought != thought {
		dst = m.close(dst)
	}
	if m.open == nil {
		m.open = &span{id: spanID(m.event, m.spans), thought: thought}
		m.spans++
		m.text.Reset()
		dst = append(dst, m.step(TextStart, ""))
	}
	m.sent += len(text)
	m.sum = checksum(m.sum, text)
	m.text.WriteString(text)
	return append(dst, m.step(TextDelta, text))
}

func (m *message) close(dst []Step) []Step {
	if m.open != nil {
		dst = append(dst, m.step(TextEnd, m.text.String()))
		m.open = nil
	}
	return dst
}

func (m *message) step(kind Kind, text string) Step {
	if m.open.thought {
		kind += ThoughtStart - TextStart
	}
	return Step{Kind: kind, ID: m.open.id, EventID: m.event, Author: m.author, Branch: m.branch, Text: text}
}

func checksum(sum uint32, text string) uint32 {
	return crc32.Update(sum, crc32.IEEETable, []byte(text))
}

func textOf(ev *event.Event) string {
	var b strings.Builder
	if ev.Content != nil {
		for _, p := range ev.Content.Parts {
			if p.IsText() {
				b.WriteString(p.Text)
			}
		}
	}
	return b.String()
}

// stored appends the steps of a stored event: what is left of its texts, and
// everything else.
func (t *Transcript) stored(dst []Step, ev *event.Event) []Step {
	if whole := textOf(ev); whole != "" || slices.ContainsFunc(t.live, func(m *message) bool { return m.event == ev.ID }) {
		m := t.message(&dst, ev, ev.ID)
		if len(whole) < m.sent || checksum(0, whole[:m.sent]) != m.sum {
			dst = m.restart(dst)
		}
		if ev.Content != nil {
			dst = m.rest(dst, ev)
		}
		dst = m.close(dst)
		t.live = slices.DeleteFunc(t.live, func(one *message) bool { return one == m })
	}
	step := func(s Step) {
		s.EventID, s.Author, s.Branch = ev.ID, ev.Author, ev.Branch
		dst = append(dst, s)
	}
	if ev.Content != nil {
		for _, p := range ev.Content.Parts {
			switch {
			case p.FunctionCall != nil:
				t.call(step, ev, p.FunctionCall)
			case p.FunctionResponse != nil:
				t.result(step, ev, p.FunctionResponse)
			case p.InlineData != nil, p.FileData != nil:
				step(Step{Kind: File, Part: p})
			case p.ExecutableCode != nil, p.CodeExecutionResult != nil:
				step(Step{Kind: Code, Part: p})
			}
		}
	}
	if len(ev.Actions.ArtifactDelta) > 0 {
		step(Step{Kind: Saved, Files: ev.Actions.ArtifactDelta})
	}
	if delta := redact.State(ev.Actions.StateDelta); len(delta) > 0 {
		step(Step{Kind: State, Delta: delta})
	}
	if ev.Usage != nil {
		step(Step{Kind: Usage, Usage: ev.Usage, Name: ev.ModelVersion})
	}
	if r := ev.FinishReason; r != "" && r != "STOP" && ev.ErrorCode == "" {
		step(Step{Kind: Cut, Name: r})
	}
	if ev.ErrorCode != "" {
		step(Step{Kind: Failure, Name: ev.ErrorCode, Text: ev.ErrorMessage})
	}
	return dst
}

func (t *Transcript) call(step func(Step), ev *event.Event, call *event.FunctionCall) {
	pending := slices.Contains(ev.LongRunningToolIDs, call.ID)
	if pending {
		if t.pending == nil {
			t.pending = map[string]bool{}
		}
		t.pending[call.ID] = true
	}
	if q := QuestionOf(call); q != nil && pending {
		step(Step{Kind: Ask, ID: call.ID, Name: call.Name, Question: q})
		return
	}
	step(Step{Kind: Call, ID: call.ID, Name: call.Name, JSON: arguments(call.Args), Pending: pending, Parent: CallsID(ev)})
}

func (t *Transcript) result(step func(Step), ev *event.Event, r *event.FunctionResponse) {
	switch {
	case agentrt.Unmade(ev, r): // the call is made when the user has answered
	case ev.Author != event.User && t.pending[r.ID] && !agentrt.Closed(r): // a receipt; the client has the result
	default:
		step(Step{Kind: Result, ID: r.ID, Name: r.Name, JSON: arguments(r.Response), Failed: failed(r)})
	}
}

// arguments returns an object that is never empty.
func arguments(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return json.RawMessage("{}")
	}
	return doc
}

// failed reports whether a response is the error of a tool.
func failed(r *event.FunctionResponse) bool {
	if agentrt.Closed(r) {
		return true
	}
	var doc struct {
		Status  string          `json:"status"`
		Error   json.RawMessage `json:"error"`
		Message string          `json:"error_message"` // of a call that did not finish
	}
	return json.Unmarshal(r.Response, &doc) == nil && (doc.Status == "error" || doc.Message != "" || len(doc.Error) > 0 && string(doc.Error) != "null")
}
