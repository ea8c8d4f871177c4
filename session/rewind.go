package session

import "slices"

// Visible omits rewound entries: an entry whose action rewinds the
// log to before an invocation hides itself and everything from that
// invocation's first entry on. If the entry belongs to that invocation, which has
// rewound itself, entries of other invocations stay visible. The log itself keeps
// all entries.
//
// Entries that cannot be decoded are kept.
func Visible(entries []*Entry) []*Entry {
	out := make([]*Entry, 0, len(entries)) // nil for an invocation that has rewound itself
	places := map[string][]int{}           // indexes in out, by invocation
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			out = append(out, e)
			continue
		}
		switch gone := ev.Actions.RewindBeforeInvocationID; {
		case gone == "":
			places[ev.InvocationID] = append(places[ev.InvocationID], len(out))
			out = append(out, e)
		case gone == ev.InvocationID:
			for _, i := range places[gone] {
				out[i] = nil
			}
			delete(places, gone)
		case len(places[gone]) > 0:
			first := places[gone][0]
			for _, e := range out[first:] {
				if invocation, ok := e.invocation(); ok {
					places[invocation] = places[invocation][:len(places[invocation])-1]
				}
			}
			out = out[:first]
		}
	}
	return slices.DeleteFunc(out, func(e *Entry) bool { return e == nil })
}

// invocation returns the invocation of an entry, if it has one and can be decoded.
func (e *Entry) invocation() (string, bool) {
	if e == nil {
		return "", false
	}
	ev, err := e.Decode()
	if err != nil {
		return "", false
	}
	return ev.InvocationID, true
}

// Seen returns the entries that are not rewound.
func (s *Session) Seen() []*Entry {
	switch {
	case s.Rewound == 0:
		return s.Entries
	case s.Calls != nil && len(s.Entries) > 0 && s.Entries[0].Seq == 1:
		return s.Calls.visibleIn(s.Entries, s.Rewound)
	}
	return Visible(s.Entries)
}

// StateOf returns the session's own state after a log, starting from the initial
// state of the session.
func StateOf(initial State, log []*Entry) State {
	state := State{}.Apply(ScopeSession, initial)
	for _, e := range log {
		if ev, err := e.Decode(); err == nil {
			state = state.Apply(ScopeSession, ev.Actions.StateDelta)
		}
	}
	return state
}
