package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestC36_StateDeltaOfARun(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	s.create(t, `{"old":1}`)
	got := s.run(t, with(s.request("recall q"), "stateDelta", object{"q": 9, "old": nil, "temp:t": 1}))
	want := object{"found": true, "value": 9.0}
	if diff := cmp.Diff(want, got[1].Content.Parts[0].FunctionResponse.Response); diff != "" {
		t.Errorf("what the tool saw (-want +got):\n%s", diff)
	}
	session := s.get(t)
	if diff := cmp.Diff(object{"q": 9.0}, session.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object{"q": 9.0, "old": nil}, session.Events[0].Actions.StateDelta); diff != "" {
		t.Errorf("state delta of the message (-want +got):\n%s", diff)
	}
	s.run(t, with(s.request("hello"), "stateDelta", nil)) // as some clients send it
}

// The applications share nothing, so that relay's app: state is this test's.
func TestC37_StateScopes(t *testing.T) {
	t.Parallel()
	s := begin(t, "relay")
	value := unique("v")
	got := s.say(t, "state "+value)
	wantBrief(t, got[:4], "reporter: remember?", "reporter: remember!", "reporter: recall?", "reporter: recall!")
	if diff := cmp.Diff(object{"user:u": value, "app:a": value, "k": value}, got[1].Actions.StateDelta); diff != "" {
		t.Errorf("state delta (-want +got):\n%s", diff)
	}
	want := object{"found": true, "value": value}
	if diff := cmp.Diff(want, got[3].Content.Parts[0].FunctionResponse.Response); diff != "" {
		t.Errorf("temp: state in the run (-want +got):\n%s", diff)
	}
	forgotten := object{"found": false, "value": nil}
	if diff := cmp.Diff(forgotten, s.say(t, "recall temp:t")[1].Content.Parts[0].FunctionResponse.Response); diff != "" {
		t.Errorf("temp: state in the next run (-want +got):\n%s", diff)
	}
	other := begin(t, "relay")
	for name, tt := range map[string]struct {
		session *talk
		want    object
	}{
		"the session":           {s, object{"user:u": value, "app:a": value, "k": value}},
		"another of the user's": {s.another(t), object{"user:u": value, "app:a": value}},
		"another user's":        {other, object{"app:a": value}},
	} {
		if diff := cmp.Diff(tt.want, tt.session.get(t).State); diff != "" {
			t.Errorf("state of %s (-want +got):\n%s", name, diff)
		}
	}
	// What is shared stays when the session goes.
	s.Do(t, http.MethodDelete, s.path(), nil).Want(t, http.StatusOK)
	if diff := cmp.Diff(object{"user:u": value, "app:a": value}, s.create(t, nil).State); diff != "" {
		t.Errorf("state of the session made again (-want +got):\n%s", diff)
	}
}

func TestFirstWritesOfSharedState(t *testing.T) {
	t.Parallel()
	const n = 20
	s := begin(t, "weather")
	want := object{}
	var wg sync.WaitGroup
	for i := range n {
		key := fmt.Sprint("user:k", i)
		want[key] = "v"
		one := s.another(t)
		wg.Go(func() { one.say(t, "keep "+key+" v") })
	}
	wg.Wait()
	if diff := cmp.Diff(want, s.get(t).State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}
