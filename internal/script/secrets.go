package script

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
)

// secrets knows what the runs of an application were given and must not stand in
// the log. Code that writes to the log does not say for which run it does so, and
// may do it after its call has returned: all runs that are under way count, and
// the latest ones that are not.
type secrets struct {
	mu   sync.Mutex
	runs []*runSecrets // the one that was last used is the last
}

type runSecrets struct {
	agentrt.Secrets
	run   string
	calls int // under way
}

// recentRuns is how many runs are remembered when none of their calls is under
// way.
const recentRuns = 64

// enter takes note of a call. leave is to be called when it has returned.
func (s *secrets) enter(sc *scope) (leave func()) {
	if sc == nil || sc.agent == nil || agentrt.From(sc.agent).Secrets == nil {
		return func() {}
	}
	return s.add(sc.agent.InvocationID(), agentrt.From(sc.agent).Secrets)
}

func (s *secrets) add(id string, given agentrt.Secrets) (leave func()) {
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

// scrub is a text without secrets.
func (s *secrets) scrub(text string) string {
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
		return "(redacted)" // nobody can know what is in it
	}
	return text
}
