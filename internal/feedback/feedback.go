// Package feedback has what the server and the stores share of opinions on runs: how events hold them, and which of them
// hold.
package feedback

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/textsearch"
)

// Feedback is an opinion on a run: that of an author replaces the earlier
// one of the same author. It is stored as an event without content, which models do
// not see.
type Feedback struct {
	Run    string  `json:"runId"`
	Author string  `json:"author"`
	Rating string  `json:"rating,omitempty"` // Up, Down or empty
	Note   string  `json:"note,omitempty"`
	Time   float64 `json:"timestamp"` // when it was given
}

// The ratings.
const (
	Up   = "up"
	Down = "down"
)

const (
	// Key is the member of an event's custom metadata with the feedback.
	Key = "feedback"
	// MaxNote is the largest number of characters of a note.
	MaxNote = 4000
	// MaxChanges is how often the feedback of one session can change.
	MaxChanges = 1000
	// maxExcerpt is the number of characters of a text that an excerpt has.
	maxExcerpt = 200
)

// Of returns the feedback in an event, or nil. Clients choose the custom metadata
// of the events of runs, so only events outside of runs count.
func Of(ev *event.Event) *Feedback {
	doc := ev.CustomMetadata[Key]
	if doc == nil || ev.Content != nil || !strings.HasPrefix(ev.InvocationID, "p-") {
		return nil
	}
	f := &Feedback{}
	if json.Unmarshal(doc, f) != nil || f.Run == "" {
		return nil
	}
	return f
}

// May reports whether an encoded event may have feedback, without decoding it.
func May(doc []byte) bool { return bytes.Contains(doc, []byte(`"`+Key+`"`)) }

// Log finds the feedback that holds in the events of a session. The zero value is ready to use.
type Log struct {
	// Changes is how many events with feedback there are.
	Changes int

	latest map[author]*Given
	order  []author
}

type author struct{ run, name string }

// Given is feedback with its place in the log.
type Given struct {
	Feedback

	Seq int64
	// Event is the id of the first event of the run, and Message and Answer are the beginnings of its texts, as In
	// returns them.
	Event, Message, Answer string
}

// Add adds the next event that is not rewound.
func (l *Log) Add(seq int64, ev *event.Event) {
	f := Of(ev)
	if f == nil {
		return
	}
	l.Changes++
	who := author{f.Run, f.Author}
	if l.latest[who] == nil {
		if l.latest == nil {
			l.latest = map[author]*Given{}
		}
		l.order = append(l.order, who)
	}
	l.latest[who] = &Given{Feedback: *f, Seq: seq}
}

// List returns what holds, in the order in which it was first given.
func (l *Log) List() []*Given {
	var list []*Given
	for _, who := range l.order {
		if f := l.latest[who]; f.Rating != "" || f.Note != "" {
			list = append(list, f)
		}
	}
	return list
}

// In returns the feedback in the events of a session that are not rewound, the newest first, without that of a session
// of which it is a fork: its events have sequence numbers until common. It returns no more than one session can have.
func In(events iter.Seq2[int64, *event.Event], common int64) []*Given {
	var log Log
	turns := map[string]*turn{}
	for seq, ev := range events {
		log.Add(seq, ev)
		one := turns[ev.InvocationID]
		if one == nil {
			one = &turn{event: ev.ID}
			turns[ev.InvocationID] = one
		}
		if text := textsearch.Of(ev); text != nil {
			one.add(ev.Author, text.Text)
		}
	}
	list := slices.DeleteFunc(log.List(), func(g *Given) bool { return g.Seq <= common })
	slices.SortFunc(list, func(a, b *Given) int { return cmp.Compare(b.Seq, a.Seq) })
	list = list[:min(len(list), MaxChanges)]
	for _, g := range list {
		if one := turns[g.Run]; one != nil {
			g.Event, g.Message, g.Answer = one.event, one.message, one.answer
		}
		g.bound()
	}
	return list
}

// turn has the first event of a run, and the beginnings of its message and of its last answer.
type turn struct{ event, message, answer string }

func (t *turn) add(author, text string) {
	if author != event.User {
		t.answer = excerpt(text)
	} else if t.message == "" {
		t.message = excerpt(text)
	}
}

// excerpt returns the beginning of a text, on one line.
func excerpt(text string) string {
	short := first(text, 4*maxExcerpt) // much of it may be space
	more := len(short) < len(text)
	short = strings.Join(strings.Fields(short), " ")
	if one := first(short, maxExcerpt); more || len(one) < len(short) {
		return one + "…"
	}
	return short
}

// first returns the first n characters of a text.
func first(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// bound makes what is in a log that was imported as long as clients can make it.
func (g *Given) bound() {
	for _, s := range []*string{&g.Run, &g.Author, &g.Rating, &g.Note, &g.Event} {
		*s = first(*s, MaxNote)
	}
}
