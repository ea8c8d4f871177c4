package run

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// feed is what the readers of a run see: the stored events, each once and in
// order, and before each one the pieces in which it was made.
//
// Readers keep no queue. A reader is a place in the feed, so a slow one costs
// nothing but its place: it reads the stored events when it comes to them, and
// pieces that are no longer at hand one by one come as one larger piece.
type feed struct {
	task *task

	mu        sync.Mutex
	entries   []*session.Entry
	room      [typicalTurn - 1]*session.Entry // for the first of them
	pieces    map[int]*message                // complete messages, by the place of their event
	live      []*message                      // messages that are still being made
	followers []*Follower
	ended     bool
}

// message is something that is said piece by piece.
type message struct {
	author, branch string
	first          *event.Event // the first piece, as a pattern for larger ones
	said           []span       // everything so far
	count          int          // pieces so far
	frames         []frame      // a ring of the latest pieces, those that nobody needs any more without their JSON
	base, kept     int          // the number of its first piece, and how many went in
	left           int          // followers that have not come past its event yet
}

// window is how many pieces are kept one by one for readers that are a little
// behind.
const window = 256

type frame struct {
	number int
	json   []byte
	end    int // length of what was said, this piece included
}

// keep remembers a piece. Nothing is kept while nobody reads, so there may be a
// gap; what is before it is forgotten.
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

// frame is the piece of that number, if it is still at hand.
func (m *message) frame(number int) (frame, bool) {
	i := number - m.base
	if i < 0 || i >= m.kept || i < m.kept-window {
		return frame{}, false
	}
	f := m.frames[i%window]
	return f, f.json != nil
}

// span is text, all of it thought or none.
type span struct {
	thought bool
	text    []byte
}

func (m *message) length() int {
	n := 0
	for _, s := range m.said {
		n += len(s.text)
	}
	return n
}

// Item is something to read: a stored event, or a piece of one to come.
type Item struct {
	JSON []byte
	// Entry is nil for a piece.
	Entry *session.Entry
}

// store adds an event that has been stored.
func (f *feed) store(entry *session.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ev, err := entry.Decode()
	if err != nil {
		ev = &event.Event{} // it can still be read as it is
	}
	done := slices.IndexFunc(f.live, func(m *message) bool { return m.author == ev.Author && m.branch == ev.Branch })
	if done >= 0 {
		if len(f.followers) > 0 {
			if f.pieces == nil {
				f.pieces = map[int]*message{}
			}
			f.pieces[len(f.entries)] = f.live[done]
			f.live[done].left = len(f.followers) // whoever comes later reads the event alone
		}
		f.live = slices.Delete(f.live, done, done+1)
	}
	if f.entries == nil {
		f.entries = f.room[:0]
	}
	f.entries = append(f.entries, entry)
	f.wake()
}

// piece adds a part of an event that is still being made.
func (f *feed) piece(ev *event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.live, func(m *message) bool { return m.author == ev.Author && m.branch == ev.Branch })
	if i < 0 {
		i = len(f.live)
		f.live = append(f.live, &message{author: ev.Author, branch: ev.Branch, first: ev})
	}
	m := f.live[i]
	m.add(ev)
	if len(f.followers) > 0 {
		doc, err := numbered(ev, m.count).AppendJSON(make([]byte, 0, 384))
		if err != nil {
			return err
		}
		m.keep(frame{number: m.count, json: doc, end: m.length()})
	}
	m.count++
	f.wake()
	return nil
}

// pieceIndex is the member of a piece's customMetadata with its place in the text.
// Events have no members that are not in the contract.
const pieceIndex = "pieceIndex"

// numbered is a piece with its index.
func numbered(ev *event.Event, index int) *event.Event {
	out := *ev
	out.CustomMetadata = make(map[string]json.RawMessage, len(ev.CustomMetadata)+1)
	maps.Copy(out.CustomMetadata, ev.CustomMetadata)
	out.CustomMetadata[pieceIndex] = strconv.AppendInt(nil, int64(index), 10)
	return &out
}

func (m *message) add(ev *event.Event) {
	if ev.Content == nil {
		return
	}
	for _, p := range ev.Content.Parts {
		if !p.IsText() {
			continue
		}
		if n := len(m.said); n > 0 && m.said[n-1].thought == p.Thought {
			m.said[n-1].text = append(m.said[n-1].text, p.Text...)
		} else {
			m.said = append(m.said, span{p.Thought, []byte(p.Text)})
		}
	}
}

// since is one piece with everything that was said after the first n bytes. index
// is that of the first piece in it.
func (m *message) since(n, index int) ([]byte, error) {
	ev := *m.first
	ev.Content = &event.Content{Role: event.RoleModel}
	for _, s := range m.said {
		if n >= len(s.text) {
			n -= len(s.text)
			continue
		}
		ev.Content.Parts = append(ev.Content.Parts, &event.Part{Text: string(s.text[n:]), Thought: s.thought})
		n = 0
	}
	if len(ev.Content.Parts) == 0 {
		return nil, nil
	}
	return numbered(&ev, index).AppendJSON(nil)
}

