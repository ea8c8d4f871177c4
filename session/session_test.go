package session_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

func TestScopeOf(t *testing.T) {
	for key, want := range map[string]session.Scope{
		"":             session.ScopeSession,
		"k":            session.ScopeSession,
		"user":         session.ScopeSession,
		"users:k":      session.ScopeSession,
		"User:k":       session.ScopeSession,
		" user:k":      session.ScopeSession,
		"user.k":       session.ScopeSession,
		"my:user:k":    session.ScopeSession,
		"application":  session.ScopeSession,
		"temperature":  session.ScopeSession,
		"user:":        session.ScopeUser,
		"user:k":       session.ScopeUser,
		"user:app:k":   session.ScopeUser,
		"app:":         session.ScopeApp,
		"app:k":        session.ScopeApp,
		"app:temp:k":   session.ScopeApp,
		"temp:":        session.ScopeTemp,
		"temp:k":       session.ScopeTemp,
		"temp:user:k":  session.ScopeTemp,
		"temp:\u0000é": session.ScopeTemp,
	} {
		if got := session.ScopeOf(key); got != want {
			t.Errorf("ScopeOf(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestApply(t *testing.T) {
	all := state("k", "1", "user:k", "2", "app:k", "3", "temp:k", "4")
	for _, tt := range []struct {
		name        string
		state       session.State
		scope       session.Scope
		delta, want session.State
	}{
		{"session keys only", nil, session.ScopeSession, all, state("k", "1")},
		{"user keys only", nil, session.ScopeUser, all, state("user:k", "2")},
		{"app keys only", nil, session.ScopeApp, all, state("app:k", "3")},
		{"temp keys only", nil, session.ScopeTemp, all, state("temp:k", "4")},
		{"others stay", state("k", "0", "l", "5"), session.ScopeSession, all, state("k", "1", "l", "5")},
		{"null deletes", state("k", "0", "l", "5"), session.ScopeSession, state("k", "null"), state("l", "5")},
		{"nothing deletes", state("k", "0", "l", "5"), session.ScopeSession, session.State{"k": nil}, state("l", "5")},
		{"null of another scope", state("k", "0"), session.ScopeUser, state("k", "null"), state("k", "0")},
		{"null of what is not there", state("k", "0"), session.ScopeSession, state("l", "null"), state("k", "0")},
		{"null of nothing", nil, session.ScopeSession, state("k", "null"), nil},
		{"null as a word", nil, session.ScopeSession, state("k", `"null"`), state("k", `"null"`)},
		{"no delta", state("k", "0"), session.ScopeSession, nil, state("k", "0")},
		{"no keys of the scope", nil, session.ScopeUser, state("k", "0"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.state.Apply(tt.scope, tt.delta)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHidden(t *testing.T) {
	for id, want := range map[string]bool{
		"":                       false,
		"s":                      false,
		"eval":                   false,
		"___eval___session___":   true,
		"___eval___session___1":  true,
		"___eval___session__1":   false,
		"x___eval___session___1": false,
		"___EVAL___SESSION___1":  false,
		"adk-eval-session-":      true,
		"adk-eval-session-a":     true,
		"adk-eval-session":       false,
		"my-adk-eval-session-a":  false,
	} {
		if got := (session.Key{App: "adk-eval-session-", User: "___eval___session___", ID: id}).Hidden(); got != want {
			t.Errorf("Hidden of %q is %v, want %v", id, got, want)
		}
	}
}

// Databases know sessions by their digests. If two had the same one, one user
// would read what another has said.
func TestDigest(t *testing.T) {
	names := []string{"", "a", "b", "c", "ab", "bc", "abc", "\x01a", "a\x01", "a\x01b", "a\x00b", "\x00", "\x01", "\x01\x01", "\x80", "\x80\x01", "a/b", "a:b", "é", "e\u0301", "A", strings.Repeat("a", 127), strings.Repeat("a", 128), strings.Repeat("a", 256)}
	seen := map[[32]byte]string{}
	add := func(digest [32]byte, of ...string) {
		what := fmt.Sprintf("%q", of)
		if other, ok := seen[digest]; ok && other != what {
			t.Errorf("%s and %s have the same digest", other, what)
		}
		seen[digest] = what
	}
	for _, app := range names {
		add(session.Key{App: app, User: "u", ID: "s"}.AppDigest(), app)
		for _, user := range names {
			add(session.Key{App: app, User: user, ID: "s"}.OwnerDigest(), app, user)
			for _, id := range names {
				key := session.Key{App: app, User: user, ID: id}
				add(key.Digest(), app, user, id)
				if key.Hint() == 0 {
					t.Errorf("the hint of %q stands for any session", key)
				}
			}
		}
	}
	if n := len(names); len(seen) != n+n*n+n*n*n {
		t.Errorf("there are %d digests, want %d", len(seen), n+n*n+n*n*n)
	}
	// They are in databases, and stay what they are.
	if got := fmt.Sprintf("%x", session.Key{App: "a", User: "b", ID: "c"}.Digest()); got != fmt.Sprintf("%x", sha256.Sum256([]byte("\x01a\x01b\x01c"))) {
		t.Errorf("the digest of a, b and c is %s", got)
	}
}

func TestCheck(t *testing.T) {
	for id, good := range map[string]bool{
		"s":                      true,
		" ":                      true,
		"a/b:c.d %'\"\\":         true,
		"日本語 😀":                  true,
		strings.Repeat("😀", 256): true,
		strings.Repeat("x", 257): false,
		"":                       false,
		"a\x00b":                 false,
		"a\nb":                   false,
		"a\u0085b":               false,
		"a\xffb":                 false,
		"\xed\xa0\x80":           false,
	} {
		for _, key := range []session.Key{{App: id, User: "u", ID: "s"}, {App: "a", User: id, ID: "s"}, {App: "a", User: "u", ID: id}} {
			err := key.Check()
			if bad, ok := errors.AsType[*session.IdentifierError](err); ok == good || err != nil && bad == nil {
				t.Errorf("Check of %q: %v", key, err)
			}
		}
		if err := (session.Key{App: "a", User: "u", ID: id}).CheckOwner(); err != nil {
			t.Errorf("CheckOwner looks at the session %q: %v", id, err)
		}
	}
}

func TestEntry(t *testing.T) {
	ev := &event.Event{
		ID: "e", InvocationID: "i", Author: "agent", Timestamp: 1.5,
		Content: event.Text(event.RoleModel, "Hello \x00 😀"),
		Actions: event.Actions{
			StateDelta:           state("k", `"\ud83d"`, "n", "1e400", "gone", "null"),
			ArtifactDelta:        map[string]int64{},
			RequestedAuthConfigs: map[string]json.RawMessage{},
		},
	}
	e, err := session.NewEntry(ev)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ev.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(e.JSON, want) {
		t.Errorf("encoded as\n%s, want\n%s", e.JSON, want)
	}
	if cap(e.JSON) != len(e.JSON) {
		t.Error("who appends to the bytes of an entry writes into them")
	}
	if e.Seq != 0 {
		t.Errorf("an entry that is not in a log has the sequence %d", e.Seq)
	}
	if got, err := e.Decode(); err != nil || got != ev {
		t.Errorf("Decode: %v, %v, want the event itself", got, err)
	}

	// An entry of a store that has only the bytes.
	bare := &session.Entry{Seq: 7, JSON: e.JSON}
	got, err := bare.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ev, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	if again, err := session.NewEntry(got); err != nil || !bytes.Equal(again.JSON, e.JSON) {
		t.Errorf("encoded again: %v\n%s, want\n%s", err, again.JSON, e.JSON)
	}
}

func TestEntryFails(t *testing.T) {
	for name, ev := range map[string]*event.Event{
		"a value that is not JSON":    {Actions: event.Actions{StateDelta: state("k", "{")}},
		"two values":                  {CustomMetadata: state("k", "1 2")},
		"a time that is not a number": {Timestamp: math.NaN()},
		"arguments that do not end":   {Content: &event.Content{Parts: []*event.Part{{FunctionCall: &event.FunctionCall{Name: "f", Args: json.RawMessage(`{"a":`)}}}}},
	} {
		if e, err := session.NewEntry(ev); err == nil {
			t.Errorf("%s: encoded as %s", name, e.JSON)
		}
	}
	for _, text := range []string{"", "{", "[]", "null x", `{"id":1}`, `{"id":"e"} {}`, "{\"id\":\"\xff\"}"} {
		ev, err := (&session.Entry{JSON: []byte(text)}).Decode()
		if _, ok := errors.AsType[*wire.Error](err); !ok || ev != nil {
			t.Errorf("Decode of %q: %v, error %v", text, ev, err)
		}
	}
}

// state makes a state of keys and JSON values that follow one another.
func state(pairs ...string) session.State {
	s := session.State{}
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return s
}
