package adk

import (
	"container/list"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
)

// Secrets are the secrets of the runs of an application, which must not appear in
// the log. A log message of the code does not belong to a known run, and may come
// after its call has returned. So the secrets of all runs with calls in flight
// count, and of the latest ones without. The zero value is ready to use.
type Secrets struct {
	mu   sync.Mutex
	runs map[string]*runSecrets // by the id of the run
	idle list.List              // of those without calls in flight, the latest one last
}

type runSecrets struct {
	agentrt.Secrets
	run   string
	calls int           // in flight
	idle  *list.Element // nil while there are some
}

// recentRuns is how many runs without calls in flight are kept.
const recentRuns = 64

// enter records a call. leave must be called with the result when it has returned.
func (s *Secrets) enter(sc *scope) *runSecrets {
	if sc == nil || sc.agent == nil {
		return nil
	}
	given := agentrt.From(sc.agent).Secrets
	if given == nil {
		return nil
	}
	return s.add(sc.agent.InvocationID(), given)
}

func (s *Secrets) add(id string, given agentrt.Secrets) *runSecrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.runs[id]
	if one == nil {
		one = &runSecrets{Secrets: given, run: id}
		if s.runs == nil {
			s.runs = map[string]*runSecrets{}
		}
		s.runs[id] = one
	}
	if one.idle != nil {
		s.idle.Remove(one.idle)
		one.idle = nil
	}
	one.calls++
	return one
}

func (s *Secrets) leave(one *runSecrets) {
	if one == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.calls--; one.calls > 0 {
		return
	}
	one.idle = s.idle.PushBack(one)
	if s.idle.Len() > recentRuns {
		oldest, _ := s.idle.Remove(s.idle.Front()).(*runSecrets)
		delete(s.runs, oldest.run)
	}
}

// Scrub removes the secrets from a text.
func (s *Secrets) Scrub(text string) string {
	s.mu.Lock()
	runs := slices.Collect(maps.Values(s.runs))
	s.mu.Unlock()
	if len(runs) == 0 {
		return text
	}
	quoted := wire.Quote(nil, text) // secrets are known as they are spelled in JSON
	clean := quoted
	for _, one := range runs {
		clean = one.Scrub(clean)
	}
	if string(clean) == string(quoted) {
		return text
	}
	if err := json.Unmarshal(clean, &text); err != nil {
		return "(redacted)" // it cannot be scrubbed
	}
	return text
}