// unfinished are the messages that are still being made, as far as they were
// shown, marked as interrupted. Thoughts alone are no message.
func (f *feed) unfinished() []*event.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*event.Event
	for _, m := range f.live {
		ev := &event.Event{
			Author: m.author, Branch: m.branch, ModelVersion: m.first.ModelVersion, Interrupted: true,
			Content: &event.Content{Role: event.RoleModel},
		}
		said := false
		for _, s := range m.said {
			if len(s.text) > 0 {
				ev.Content.Parts = append(ev.Content.Parts, &event.Part{Text: string(s.text), Thought: s.thought})
				said = said || !s.thought
			}
		}
		if said {
			found = append(found, ev)
		}
	}
	return found
}

// drop forgets the messages that are still being made.
func (f *feed) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = nil
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.wake()
	f.forget()
}

// forget drops the pieces when the run has ended and nobody reads it: whoever
// comes later gets the events.
func (f *feed) forget() {
	if f.ended && len(f.followers) == 0 {
		f.pieces, f.live = nil, nil
	}
}

// passed tells that a follower needs the pieces before an event no longer. When
// nobody does, they go: a run may stream for hours.
func (f *feed) passed(place int) {
	m := f.pieces[place]
	if m.left--; m.left == 0 {
		delete(f.pieces, place)
	}
}

func (f *feed) stored() []*session.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clip(f.entries)
}

// last is the sequence of the last event, 0 for none.
func (f *feed) last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.entries) == 0 {
		return 0
	}
	return f.entries[len(f.entries)-1].Seq
}

func (f *feed) wake() {
	for _, one := range f.followers {
		select {
		case one.ready <- struct{}{}:
		default: // it has not read what it was woken for before
		}
	}
}

// follow reads the stored events with a greater sequence than after, and what
// comes.
func (f *feed) follow(after int64) *Follower {
	one := &Follower{feed: f, task: f.task, ready: make(chan struct{}, 1)}
	one.ready <- struct{}{}
	f.mu.Lock()
	defer f.mu.Unlock()
	one.joined = len(f.entries)
	one.next, _ = slices.BinarySearchFunc(f.entries, after+1, func(e *session.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	for _, m := range f.live {
		one.read = append(one.read, place{message: m, late: true})
	}
	f.followers = append(f.followers, one)
	return one
}

// Follower reads a feed, at its own pace. It must be used by one goroutine, and
// closed.
type Follower struct {
	feed   *feed
	task   *task // that the feed is of
	ready  chan struct{}
	joined int // events that were there before it came
	next   int // the place of the next stored event
	read   []place
}

// place is how far a follower has read a message.
type place struct {
	message *message
	count   int  // pieces
	end     int  // bytes
	late    bool // it came when the message had begun, and gets what was said so far at once
}

// Ready gets a value when Take has something new to say.
func (f *Follower) Ready() <-chan struct{} { return f.ready }

// Close ends the reading.
func (f *Follower) Close() {
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	i := slices.Index(f.feed.followers, f)
	if i < 0 {
		return
	}
	f.feed.followers = slices.Delete(f.feed.followers, i, i+1)
	for place := range f.feed.pieces {
		if place >= max(f.next, f.joined) {
			f.feed.passed(place)
		}
	}
	f.feed.forget()
}

// Take returns what comes next, if it is there already. At the end of the run
// it fails with io.EOF.
func (f *Follower) Take() (item Item, ok bool, err error) {
	feed := f.feed
	feed.mu.Lock()
	defer feed.mu.Unlock()
	if f.next < len(feed.entries) {
		if m := feed.pieces[f.next]; m != nil && f.next >= f.joined {
			if json := f.piece(m); json != nil {
				return Item{JSON: json}, true, nil
			}
			f.read = slices.DeleteFunc(f.read, func(p place) bool { return p.message == m })
			feed.passed(f.next)
		}
		entry := feed.entries[f.next]
		f.next++
		return Item{JSON: entry.JSON, Entry: entry}, true, nil
	}
	for _, m := range feed.live {
		if json := f.piece(m); json != nil {
			return Item{JSON: json}, true, nil
		}
	}
	if feed.ended {
		return Item{}, false, io.EOF
	}
	return Item{}, false, nil
}

// piece is the part of m that the follower has not read yet, nil if none.
func (f *Follower) piece(m *message) []byte {
	i := slices.IndexFunc(f.read, func(p place) bool { return p.message == m })
	if i < 0 {
		i = len(f.read)
		f.read = append(f.read, place{message: m})
	}
	at := &f.read[i]
	if at.count == m.count {
		return nil
	}
	if next, ok := m.frame(at.count); ok && !at.late {
		if len(f.feed.followers) == 1 { // nobody else is going to read it
			m.frames[(at.count-m.base)%window].json = nil
		}
		at.count++
		at.end = next.end
		return next.json
	}
	at.late = false
	json, err := m.since(at.end, at.count)
	at.count, at.end = m.count, m.length()
	if err != nil {
		return nil
	}
	return json
}
