package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// busy is a session with a run that waits for a gate which is never opened.
func busy(t *testing.T) (*talk, Run, string) {
	t.Helper()
	s := begin(t, "weather")
	text := "slow " + unique("g")
	run := s.start(t, text)
	s.called(t, run.ID)
	return s, run, text
}

// Two messages at the same time are both answered, one after the other.
func TestTwoMessagesAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	first := later(func() []Event { return s.say(t, "weather in Oslo") })
	testkit.Eventually(t, "the first run", func() bool { return len(s.runs(t)) == 1 })
	second := later(func() []Event { return s.say(t, "pair") })
	one, two := <-first, <-second
	wantBrief(t, one, weatherTurn...)
	if len(two) < 3 {
		t.Errorf("the second turn is %q", brief(two))
	}
	if diff := cmp.Diff([]string{"weather in Oslo", "pair"}, wantTurns(t, s.get(t).Events)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/run", "/run_sse", "runs"} {
		s, run, text := busy(t)
		if path == "runs" {
			path = s.path() + "/runs"
		}
		f := refusal(t, s.Do(t, http.MethodPost, path, with(s.request("hello"), "concurrency", "reject")), http.StatusConflict)
		if !strings.Contains(f.Error, run.ID) {
			t.Errorf("%s: the error %q does not name %s", path, f.Error, run.ID)
		}
		s.cancel(t, run.ID)
		s.ended(t, run.ID)
		wantBrief(t, s.get(t).Events, "user: "+text, "weather_agent: wait_for?", "weather_agent: wait_for! INVOCATION_ABORTED")
		wantBrief(t, s.run(t, with(s.request("hello"), "concurrency", "reject")), "weather_agent: You said: hello")
	}
}

// Of two that want to be alone, one is.
func TestRejectAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	gate := unique("g")
	const n = 10
	answers := make([]*testkit.Response, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			answers[i] = s.Do(t, http.MethodPost, s.path()+"/runs", s.request("slow "+gate), testkit.Header("X-Parley-Concurrency", "reject"))
		})
	}
	wg.Wait()
	count := map[int]int{}
	for _, r := range answers {
		count[r.Status]++
	}
	if diff := cmp.Diff(map[int]int{202: 1, 409: n - 1}, count); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	s.release(t, gate)
	s.ended(t, s.runs(t)[0].ID)
	if got := s.get(t).Events; len(got) != 4 {
		t.Errorf("history %q", brief(got))
	}
}

func TestInterruptAndRollback(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"interrupt", "rollback"} {
		for _, path := range []string{"/run", "/run_sse", "runs"} {
			t.Run(policy+" "+path, func(t *testing.T) {
				t.Parallel()
				s, run, text := busy(t)
				queued := s.start(t, "never said")
				if path == "runs" {
					path = s.path() + "/runs"
				}
				r := s.Do(t, http.MethodPost, path, with(with(s.request("hello"), "concurrency", policy), "stateDelta", object{"k": 1}))
				if got := s.ended(t, r.Header.Get("X-Parley-Run")); got.Status != "completed" {
					t.Errorf("the new run is %+v", got)
				}
				for _, id := range []string{run.ID, queued.ID} {
					if got := s.look(t, id); got.Status != "cancelled" || got.EndTime-got.CreateTime > 20 {
						t.Errorf("the old run is %+v", got)
					}
				}
				history := s.get(t).Events
				wantAnswered(t, history)
				want := []string{"user: hello", "weather_agent: You said: hello"}
				if policy == "interrupt" {
					want = append([]string{"user: " + text, "weather_agent: wait_for?", "weather_agent: wait_for! INVOCATION_ABORTED"}, want...)
				}
				wantBrief(t, history, want...)
				wantBrief(t, s.say(t, "recall k")[2:], `weather_agent: recall returned {"found":true,"value":1}`)
			})
		}
	}
}

