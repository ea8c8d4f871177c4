package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// wantTurns makes sure that a history is one whole turn after the other, and
// returns the messages in their order.
func wantTurns(t *testing.T, history []Event) []string {
	t.Helper()
	var messages, runs []string
	for _, e := range history {
		if e.Author == "user" {
			messages = append(messages, e.text())
		}
		if len(runs) == 0 || runs[len(runs)-1] != e.InvocationID {
			runs = append(runs, e.InvocationID)
		}
	}
	if len(runs) != len(messages) {
		t.Errorf("%d turns are interleaved: %q", len(messages), brief(history))
	}
	return messages
}

// A message to a busy session is answered after the one before it.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	gate := unique("g")
	first := s.stream(t, s.request("slow "+gate))
	next(t, first)
	second := later(func() []Event { return s.say(t, "hello") })
	s.release(t, gate)
	wantBrief(t, rest(t, first), "weather_agent: wait_for!", `weather_agent: wait_for returned {"status":"success"}`)
	wantBrief(t, <-second, "weather_agent: You said: hello")
	if diff := cmp.Diff([]string{"slow " + gate, "hello"}, wantTurns(t, s.get(t).Events)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 16
	s := begin(t, "weather")
	turns := make([][]Event, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if i%2 == 0 {
				turns[i] = s.say(t, fmt.Sprint("weather in City", i))
			} else {
				turns[i] = rest(t, s.stream(t, s.request(fmt.Sprint("weather in City", i))))
			}
		})
	}
	wg.Wait()
	history := s.get(t).Events
	var want []string
	for i, turn := range turns {
		wantBrief(t, turn, weatherTurn[0], weatherTurn[1], fmt.Sprintf("weather_agent: It is sunny in City%d.", i))
		at := slices.IndexFunc(history, func(e Event) bool { return e.InvocationID == turn[0].InvocationID })
		if diff := cmp.Diff(turn, history[at+1:at+4]); diff != "" {
			t.Errorf("turn %d (-answered +stored):\n%s", i, diff)
		}
		want = append(want, fmt.Sprint("weather in City", i))
	}
	got := wantTurns(t, history)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(history) != 4*n {
		t.Errorf("%d events, messages (-want +got):\n%s", len(history), diff)
	}
}

func TestManyCreatesAtOnce(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	answers := make([]*testkit.Response, 10)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = s.Do(t, http.MethodPost, s.path(), object{"n": i}) })
	}
	wg.Wait()
	count := map[string]int{}
	for _, r := range answers {
		if r.Status == http.StatusOK {
			count["made"]++
		} else {
			count[fmt.Sprint(r.Status, string(r.Body))]++
		}
	}
	want := map[string]int{"made": 1, `409{"error":"Session already exists: s1","detail":"Session already exists: s1"}`: 9}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPatchDuringARun(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	gate := unique("g")
	stream := s.stream(t, with(s.request("slow "+gate), "stateDelta", object{"mine": 1}))
	next(t, stream)
	var patched Session
	s.Do(t, http.MethodPatch, s.path(), `{"stateDelta":{"theirs":2}}`).Want(t, http.StatusOK).Into(t, &patched)
	wantBrief(t, patched.Events, "user: slow "+gate, "weather_agent: wait_for?", "user:")
	s.release(t, gate)
	rest(t, stream)
	got := s.get(t)
	wantBrief(t, got.Events[3:], "weather_agent: wait_for!", `weather_agent: wait_for returned {"status":"success"}`)
	if diff := cmp.Diff(object{"mine": 1.0, "theirs": 2.0}, got.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	wantBrief(t, s.say(t, "recall theirs")[2:], `weather_agent: recall returned {"found":true,"value":2}`)
}

// A session that is deleted takes its run with it.
func TestDeleteDuringARun(t *testing.T) {
	t.Parallel()
	for name, collected := range map[string]bool{"run": true, "run_sse": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "weather")
			text := "slow " + unique("g") // never opened
			var answer <-chan Failure
			if collected {
				answer = later(func() Failure {
					return refusal(t, s.Do(t, http.MethodPost, "/run", s.request(text)), http.StatusConflict)
				})
				testkit.Eventually(t, "the call", func() bool { return len(s.get(t).Events) == 2 })
			} else {
				stream := s.stream(t, s.request(text))
				events := []Event{next(t, stream)}
				answer = later(func() Failure {
					events = append(events, rest(t, stream)...)
					return Failure{Error: events[len(events)-1].Error, Events: events[:len(events)-1]}
				})
			}
			s.Do(t, http.MethodDelete, s.path(), nil).Want(t, http.StatusOK)
			f := <-answer
			if f.Error != "the run was cancelled" {
				t.Errorf("error %q", f.Error)
			}
			wantBrief(t, f.Events, "weather_agent: wait_for?", "weather_agent: wait_for! INVOCATION_ABORTED")
			refusal(t, s.Do(t, http.MethodGet, s.path(), nil), http.StatusNotFound)
			s.create(t, nil)
			wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
		})
	}
}
