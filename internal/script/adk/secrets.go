package adk

import (
	"encoding/json"
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
	runs []*runSecrets // the one that was last used is the last
}

type runSecrets struct {
	agentrt.Secrets
	run   string
	calls int // in flight
}

// recentRuns is how many runs without calls in flight are kept.
const recentRuns = 64

// enter records a call. leave must be called when it has returned.
func (s *Secrets) enter(sc *scope) (leave func()) {
	if sc == nil || sc.agent == nil || agentrt.From(sc.agent).Secrets == nil {
		return func() {}
	}
	return s.add(sc.agent.InvocationID(), agentrt.From(sc.agent).Secrets)
}

func (s *Secrets) add(id string, given agentrt.Secrets) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &runSecrets{Secrets: given, run: id}
	if i := slices.IndexFunc(s.runs, func(r *runSecrets) bool { return r.run == id }); i >= 0 {
		one = s.runs[i]
		s.runs = slices.Delete(s.runs, i, i+1)
	}
	one.calls++
	s.runs = append(s.runs, one)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.calls--
		idle := 0
		for i, v := range slices.Backward(s.runs) {
			if v.calls > 0 {
				continue
			}
			if idle++; idle > recentRuns {
				s.runs = slices.Delete(s.runs, i, i+1)
			}
		}
	}
}

// Scrub removes the secrets from a text.
func (s *Secrets) Scrub(text string) string {
	s.mu.Lock()
	runs := slices.Clone(s.runs)
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
