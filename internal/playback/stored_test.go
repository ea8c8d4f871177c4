package playback

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// aRun is one with a message, a call of a tool, its result, and an answer.
func aRun(t *testing.T) *original {
	t.Helper()
	of := &original{message: &event.Event{ID: "m", Author: event.User, Content: event.Text(event.RoleUser, "hello")}}
	for _, doc := range []string{
		`{"id":"e1","author":"a","content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"note","args":{}}}]},"modelVersion":"v"}`,
		`{"id":"e2","author":"a","content":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"note","response":{"ok":true}}}]}}`,
	} {
		ev := &event.Event{}
		if err := ev.UnmarshalJSON([]byte(doc)); err != nil {
			t.Fatal(err)
		}
		of.events = append(of.events, ev)
	}
	return of
}

const (
	// inFull is a recording as earlier versions have stored it.
	inFull = `{"steps":[{"kind":"model","agent":"a","name":"n","ms":1.5,"request":{"contents":1,"instruction":"Be kind.","added":[{"role":"user","parts":[{"text":"hello"}]}]},` +
		`"output":{"content":{"role":"model","parts":[{"functionCall":{"id":"c","name":"note","args":{}}}]}}}],"code":"x"}`
	referring = `{"steps":[{"kind":"model","agent":"a","name":"n","ms":1.5,"request":{"contents":1,"instruction":"Be kind.","added":[0]},"event":"e1"},` +
		`{"kind":"tool","agent":"a","name":"note","ms":0.001,"call":"c","args":{},"event":"e2"},` +
		`{"kind":"model","agent":"a","name":"n","ms":2,"request":{"contents":3,"as":1,"added":[1,"e2"]},"output":{"content":{"role":"model","parts":[{"text":"done"}]}}}],"code":"x"}`
	// inParts has what other recordings of the session also have as a part.
	inParts = `{"steps":[{"kind":"model","agent":"a","name":"n","ms":1.5,"firstMs":0.5,"retries":2,"request":{"contents":1,"parts":[2,1],"added":[0]},"event":"e1"},` +
		`{"kind":"tool","agent":"a","name":"note","ms":0.001,"call":"c","args":{},"event":"e2"},` +
		`{"kind":"model","agent":"a","name":"n","ms":2,"request":{"contents":3,"as":1,"added":[1,"e2"]},"output":{"content":{"role":"model","parts":[{"text":"done"}]}}}],"code":"x"}`
	// short refers to earlier steps for whatever they have.
	short = `{"steps":[{"ms":1.5,"agent":"a","name":"n","request":{"contents":1,"parts":[2,1],"added":[0]},"event":"e1"},` +
		`{"ms":0.001,"from":[1,1],"event":"e2"},` +
		`{"ms":2,"request":{"contents":3,"as":1,"added":[1,2]},"output":{"content":{"role":"model","parts":[{"text":"done"}]}}},` +
		`{"ms":0.001,"from":[1,1],"args":{"other":1},"error":"no"}],"code":"x"}`
	dangling = `{"steps":[{"kind":"model","agent":"a","name":"n","ms":1.5,"event":"gone"}]}`
)

func recordings(docs ...string) (list []*session.Recording) {
	for i, doc := range docs {
		list = append(list, &session.Recording{Run: "r", Attempt: i + 1, JSON: []byte(doc), Parts: []*session.RecordingPart{
			session.NewRecordingPart([]byte(`{"tools":[{"name":"note"}]}`)), session.NewRecordingPart([]byte(`{"instruction":"Be kind."}`)),
		}})
	}
	return list
}

