package doctor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/doctor"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

var key = session.Key{App: "app", User: "u", ID: "s"}

func entry(seq int64, ev *event.Event) *session.Entry {
	e, err := session.NewEntry(ev)
	if err != nil {
		panic(err)
	}
	e.Seq = seq
	return e
}

func say(id, run, text string) *event.Event {
	return &event.Event{ID: id, InvocationID: run, Author: "a", Content: event.Text(event.RoleModel, text)}
}

func user(id, run string) *event.Event {
	return &event.Event{ID: id, InvocationID: run, Author: event.User, Content: event.Text(event.RoleUser, "hi")}
}

func call(id, run, callID string, long bool) *event.Event {
	ev := &event.Event{ID: id, InvocationID: run, Author: "a", Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{FunctionCall: &event.FunctionCall{ID: callID, Name: "f"}},
	}}}
	if long {
		ev.LongRunningToolIDs = []string{callID}
	}
	return ev
}

func answer(id, run, author, callID, response string) *event.Event {
	return &event.Event{ID: id, InvocationID: run, Author: author, Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
		{FunctionResponse: &event.FunctionResponse{ID: callID, Name: "f", Response: json.RawMessage(response)}},
	}}}
}

func TestCheck(t *testing.T) {
	ended := func(id string, epoch, first, last int64) *session.Run {
		return &session.Run{ID: id, Status: session.Completed, Epoch: epoch, First: first, Last: last}
	}
	running := &session.Run{ID: "r", Status: session.Running, Epoch: 1, First: 1}
	set := &event.Event{ID: "e1", InvocationID: "p", Author: event.User, Actions: event.Actions{StateDelta: map[string]json.RawMessage{"a": json.RawMessage("2")}}}
	for name, tt := range map[string]struct {
		events []*event.Event
		change func(*session.Session)
		runs   []*session.Run
		want   string // part of the only problem, "" for none
	}{
		"a whole turn": {
			events: []*event.Event{user("1", "r"), call("2", "r", "c", false), answer("3", "r", "a", "c", `{}`), say("4", "r", "done")},
			runs:   []*session.Run{ended("r", 1, 1, 4)},
		},
		"an open call of a running run": {events: []*event.Event{user("1", "r"), call("2", "r", "c", false)}, runs: []*session.Run{running}},
		"a call that waits": {
			events: []*event.Event{user("1", "r"), call("2", "r", "c", true), answer("3", "r", "a", "c", `{"ticket":1}`), answer("4", "r2", event.User, "c", `{"ok":true}`)},
			runs:   []*session.Run{ended("r", 1, 1, 3), ended("r2", 2, 4, 4)},
		},
		"an open call": {
			events: []*event.Event{user("1", "r"), call("2", "r", "c", false)}, runs: []*session.Run{ended("r", 1, 1, 2)},
			want: "#2: the call c (f) has no answer",
		},
		"two answers": {
			events: []*event.Event{call("1", "r", "c", false), answer("2", "r", "a", "c", `{}`), answer("3", "r", "a", "c", `{}`)},
			want:   "#3: the call c (f) of #1 has a second final answer",
		},
		"an answer to nothing": {events: []*event.Event{answer("1", "r", "a", "c", `{}`)}, want: "has no call before it"},
		"one id twice":         {events: []*event.Event{say("1", "r", "x"), say("1", "r", "y")}, want: "#2: the event id 1 is that of #1, too"},
		"a gap": {
			events: []*event.Event{say("1", "r", "x"), say("2", "r", "y")}, change: func(s *session.Session) { s.Entries[1].Seq = 3 },
			want: "entry 2 of the log has the sequence 3",
		},
		"a wrong count": {
			events: []*event.Event{say("1", "r", "x")}, change: func(s *session.Session) { s.Seq = 7 },
			want: "the session counts 7 entries and has 1",
		},
		"no JSON": {
			events: []*event.Event{say("1", "r", "x")}, change: func(s *session.Session) { s.Entries[0] = &session.Entry{Seq: 1, JSON: []byte("{")} },
			want: "#1: the entry cannot be read",
		},
		"a state that follows": {events: []*event.Event{set}, change: func(s *session.Session) { s.State["a"] = json.RawMessage("2") }},
		"a state that does not": {
			events: []*event.Event{set}, change: func(s *session.Session) { s.State["a"] = json.RawMessage("3") },
			want: "the state is not what follows from the log",
		},
		"two running": {
			runs: []*session.Run{{ID: "r", Status: session.Running, Epoch: 1}, {ID: "q", Status: session.Running, Epoch: 2}},
			want: "2 runs are running",
		},
		"one epoch twice": {runs: []*session.Run{ended("r", 1, 0, 0), ended("q", 1, 0, 0)}, want: "have one epoch"},
		"written before it began": {
			events: []*event.Event{user("1", "r")}, runs: []*session.Run{{ID: "r", Status: session.Queued}},
			want: "has not begun and has written",
		},
		"written after its end": {
			events: []*event.Event{user("1", "r"), say("2", "r", "x")}, runs: []*session.Run{ended("r", 1, 1, 1)},
			want: "has written after its end",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session.Session{Key: key, State: session.State{"a": json.RawMessage("1"), "user:x": json.RawMessage("1")}, Initial: session.State{"a": json.RawMessage("1")}}
			for i, ev := range tt.events {
				s.Entries = append(s.Entries, entry(int64(i)+1, ev))
			}
			s.Seq = int64(len(s.Entries))
			if tt.change != nil {
				tt.change(s)
			}
			found := doctor.Check(s, tt.runs)
			switch {
			case tt.want == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case tt.want != "" && (len(found) != 1 || !strings.Contains(found[0].String(), tt.want)):
				t.Errorf("found %v, want %q", found, tt.want)
			}
		})
	}
}

// What can be repaired is, and only when that is wanted.
func TestExamine(t *testing.T) {
	store := memstore.New(0)
	log := []*session.Entry{entry(0, user("1", "r")), entry(0, call("2", "r", "c", false))}
	if _, err := store.Create(t.Context(), session.NewSession{Key: key, Log: log}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), session.NewSession{Key: session.Key{App: "app", User: "u", ID: "well"}}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		repair         bool
		problems, left int
	}{{false, 1, 1}, {true, 1, 0}, {false, 0, 0}} {
		report, err := doctor.Examine(t.Context(), store, want.repair)
		if err != nil {
			t.Fatal(err)
		}
		if report.Sessions != 2 || len(report.Problems) != want.problems || report.Left() != want.left {
			t.Errorf("visit %d: %+v", i, report)
		}
	}
	s, err := store.Get(t.Context(), key, session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	if last, err := s.Entries[len(s.Entries)-1].Decode(); err != nil || len(last.FunctionResponses()) != 1 || last.ErrorCode == "" {
		t.Errorf("the call was answered with %+v, %v", last, err)
	}
}
