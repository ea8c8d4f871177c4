package textindex

import (
	"slices"
	"sync"

	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

// Kept holds the texts of entries that a process has stored, until they are indexed: to read and decode them again costs a
// tenth of what a run costs the server and its database (bench, load_postgres). What it does not hold is read. The zero
// value is ready to use.
type Kept struct {
	mu   sync.Mutex
	logs map[int64]*keptLog // by ordinal
	size int
}

// keptLog is a part of the log of a session, without gaps.
type keptLog struct {
	timeline     int64
	after, until int64 // sequence numbers
	texts        []keptText
	size         int
}

type keptText struct {
	seq int64
	textsearch.Text
}

// maxKept bounds the bytes of a Kept. Beyond it, everything is dropped.
const maxKept = 8 << 20

// structures is the approximate size of a text beside its bytes, and of a log.
const structures = 128

// Add adds entries of a session that were stored one after the other. timeline tells databases apart that may differ in
// what they have stored.
func (k *Kept) Add(ordinal, timeline int64, entries ...*session.Entry) {
	added := keptLog{timeline: timeline, size: structures}
	for i, e := range entries {
		if i == 0 {
			added.after = e.Seq - 1
		}
		added.until = e.Seq
		ev, err := e.Decode()
		if err != nil || feedback.May(e.JSON) || ev.Actions.RewindBeforeInvocationID != "" {
			return // which leaves a gap
		}
		if text := textsearch.Of(ev); text != nil {
			added.texts = append(added.texts, keptText{e.Seq, *text})
			added.size += structures + len(text.Text)
		}
	}
	if len(entries) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.logs == nil || k.size+added.size > maxKept {
		k.logs, k.size = map[int64]*keptLog{}, 0
	}
	k.size += added.size
	l := k.logs[ordinal]
	if l == nil || l.timeline != timeline || l.until != added.after {
		if l != nil {
			k.size -= l.size
		}
		k.logs[ordinal] = &added
		return
	}
	l.until, l.texts, l.size = added.until, append(l.texts, added.texts...), l.size+added.size
}

// Take returns the change of an index that has the entries of a session until the sequence number indexed and is to have those
// until another one, and removes what the change has. ok is false if entries have to be read, or are too many for one change;
// then all that is held of the session is removed.
func (k *Kept) Take(prefix string, ordinal, timeline, indexed, until int64) (step Step, ok bool) {
	k.mu.Lock()
	l := k.logs[ordinal]
	if l == nil {
		k.mu.Unlock()
		return Step{}, false
	}
	delete(k.logs, ordinal)
	k.size -= l.size
	n := len(l.texts)
	for n > 0 && l.texts[n-1].seq > until {
		n--
	}
	ok = l.timeline == timeline && l.after <= indexed && l.until >= until && n <= Events
	if ok && l.until > until {
		rest := &keptLog{timeline: timeline, after: until, until: l.until, texts: slices.Clone(l.texts[n:]), size: structures}
		for _, t := range rest.texts {
			rest.size += structures + len(t.Text.Text)
		}
		k.logs[ordinal] = rest
		k.size += rest.size
	}
	k.mu.Unlock()
	if !ok {
		return Step{}, false
	}
	step.Until = until
	for _, t := range l.texts[:n] {
		if t.seq > indexed {
			step.Add = append(step.Add, Row{t.Text, t.seq, textsearch.Terms(prefix, t.Text.Text)})
		}
	}
	return step, true
}