func TestParseStored(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{inFull, referring, inParts, short} {
		r, err := parse(recordings(doc), aRun(t))
		if err != nil {
			t.Fatal(err)
		}
		first := r.Steps[0]
		if first.Request.Instruction != "Be kind." || string(first.Request.Added[0]) != `{"role":"user","parts":[{"text":"hello"}]}` {
			t.Errorf("the request is %+v", first.Request)
		}
		resp, err := responseOf(first)
		if err != nil || len(resp.Content.Parts) != 1 || resp.Content.Parts[0].FunctionCall.Name != "note" {
			t.Errorf("the response is %+v, %v", resp, err)
		}
	}
	for _, doc := range []string{referring, inParts, short} {
		checkSteps(t, doc)
	}
}

func checkSteps(t *testing.T, doc string) {
	t.Helper()
	r, err := parse(recordings(doc), aRun(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"model a n  ", "tool a note c {}", "model a n  ", `tool a note c {"other":1}`} {
		if i == len(r.Steps) && doc != short {
			break
		}
		if s := r.Steps[i]; fmt.Sprint(s.Kind, " ", s.Agent, " ", s.Name, " ", s.Call, " ", string(s.Args)) != want {
			t.Errorf("step %d is %+v, want %s", i+1, s, want)
		}
	}
	if result, actions, err := resultOf(r.Steps[1]); err != nil || string(result) != `{"ok":true}` || !actions.Empty() {
		t.Errorf("the result is %s, %+v, %v", result, actions, err)
	}
	last := r.Steps[2].Request
	if last.Instruction != "Be kind." || len(last.Added) != 2 || last.Contents != 3 {
		t.Errorf("the last request is %+v", last)
	}
	for i, want := range []string{
		`{"role":"model","parts":[{"functionCall":{"id":"c","name":"note","args":{}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"c","name":"note","response":{"ok":true}}}]}`,
	} {
		if string(last.Added[i]) != want {
			t.Errorf("content %d is %s", i, last.Added[i])
		}
	}
}

// A recording whose parts are missing must not be repeated as if there were none.
func TestParseParts(t *testing.T) {
	t.Parallel()
	list := recordings(inParts)
	r, err := parse(list, aRun(t))
	if err != nil {
		t.Fatal(err)
	}
	if first := r.Steps[0]; first.FirstMilliseconds != 0.5 || first.Retries != 2 || r.Steps[2].FirstMilliseconds != 0 || r.Steps[2].Retries != 0 {
		t.Errorf("the first step is %+v, the last %+v", first, r.Steps[2])
	}
	for _, i := range []int{0, 2} {
		if req := r.Steps[i].Request; req.Instruction != "Be kind." || string(req.Tools) != `[{"name":"note"}]` {
			t.Errorf("the request of step %d is %+v", i+1, req)
		}
	}
	list[0].Parts = list[0].Parts[:1]
	if _, err := parse(list, aRun(t)); !errors.Is(err, errPart) {
		t.Errorf("a recording without one of its parts: %v", err)
	}
	list[0].Parts = append(list[0].Parts, &session.RecordingPart{})
	if _, err := parse(list, aRun(t)); !errors.Is(err, errPart) {
		t.Errorf("a recording with an empty part: %v", err)
	}
}

// An event that is not in the log makes a recording unusable, unless it is of a process
// that lost the run before it could store the event.
func TestParseDangling(t *testing.T) {
	t.Parallel()
	if _, err := parse(recordings(dangling), aRun(t)); !errors.Is(err, errReference) {
		t.Errorf("a recording that refers to nothing: %v", err)
	}
	r, err := parse(recordings(dangling, referring), aRun(t))
	if err != nil || len(r.Steps) != 3 {
		t.Errorf("after a takeover: %+v, %v", r, err)
	}
}

// Steps may only refer to what is there.
func TestParseReferences(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"[0,1]", "[2,1]", "[9,1]", "[1,0]", "[1,2]", "[1]", "[1,1,1]"} {
		doc := strings.Replace(short, "[1,1]", from, 1)
		if _, err := parse(recordings(doc), aRun(t)); !errors.Is(err, errReference) {
			t.Errorf("a call from %s: %v", from, err)
		}
	}
}
