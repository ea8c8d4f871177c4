package adk

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parley-run/parley/internal/agentrt"
)

// word is a secret of a run.
type word struct {
	agentrt.Secrets
	text string
}

func (w word) Scrub(doc []byte) []byte { return bytes.ReplaceAll(doc, []byte(w.text), []byte("***")) }

// Runs that have active calls count, however many there are, and the latest
// ones without.
func TestSecretsOfRuns(t *testing.T) {
	var s Secrets
	all := "\n"
	for i := range 10 * recentRuns {
		name := fmt.Sprintf("secret-%04d", i)
		one := s.add(name, word{text: name})
		again := s.add(name, word{text: name})
		s.leave(one)
		if i%recentRuns > 0 { // the others go on
			s.leave(again)
		}
		all += name + "\n"
	}
	if got := len(s.runs); got != recentRuns+10 {
		t.Errorf("%d runs are remembered", got)
	}
	got := s.Scrub(all)
	for name, kept := range map[string]bool{
		"secret-0000": true, "secret-0001": false, fmt.Sprintf("secret-%04d", 3*recentRuns): true, fmt.Sprintf("secret-%04d", 10*recentRuns-1): true,
	} {
		if shown := bytes.Contains([]byte(got), []byte(name)); shown == kept {
			t.Errorf("%s is shown: %v", name, shown)
		}
	}
	if got := s.Scrub("nothing \xff"); got != "nothing \xff" {
		t.Errorf("another text becomes %q", got)
	}
}
