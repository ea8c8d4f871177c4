package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/session"
)

// script makes a log of words: "a" is an entry of the invocation a, "<a" takes
// back what came from a on, "=a" is an entry of a that takes a back, and "!" cannot
// be decoded.
func script(t *testing.T, words string) []*session.Entry {
	t.Helper()
	var log []*session.Entry
	for i, word := range strings.Fields(words) {
		ev := &event.Event{ID: word, InvocationID: word, Author: "user", Timestamp: 1}
		if to, ok := strings.CutPrefix(word, "<"); ok {
			ev.InvocationID, ev.Actions.RewindBeforeInvocationID = "rewind", to
		}
		if to, ok := strings.CutPrefix(word, "="); ok {
			ev.InvocationID, ev.Actions.RewindBeforeInvocationID = to, to
		}
		e, err := session.NewEntry(ev)
		if err != nil {
			t.Fatal(err)
		}
		if word == "!" {
			e = &session.Entry{JSON: []byte("!")}
		}
		e.Seq = int64(i) + 1
		log = append(log, e)
	}
	return log
}

func words(log []*session.Entry) string {
	var list []string
	for _, e := range log {
		word := "!"
		if ev, err := e.Decode(); err == nil {
			word = ev.ID
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

func TestVisible(t *testing.T) {
	for log, want := range map[string]string{
		"":                    "",
		"a a b b":             "a a b b",
		"a a b b <b":          "a a",
		"a a b b <a":          "",
		"a b c <b d":          "a d",
		"a b c <b d <a e":     "e",
		"a b <b b c <b":       "a",       // the second b is another answer to the same call
		"a b a c <a":          "",        // from its first entry on
		"a <never b":          "a b",     // it hides itself all the same
		"a b <b <b c":         "a c",     // what is hidden cannot be found again
		"a b c <b <c d":       "a d",     // nor what came after it
		"a b <b c <rewind d":  "a c d",   // a rewinding entry begins nothing
		"<a":                  "",        //
		"! a ! b <b !":        "! a ! !", // what cannot be read may be anything
		"a ! <a b":            "b",
		"a b c d <d <c <b <a": "",
		"a b a c =a d":        "b c d", // nothing of others
		"a b =a c a <b d":     "d",     //
		"a b a =a a <a c":     "b c",   // the later a is the first one then
		"b a a =a <b <a c =c": "",      //
	} {
		entries := script(t, log)
		given := slices.Clone(entries)
		if got := words(session.Visible(entries)); got != want {
			t.Errorf("of %q visible is %q, want %q", log, got, want)
		}
		if !slices.Equal(entries, given) {
			t.Errorf("the log %q itself was changed: readers share it", log)
		}
	}
}

// A log can rewind as much as it has, in a time that grows with it and not with
// its square.
func TestVisibleOfALongLog(t *testing.T) {
	t.Parallel()
	if !testkit.Linear(8_000, func(n int) func() {
		log := make([]string, 0, 2*n)
		for i := range n {
			log = append(log, fmt.Sprint("a", i), "<never")
		}
		entries := script(t, strings.Join(log, " "))
		return func() {
			if got := len(session.Visible(entries)); got != n {
				t.Errorf("%d are visible, want %d", got, n)
			}
		}
	}) {
		t.Error("it takes the square")
	}
}

// A log without rewinding entries is returned as it is, and rewound entries are
// not seen.
func TestSeen(t *testing.T) {
	log := script(t, "a b <b c")
	s := &session.Session{Entries: log, Rewound: 3}
	if got := words(s.Seen()); got != "a c" {
		t.Errorf("seen is %q", got)
	}
	plain := &session.Session{Entries: log[:2]}
	if got := plain.Seen(); len(got) != 2 || &got[0] != &log[0] {
		t.Errorf("seen is %q, want the entries themselves", words(got))
	}
	if got := (&session.Session{}).Seen(); len(got) != 0 {
		t.Errorf("seen is %q", words(got))
	}
}

func TestStateOf(t *testing.T) {
	var log []*session.Entry
	for _, delta := range []session.State{
		nil,
		state("a", "1", "b", "2", "user:u", "3", "app:p", "4", "temp:t", "5"),
		state("a", "null", "c", `{"x":null}`),
		state("given", "null", "b", "6"),
	} {
		e, err := session.NewEntry(&event.Event{ID: "e", Actions: event.Actions{StateDelta: delta}})
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, &session.Entry{JSON: e.JSON}) // as a store has it
	}
	log = append(log, &session.Entry{JSON: []byte("!")})
	initial := state("given", "1", "stays", "2", "b", "0", "user:u", "0", "app:p", "0", "temp:t", "0", "no", "null")
	for _, tt := range []struct {
		name    string
		initial session.State
		log     []*session.Entry
		want    session.State
	}{
		{"nothing", nil, nil, session.State{}},
		{"no log", initial, nil, state("given", "1", "stays", "2", "b", "0")},
		{"no state to begin with", nil, log, state("b", "6", "c", `{"x":null}`)},
		{"both", initial, log, state("stays", "2", "b", "6", "c", `{"x":null}`)},
	} {
		given := len(tt.initial)
		if diff := cmp.Diff(tt.want, session.StateOf(tt.initial, tt.log)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if len(tt.initial) != given {
			t.Errorf("%s: the initial state itself was changed", tt.name)
		}
	}
	// What was rewound has left its traces: who rewinds says what the state is
	// to be.
	rewound := append(slices.Clone(log[:2]), script(t, "<e")...)
	if diff := cmp.Diff(state("a", "1", "b", "2"), session.StateOf(nil, rewound)); diff != "" {
		t.Errorf("after a rewind (-want +got):\n%s", diff)
	}
}

// What a session keeps of its rewound log is what Visible finds in the whole log, however
// the log has grown.
func TestSeenGrowsWithTheLog(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var list []string
		for range 120 {
			word := string(rune('a' + rng.IntN(9)))
			switch rng.IntN(12) {
			case 0:
				word = "<" + word
			case 1:
				word = "=" + word
			}
			list = append(list, word)
		}
		log := script(t, strings.Join(list, " "))
		calls := &session.CallIndex{}
		var before []*session.Entry
		var said string
		for n := 0; n <= len(log); n += rng.IntN(4) {
			rewound := int64(0)
			for i, word := range list[:n] {
				if strings.ContainsAny(word[:1], "<=") {
					rewound = int64(i) + 1
				}
			}
			s := &session.Session{Entries: log[:n:n], Rewound: rewound, Calls: calls}
			got := s.Seen()
			if want := words(session.Visible(log[:n])); words(got) != want {
				t.Fatalf("seed %d: after %v: %s, want %s", seed, list[:n], words(got), want)
			}
			if words(before) != said {
				t.Fatalf("seed %d: an earlier reading was changed", seed)
			}
			if rng.IntN(3) == 0 {
				before, said = got, words(got)
			}
		}
	}
}
