// Package stream delivers an active run to its readers: the stored events, each
// once and in order, and before each one its partial events.
package stream

import (
	"cmp"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Feed is what the readers of one run see. Its zero value is empty and ready.
// It is safe for concurrent use.
//
// Readers have no queues. A reader is a position in the feed, so a slow one costs
// nothing but its position: it reads the stored events when it reaches them, and
// receives pieces that are no longer kept separately as one larger piece.
type Feed struct {
	mu        sync.Mutex
	entries   []*session.Entry
	first     [usualEntries]*session.Entry // where entries begins, which saves allocations (BenchmarkRun in package bench)
	pieces    map[int]*message             // complete messages, by the index of their event
	live      []*message                   // incomplete messages
	followers []*Follower
	ended     bool
}

// usualEntries is how many events most runs store after the message: a call, its
// response, and the answer (BenchmarkRun in package bench).
const usualEntries = 3

// Item is a stored event, or a piece of an event that is not complete.
type Item struct {
	JSON []byte
	// Entry is nil for a piece.
	Entry *session.Entry
	// Piece is the partial event that JSON encodes; nil for a stored event. It must
	// not be changed. EventID is the id that its event will have when it is stored.
	Piece   *event.Event
	EventID string
	// Start is how many bytes of the event's text precede the piece.
	Start int
}

// Store adds an event that has been stored.
func (f *Feed) Store(entry *session.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ev, err := entry.Decode()
	if err != nil {
		ev = &event.Event{} // its bytes can still be read
	}
	done := f.find(ev)
	if done >= 0 {
		if len(f.followers) > 0 {
			if f.pieces == nil {
				f.pieces = map[int]*message{}
			}
			f.pieces[len(f.entries)] = f.live[done]
			f.live[done].left = len(f.followers) // later followers read only the event
		}
		f.live = slices.Delete(f.live, done, done+1)
	}
	if f.entries == nil {
		f.entries = f.first[:0]
	}
	f.entries = append(f.entries, entry)
	f.wake()
}

// Piece adds a piece of an event that is not complete.
func (f *Feed) Piece(ev *event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.find(ev)
	if i < 0 {
		i = len(f.live)
		f.live = append(f.live, &message{id: event.NewID(), author: ev.Author, branch: ev.Branch, first: ev})
	}
	return f.extend(f.live[i], ev)
}

// extend adds a piece to a message. f.mu must be held.
func (f *Feed) extend(m *message, ev *event.Event) error {
	m.add(ev)
	if len(f.followers) > 0 {
		doc, err := appendNumbered(make([]byte, 0, 384), ev, m.count)
		if err != nil {
			return err
		}
		m.keep(frame{number: m.count, json: doc, piece: ev, end: m.length()})
	}
	m.count++
	f.wake()
	return nil
}

// EventID returns the id for an event whose pieces have been shown, so that readers
// know early which event they belong to; empty if there are none.
func (f *Feed) EventID(ev *event.Event) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(ev); i >= 0 {
		return f.live[i].id
	}
	return ""
}

// find returns the index in live of the message of an event, or -1.
func (f *Feed) find(ev *event.Event) int {
	return slices.IndexFunc(f.live, func(m *message) bool { return m.author == ev.Author && m.branch == ev.Branch })
}

// Unfinished returns the incomplete messages as far as they were shown, marked as
// interrupted. It omits messages that have only thoughts.
func (f *Feed) Unfinished() []*event.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*event.Event
	for _, m := range f.live {
		ev := &event.Event{
			ID: m.id, Author: m.author, Branch: m.branch, ModelVersion: m.first.ModelVersion, Interrupted: true,
			Content: &event.Content{Role: event.RoleModel},
		}
		hasText := false
		for _, s := range m.spans {
			if len(s.text) > 0 {
				ev.Content.Parts = append(ev.Content.Parts, &event.Part{Text: string(s.text), Thought: s.thought})
				hasText = hasText || !s.thought
			}
		}
		if hasText {
			found = append(found, ev)
		}
	}
	return found
}

// DropUnfinished drops the incomplete messages.
func (f *Feed) DropUnfinished() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = nil
}

// End tells the readers that nothing follows.
func (f *Feed) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.wake()
	f.release()
}

// release drops the pieces if the run has ended and there are no followers: later
// ones read the events. f.mu must be held.
func (f *Feed) release() {
	if f.ended && len(f.followers) == 0 {
		f.pieces, f.live = nil, nil
	}
}

// passed records that a follower no longer needs the pieces before an event. Pieces
// that no follower needs are dropped, because a run may stream for hours. f.mu must
// be held.
func (f *Feed) passed(index int) {
	m := f.pieces[index]
	if m.left--; m.left == 0 {
		delete(f.pieces, index)
	}
}

// Entries returns the events that have been stored.
func (f *Feed) Entries() []*session.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clip(f.entries)
}

// LastSeq returns the sequence number of the last event; 0 for none.
func (f *Feed) LastSeq() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.entries) == 0 {
		return 0
	}
	return f.entries[len(f.entries)-1].Seq
}

// wake notifies the followers. f.mu must be held.
func (f *Feed) wake() {
	for _, one := range f.followers {
		select {
		case one.ready <- struct{}{}:
		default: // it has not read since it was last woken
		}
	}
}

// Follow reads the stored events with a greater sequence number than after, and
// everything that follows.
func (f *Feed) Follow(after int64) *Follower {
	one := &Follower{feed: f, ready: make(chan struct{}, 1)}
	one.ready <- struct{}{}
	f.mu.Lock()
	defer f.mu.Unlock()
	one.joined = len(f.entries)
	one.next, _ = slices.BinarySearchFunc(f.entries, after+1, func(e *session.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	if n := len(f.entries); n > 0 && f.entries[n-1].Seq < after {
		one.behind = after
	}
	for _, m := range f.live {
		one.read = append(one.read, position{message: m, late: true})
	}
	f.followers = append(f.followers, one)
	return one
}
