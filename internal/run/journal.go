package run

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
)

// journal is what a task notes for whoever may take it over. Notes are stored
// with the next event, or by themselves when they must not wait.
type journal struct {
	task *task

	mu      sync.Mutex
	known   session.Journal // all notes, those that wait included
	waiting session.Journal
}

var _ agentrt.Journal = (*journal)(nil)

// The names of the notes with the run's temp: state, and with what agents have
// used that are tools. Agents name theirs with a slash.
const (
	tempNote  = "temp"
	usageNote = "usage"
)

func (j *journal) Get(name string) ([]byte, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := j.known[name]
	return v, v != nil
}

func (j *journal) Put(name string, value []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.known == nil {
		j.known = session.Journal{}
	}
	if j.waiting == nil {
		j.waiting = session.Journal{}
	}
	j.known[name], j.waiting[name] = value, value
}

func (j *journal) Flush() error {
	j.task.mu.Lock()
	defer j.task.mu.Unlock()
	switch {
	case j.task.over:
		return errOver
	case j.task.doubt:
		return errDoubt
	}
	return j.task.store()
}

// take takes the notes that are to be stored now.
func (j *journal) take() session.Journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	notes := j.waiting
	j.waiting = nil
	return notes
}

// untake puts notes back that could not be stored. Later ones stay.
func (j *journal) untake(notes session.Journal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(notes) > 0 {
		maps.Copy(notes, j.waiting)
		j.waiting = notes
	}
}

// temp notes what a delta does to the temp: state.
func (j *journal) temp(l *log, delta session.State) {
	if j.task.engine.lease == 0 {
		return
	}
	var all session.State
	for k := range delta {
		if session.ScopeOf(k) == session.ScopeTemp {
			all = l.temp().Apply(session.ScopeTemp, delta)
			break
		}
	}
	if all == nil {
		return
	}
	if doc, err := json.Marshal(all); err == nil {
		j.Put(tempNote, doc)
	}
}

// usage notes what was used that the log does not show.
func (j *journal) usage(u event.Usage) {
	if j.task.engine.lease == 0 {
		return
	}
	if doc, err := u.MarshalJSON(); err == nil {
		j.Put(usageNote, doc)
	}
}