// What is rolled back has not changed the session's state.
func TestRollbackOfState(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.run(t, with(s.request("hello"), "stateDelta", object{"color": "red", "gone": 1}))
	run := Run{}
	body := with(s.request("slow "+unique("g")), "stateDelta", object{"color": "blue", "gone": nil, "new": 1, "user:seen": true})
	s.Do(t, http.MethodPost, s.path()+"/runs", body).Want(t, http.StatusAccepted).Into(t, &run)
	s.called(t, run.ID)
	s.run(t, with(s.request("hello again"), "concurrency", "rollback"))
	if diff := cmp.Diff(object{"color": "red", "gone": 1.0, "user:seen": true}, s.get(t).State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// A request that is sent again is the same run.
func TestIdempotentRepeats(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	first, second := unique("g"), unique("g")
	before := s.start(t, "slow "+first)
	key, req := idempotent("k-"+second), s.request("slow "+second)
	type answer struct {
		run    string
		events []Event
	}
	send := func() <-chan answer {
		return later(func() answer {
			var a answer
			a.run = s.Do(t, http.MethodPost, "/run", req, key).Want(t, http.StatusOK).Into(t, &a.events).Header.Get("X-Parley-Run")
			return a
		})
	}
	all := []<-chan answer{send()} // queued
	testkit.Eventually(t, "two runs", func() bool { return len(s.runs(t)) == 2 })
	all = append(all, send())
	s.called(t, before.ID)
	s.release(t, first)
	s.ended(t, before.ID)
	all = append(all, send()) // running
	s.called(t, s.runs(t)[0].ID)
	all = append(all, send())
	s.release(t, second)
	want := <-all[0]
	all = append(all, send()) // over
	wantBrief(t, want.events, "weather_agent: wait_for?", "weather_agent: wait_for!", `weather_agent: wait_for returned {"status":"success"}`)
	for i, c := range all[1:] {
		if diff := cmp.Diff(want, <-c, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("repetition %d (-want +got):\n%s", i, diff)
		}
	}
	if got := len(s.get(t).Events); got != 8 || len(s.runs(t)) != 2 {
		t.Errorf("%d events", got)
	}
	r := s.Do(t, http.MethodPost, "/run_sse", req, key)
	if got := readFrames(t, strings.NewReader(string(r.Body)), 10); len(got) != 3 || r.Header.Get("X-Parley-Run") != want.run {
		t.Errorf("as a stream: %s", r.Body)
	}
	refusal(t, s.Do(t, http.MethodPost, "/run", s.request("hello"), key), http.StatusConflict)
	if run := s.another(t).start(t, "hello", key); run.ID == want.run {
		t.Error("the key of another session was taken")
	}
	for _, bad := range []string{strings.Repeat("x", 257), "\u00ff\u0085"} {
		refusal(t, s.Do(t, http.MethodPost, "/run", req, idempotent(bad)), http.StatusBadRequest)
	}
}

func TestManyRepeatsAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	const n = 20
	answers := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			path := []string{"/run", "/run_sse"}[i%2]
			r := s.Do(t, http.MethodPost, path, s.request("weather in Oslo"), idempotent("once")).Want(t, http.StatusOK)
			body := string(r.Body)
			if i%2 == 1 {
				var events []string
				for _, f := range readFrames(t, strings.NewReader(body), 10) {
					events = append(events, f.data)
				}
				body = "[" + strings.Join(events, ",") + "]"
			}
			answers[i] = r.Header.Get("X-Parley-Run") + body
		})
	}
	wg.Wait()
	for i, a := range answers {
		if a != answers[0] {
			t.Errorf("answer %d is %s, not %s", i, a, answers[0])
		}
	}
	wantBrief(t, s.get(t).Events, append([]string{"user: weather in Oslo"}, weatherTurn...)...)
}

// A queued message whose client has disconnected is still processed.
func TestHangUpWhileQueued(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"": "completed", "continue": "completed", "cancel": "cancelled"} {
		s := begin(t, "weather")
		gate := unique("g")
		s.called(t, s.start(t, "slow "+gate).ID)
		options := []func(*http.Request){testkit.Header("X-Parley-On-Disconnect", policy)}
		hangUp := s.posting(t, "/run", s.request("hello"), options...)
		testkit.Eventually(t, "two runs", func() bool { return len(s.runs(t)) == 2 })
		hangUp()
		id := s.runs(t)[0].ID
		if want == "cancelled" {
			testkit.Eventually(t, "the end of the queued run", func() bool { return s.look(t, id).Status == want })
		}
		s.release(t, gate)
		if got := s.ended(t, id).Status; got != want {
			t.Errorf("%q: the run is %s", policy, got)
		}
	}
}

// A client that wants it takes its run with it.
func TestHangUpAndCancel(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/run", "/run_sse"} {
		s := begin(t, "weather")
		text := "slow " + unique("g")
		hangUp := s.posting(t, path, with(s.request(text), "onDisconnect", "cancel"))
		testkit.Eventually(t, "the call", func() bool { return len(s.get(t).Events) == 2 })
		hangUp()
		if run := s.ended(t, s.runs(t)[0].ID); run.Status != "cancelled" {
			t.Errorf("%s: the run is %+v", path, run)
		}
		wantBrief(t, s.get(t).Events, "user: "+text, "weather_agent: wait_for?", "weather_agent: wait_for! INVOCATION_ABORTED")
		wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
	}
}

// Whatever is wrong with how a run is asked for, nothing is left of it.
func TestBadRunOptions(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	for _, path := range []string{"/run", "/run_sse", s.path() + "/runs"} {
		for _, name := range []string{"concurrency", "onDisconnect"} {
			for _, value := range []any{"", "no", "Enqueue", 1, true, object{}, []any{}} {
				f := refusal(t, s.Do(t, http.MethodPost, path, with(s.request("hello"), name, value)), http.StatusUnprocessableEntity)
				wantLoc(t, f, []any{"body", name})
			}
		}
		for _, name := range []string{"X-Parley-Concurrency", "X-Parley-On-Disconnect"} {
			f := refusal(t, s.Do(t, http.MethodPost, path, s.request("hello"), testkit.Header(name, "no")), http.StatusUnprocessableEntity)
			wantLoc(t, f, []any{"header", name})
		}
	}
	for _, value := range []string{"wait=x", "wait=-1", "wait"} {
		refusal(t, s.Do(t, http.MethodPost, "/run", s.request("hello"), testkit.Header("Prefer", value)), http.StatusUnprocessableEntity)
	}
	if got := s.get(t).Events; len(got) != 0 || len(s.runs(t)) != 0 {
		t.Errorf("refused requests left %q", brief(got))
	}
	// The body counts more than the header, and null is nothing.
	req := with(with(s.request("hello"), "concurrency", "enqueue"), "onDisconnect", nil)
	s.run(t, req, testkit.Header("X-Parley-Concurrency", "reject"), testkit.Header("X-Parley-On-Disconnect", "cancel"))
	s.run(t, raw(fmt.Sprintf(`{"app_name":%q,"user_id":%q,"session_id":%q,"on_disconnect":"cancel","new_message":{"parts":[{"text":"hi"}]}}`, s.App, s.User, s.ID)), testkit.Odd)
}
