package eval

import (
	"encoding/json"

	"github.com/parley-run/parley/session"
)

// maxHeld is the size of the sessions and spans that are held in memory.
const maxHeld = 64 << 20

// heldCase is what a case has left behind: its session, and its spans.
type heldCase struct {
	details json.RawMessage
	spans   []json.RawMessage
}

// held has the cases of the latest evaluation that are in no stored result, so that they can be
// looked at while others run, and after the evaluation was cancelled.
type held struct {
	cases map[session.Key]heldCase
	size  int
}

func (c *CaseResult) key(app string) session.Key {
	return session.Key{App: app, User: c.User, ID: c.Session}
}

func (c *heldCase) size() int {
	size := len(c.details)
	for _, one := range c.spans {
		size += len(one)
	}
	return size
}

// add holds a case, and reports whether there is space for its session.
func (h *held) add(key session.Key, c *CaseResult) bool {
	one := heldCase{c.Details, c.spans}
	if h.size+one.size() > maxHeld {
		one.spans = nil
	}
	if len(one.details) == 0 || h.size+one.size() > maxHeld {
		return false
	}
	if h.cases == nil {
		h.cases = map[session.Key]heldCase{}
	}
	h.cases[key] = one
	h.size += one.size()
	return true
}

func (h *held) drop(key session.Key) {
	one := h.cases[key]
	h.size -= one.size()
	delete(h.cases, key)
}

// held returns what is held of the session of a case.
func (s *Service) held(key session.Key) (heldCase, bool) {
	r := s.latest.of(key.App)
	if r == nil {
		return heldCase{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.held.cases[key]
	return c, ok
}
