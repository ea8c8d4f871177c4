package session

import "slices"

// Visible leaves out what was taken back: an entry whose action says that the
// log is rewound to before an invocation hides itself and everything from that
// invocation's first entry on. If the entry is of that invocation, which has
// taken itself back, nothing of others is hidden. The log itself keeps all of
// it.
//
// Entries that cannot be decoded are kept.
func Visible(entries []*Entry) []*Entry {
	out := make([]*Entry, 0, len(entries))
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil || ev.Actions.RewindBeforeInvocationID == "" {
			out = append(out, e)
			continue
		}
		gone := ev.Actions.RewindBeforeInvocationID
		if gone == ev.InvocationID {
			out = slices.DeleteFunc(out, func(e *Entry) bool { return e.of(gone) })
		} else if i := slices.IndexFunc(out, func(e *Entry) bool { return e.of(gone) }); i >= 0 {
			out = out[:i]
		}
	}
	return out
}

// of reports whether the entry is of an invocation.
func (e *Entry) of(invocation string) bool {
	ev, err := e.Decode()
	return err == nil && ev.InvocationID == invocation
}

// Seen are the entries that are not taken back.
func (s *Session) Seen() []*Entry {
	if s.Rewound == 0 {
		return s.Entries
	}
	return Visible(s.Entries)
}

// StateOf is what the session's own state is after a log, from the state that
// the session was made with.
func StateOf(initial State, log []*Entry) State {
	state := State{}.Apply(ScopeSession, initial)
	for _, e := range log {
		if ev, err := e.Decode(); err == nil {
			state = state.Apply(ScopeSession, ev.Actions.StateDelta)
		}
	}
	return state
}
