package stream

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/parley-run/parley/event"
)

// message is a text that arrives in pieces.
type message struct {
	id             string // of the event
	author, branch string
	first          *event.Event // the first piece, as a template for larger ones
	bare           *event.Event // the latest piece without a content, which says how far a node is
	bareAt         int          // its number, beginning with 1
	spans          []span       // the text so far
	count          int          // number of pieces so far
	frames         []frame      // a ring of the latest pieces; those that all followers have read have no JSON
	base, kept     int          // the number of its first piece, and how many were added
	left           int          // number of followers that have not passed its event yet
}

// window is how many pieces are kept separately for readers that are slightly
// behind.
const window = 256

type frame struct {
	number int
	json   []byte
	piece  *event.Event
	end    int // length of the text including this piece
}

// span is text that is either all thought or none.
type span struct {
	thought bool
	text    []byte
}

// keep stores a piece. Nothing is kept while there are no followers, so there may
// be a gap; earlier pieces are dropped then.
func (m *message) keep(f frame) {
	if n := len(m.frames); n == 0 || f.number != m.base+m.kept {
		m.frames, m.base, m.kept = m.frames[:0], f.number, 0
	}
	if len(m.frames) < window {
		m.frames = append(m.frames, f)
	} else {
		m.frames[m.kept%window] = f
	}
	m.kept++
}

// frame returns the piece with a number, if it is still kept.
func (m *message) frame(number int) (frame, bool) {
	i := number - m.base
	if i < 0 || i >= m.kept || i < m.kept-window {
		return frame{}, false
	}
	f := m.frames[i%window]
	return f, f.json != nil
}

func (m *message) length() int {
	n := 0
	for _, s := range m.spans {
		n += len(s.text)
	}
	return n
}

// pieceIndex is the member of a piece's customMetadata with its position in the
// text. It is in customMetadata because the contract defines all other members of
// events.
const pieceIndex = "pieceIndex"

// appendNumbered appends the JSON of a piece with its index.
func appendNumbered(dst []byte, ev *event.Event, index int) ([]byte, error) {
	if len(ev.CustomMetadata) > 0 || len(ev.Extra) > 0 {
		out := *ev
		out.CustomMetadata = make(map[string]json.RawMessage, len(ev.CustomMetadata)+1)
		maps.Copy(out.CustomMetadata, ev.CustomMetadata)
		out.CustomMetadata[pieceIndex] = strconv.AppendInt(nil, int64(index), 10)
		return out.AppendJSON(dst)
	}
	// The usual piece does not need a map: customMetadata is its last member
	// (BenchmarkStream in package bench).
	dst, err := ev.AppendJSON(dst)
	if err != nil {
		return nil, err
	}
	dst = append(dst[:len(dst)-1], `,"customMetadata":{"`+pieceIndex+`":`...)
	return append(strconv.AppendInt(dst, int64(index), 10), "}}"...), nil
}

func (m *message) add(ev *event.Event) {
	if ev.Content == nil {
		m.bare, m.bareAt = ev, m.count+1
		return
	}
	for _, p := range ev.Content.Parts {
		if !p.IsText() {
			continue
		}
		if n := len(m.spans); n > 0 && m.spans[n-1].thought == p.Thought {
			m.spans[n-1].text = append(m.spans[n-1].text, p.Text...)
		} else {
			m.spans = append(m.spans, span{p.Thought, []byte(p.Text)})
		}
	}
}

// since returns one piece with the text after the first n bytes, and with what the
// latest piece without a content says, and its JSON; nil if there is none. index is
// that of the first piece in it.
func (m *message) since(n, index int) (*event.Event, []byte, error) {
	ev := *m.first
	if m.bare != nil {
		ev.Extra = m.bare.Extra
	}
	ev.Content = &event.Content{Role: event.RoleModel}
	for _, s := range m.spans {
		if n >= len(s.text) {
			n -= len(s.text)
			continue
		}
		ev.Content.Parts = append(ev.Content.Parts, &event.Part{Text: string(s.text[n:]), Thought: s.thought})
		n = 0
	}
	if len(ev.Content.Parts) == 0 {
		if m.bareAt <= index {
			return nil, nil, nil
		}
		ev = *m.bare
	}
	doc, err := appendNumbered(nil, &ev, index)
	return &ev, doc, err
}
