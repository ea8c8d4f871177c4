package run

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// journal holds the notes of a run for a process that may take it over. Notes are
// stored with the next event, or by Flush if they cannot wait. It is safe for
// concurrent use.
type journal struct {
	recorder *recorder
	enabled  bool // another process may take the run over

	mu      sync.Mutex
	known   session.Journal // all notes, including pending ones
	waiting session.Journal // pending notes
}

var _ agentrt.Journal = (*journal)(nil)

// The names of the notes with the run's temp: state, and with the usage of agents
// that are tools, also by model. The names of agents' notes contain a slash.
const (
	tempNote   = "temp"
	usageNote  = "usage"
	modelsNote = "models"
)

// begin sets the notes of earlier workers on the run.
func (j *journal) begin(known session.Journal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.known = known
}

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
	j.recorder.lock()
	defer j.recorder.unlock()
	if err := j.recorder.refuses(); err != nil {
		return err
	}
	return j.recorder.flush()
}

// take removes and returns the pending notes.
func (j *journal) take() session.Journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	notes := j.waiting
	j.waiting = nil
	return notes
}

// putBack undoes take. Newer notes take precedence.
func (j *journal) putBack(notes session.Journal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(notes) > 0 {
		maps.Copy(notes, j.waiting)
		j.waiting = notes
	}
}

// temp notes the effect of a delta on the temp: state.
func (j *journal) temp(l *log, delta session.State) {
	if !j.enabled {
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

// usage notes usage that the log does not contain.
func (j *journal) usage(u event.Usage, models []session.ModelUsage) {
	if !j.enabled {
		return
	}
	if doc, err := u.MarshalJSON(); err == nil {
		j.Put(usageNote, doc)
	}
	if doc, err := sessionrt.EncodeModels(models); err == nil {
		j.Put(modelsNote, doc)
	}
}
