package stream

import (
	"io"
	"slices"
)

// Follower reads a feed at its own pace. It must be used by one goroutine, and
// closed.
type Follower struct {
	feed   *Feed
	ready  chan struct{}
	joined int // number of events that were stored before it was made
	next   int // index of the next stored event
	read   []position
	// behind is the sequence number of an event that the reader has from the log, while
	// the feed does not have it; 0 otherwise. What the feed has before it is not read.
	behind int64
}

// position is how far a follower has read a message.
type position struct {
	message *message
	count   int  // pieces
	end     int  // bytes
	late    bool // the message began earlier; its text so far is one piece
}

// Ready receives a value when Take may return something new.
func (f *Follower) Ready() <-chan struct{} { return f.ready }

// Close releases the follower.
func (f *Follower) Close() {
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	i := slices.Index(f.feed.followers, f)
	if i < 0 {
		return
	}
	f.feed.followers = slices.Delete(f.feed.followers, i, i+1)
	for index := range f.feed.pieces {
		if index >= max(f.next, f.joined) {
			f.feed.passed(index)
		}
	}
	f.feed.release()
}

// Take returns the next item, if one is available. At the end of the run it fails
// with io.EOF.
func (f *Follower) Take() (item Item, ok bool, err error) {
	feed := f.feed
	feed.mu.Lock()
	defer feed.mu.Unlock()
	if f.catchUp(); f.behind != 0 {
		if feed.ended {
			return Item{}, false, io.EOF
		}
		return Item{}, false, nil
	}
	if f.next < len(feed.entries) {
		if m := feed.pieces[f.next]; m != nil && f.next >= f.joined {
			if item, ok := f.piece(m); ok {
				return item, true, nil
			}
			f.pass(m)
		}
		entry := feed.entries[f.next]
		f.next++
		return Item{JSON: entry.JSON, Entry: entry}, true, nil
	}
	for _, m := range feed.live {
		if item, ok := f.piece(m); ok {
			return item, true, nil
		}
	}
	if feed.ended {
		return Item{}, false, io.EOF
	}
	return Item{}, false, nil
}

// pass leaves the pieces before the next event. feed.mu must be held.
func (f *Follower) pass(m *message) {
	f.read = slices.DeleteFunc(f.read, func(p position) bool { return p.message == m })
	f.feed.passed(f.next)
}

// catchUp skips the events that the reader has, and their pieces. feed.mu must be held.
func (f *Follower) catchUp() {
	for f.behind != 0 && f.next < len(f.feed.entries) {
		switch seq := f.feed.entries[f.next].Seq; {
		case seq > f.behind: // it is not one of them
			f.behind = 0
			return
		case seq == f.behind:
			f.behind = 0
		}
		if m := f.feed.pieces[f.next]; m != nil && f.next >= f.joined {
			f.pass(m)
		}
		f.next++
	}
}

// piece returns the part of m that the follower has not read yet, if there is one.
func (f *Follower) piece(m *message) (Item, bool) {
	i := slices.IndexFunc(f.read, func(p position) bool { return p.message == m })
	if i < 0 {
		i = len(f.read)
		f.read = append(f.read, position{message: m})
	}
	at := &f.read[i]
	if at.count == m.count {
		return Item{}, false
	}
	if next, ok := m.frame(at.count); ok && !at.late {
		if len(f.feed.followers) == 1 { // no other follower will read it
			old := &m.frames[(at.count-m.base)%window]
			old.json, old.piece = nil, nil
		}
		start := at.end
		at.count++
		at.end = next.end
		return Item{JSON: next.json, Piece: next.piece, EventID: m.id, Start: start}, true
	}
	at.late = false
	start := at.end
	piece, json, err := m.since(at.end, at.count)
	at.count, at.end = m.count, m.length()
	return Item{JSON: json, Piece: piece, EventID: m.id, Start: start}, err == nil && piece != nil
}
