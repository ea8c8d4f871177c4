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
	out := make([]*Entry, 0, len(entries)) // nil for what has taken itself back
	places := map[string][]int{}           // in out, by invocation
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

// invocation is the one that an entry is of, if it is there and can be decoded.
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
