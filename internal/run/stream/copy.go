package stream

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/parley-run/parley/event"
)

var errGap = errors.New("a piece of the text is missing")

// Copy adds a piece from the feed of another server, as an Item of it describes it.
// A piece may repeat text that is known already, which is left out: a new follower of
// the other feed gets its text so far once more. Copy fails if text is missing before
// the piece.
func (f *Feed) Copy(id string, start int, piece *event.Event) error {
	ev, index, err := unnumbered(piece)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.live, func(m *message) bool { return m.id == id })
	if i < 0 {
		if old := f.find(ev); old >= 0 { // the other server has dropped it
			f.live = slices.Delete(f.live, old, old+1)
		}
		i = len(f.live)
		f.live = append(f.live, &message{id: id, author: ev.Author, branch: ev.Branch, first: ev})
	}
	m := f.live[i]
	known := m.length() - start
	if known < 0 || start < 0 {
		return errGap
	}
	if known > 0 && ev.Content != nil {
		if ev = withoutText(ev, known); ev == nil {
			return nil
		}
	}
	m.count = max(m.count, index)
	return f.extend(m, ev)
}

// unnumbered returns a piece without its index, and the index.
func unnumbered(ev *event.Event) (*event.Event, int, error) {
	index, err := strconv.Atoi(string(ev.CustomMetadata[pieceIndex]))
	if err != nil || index < 0 {
		return nil, 0, errors.New("a piece has no index")
	}
	out := *ev
	out.CustomMetadata = nil
	if len(ev.CustomMetadata) > 1 {
		out.CustomMetadata = maps.Clone(ev.CustomMetadata)
		maps.DeleteFunc(out.CustomMetadata, func(name string, _ json.RawMessage) bool { return name == pieceIndex })
	}
	return &out, index, nil
}

// withoutText returns a piece without the first n bytes of its text; nil if nothing
// remains.
func withoutText(ev *event.Event, n int) *event.Event {
	out := *ev
	out.Content = &event.Content{Role: ev.Content.Role}
	for _, p := range ev.Content.Parts {
		if !p.IsText() {
			continue
		}
		if n >= len(p.Text) {
			n -= len(p.Text)
			continue
		}
		part := *p
		part.Text = p.Text[n:]
		out.Content.Parts = append(out.Content.Parts, &part)
		n = 0
	}
	if len(out.Content.Parts) == 0 {
		return nil
	}
	return &out
}
