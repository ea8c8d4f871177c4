package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// Run is a run as an object.
type Run struct {
	ID         string  `json:"id"`
	AppName    string  `json:"appName"`
	UserID     string  `json:"userId"`
	SessionID  string  `json:"sessionId"`
	Status     string  `json:"status"`
	Stop       string  `json:"stop"`
	Resumes    string  `json:"resumes"`
	ResumedBy  string  `json:"resumedBy"`
	Attempt    int     `json:"attempt"`
	CreateTime float64 `json:"createTime"`
	EndTime    float64 `json:"endTime"`
	Error      *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// Options of requests that start a run.
var (
	wait         = func(seconds int) func(*http.Request) { return testkit.Header("Prefer", fmt.Sprint("wait=", seconds)) }
	idempotent   = func(key string) func(*http.Request) { return testkit.Header("Idempotency-Key", key) }
	acceptJSON   = testkit.Header("Accept", "application/json")
	acceptStream = testkit.Header("Accept", "text/event-stream")
)

// start starts a run in the background.
func (s *talk) start(t *testing.T, text string, options ...func(*http.Request)) Run {
	t.Helper()
	var r Run
	body := object{"newMessage": object{"parts": []any{object{"text": text}}}}
	resp := s.Do(t, http.MethodPost, s.path()+"/runs", body, options...).Want(t, http.StatusAccepted).Into(t, &r)
	if got := resp.Header.Get("Location"); got != s.runPath(r.ID) || resp.Header.Get("X-Parley-Run") != r.ID {
		t.Errorf("the run %s is at %q", r.ID, got)
	}
	return r
}

func (s *talk) runPath(id string) string { return s.path() + "/runs/" + id }

func (s *talk) look(t *testing.T, id string) Run {
	t.Helper()
	var r Run
	s.Do(t, http.MethodGet, s.runPath(id), nil).Want(t, http.StatusOK).Into(t, &r)
	return r
}

func (s *talk) cancel(t *testing.T, id string) Run {
	t.Helper()
	var r Run
	s.Do(t, http.MethodPost, s.runPath(id)+"/cancel", nil).Want(t, http.StatusOK).Into(t, &r)
	return r
}

// runs are the runs of the session, the newest first.
func (s *talk) runs(t *testing.T) []Run {
	t.Helper()
	var list []Run
	s.Do(t, http.MethodGet, s.path()+"/runs", nil).Want(t, http.StatusOK).Into(t, &list)
	return list
}

// ended waits for the end of a run.
func (s *talk) ended(t *testing.T, id string) Run {
	t.Helper()
	frames := s.follow(t, id, "")
	var r Run
	last := frames[len(frames)-1]
	if last.name != "end" {
		t.Fatalf("the last frame is %+v", last)
	}
	(&testkit.Response{Body: []byte(last.data)}).Into(t, &r)
	return r
}

// called waits until a run has made its first call.
func (s *talk) called(t *testing.T, id string) {
	t.Helper()
	testkit.Eventually(t, "the call", func() bool {
		return string(s.Do(t, http.MethodGet, s.runPath(id)+"/events", nil, acceptJSON).Want(t, http.StatusOK).Body) != "[]"
	})
}

// frame is a Server-Sent Event.
type frame struct{ name, id, data string }

func readFrames(t *testing.T, from io.Reader, limit int) []frame {
	t.Helper()
	frames := []frame{}
	var f frame
	for lines := bufio.NewScanner(from); len(frames) < limit && lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			f.name = value
		case "id":
			f.id = value
		case "data":
			f.data = value
		case "":
			if f.data != "" {
				frames = append(frames, f)
			}
			f = frame{}
		}
	}
	return frames
}

// follow reads a run to its end, from after an event on.
func (s *talk) follow(t *testing.T, id, after string) []frame {
	t.Helper()
	r := s.Do(t, http.MethodGet, s.runPath(id)+"/events", nil, acceptStream, testkit.Header("Last-Event-ID", after)).Want(t, http.StatusOK)
	return readFrames(t, bytes.NewReader(r.Body), 1<<20)
}

// glimpse reads a number of frames of a run and disconnects.
func (s *talk) glimpse(t *testing.T, id, after string, frames int) []frame {
	t.Helper()
	ctx, hangUp := context.WithTimeout(t.Context(), 5*time.Minute)
	defer hangUp()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(*baseURL, "/")+s.runPath(id)+"/events?after="+after, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: testkit.Checked(t, transport)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return readFrames(t, resp.Body, frames)
}

// stored are the frames of stored events, and the ids of those.
func stored(frames []frame) (kept []frame, ids []string) {
	for _, f := range frames {
		if f.id != "" {
			kept, ids = append(kept, f), append(ids, f.id)
		}
	}
	return kept, ids
}

func TestRunInTheBackground(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	gate := unique("g")
	first := s.start(t, "slow "+gate)
	second := s.start(t, "hello")
	if first.SessionID != s.ID || first.AppName != s.App || first.UserID != s.User || first.Status != "running" || second.Status != "queued" {
		t.Errorf("runs %+v, %+v", first, second)
	}
	s.called(t, first.ID)
	s.release(t, gate)
	for i, id := range []string{first.ID, second.ID} {
		r := s.ended(t, id)
		if diff := cmp.Diff(s.look(t, id), r); diff != "" || r.Status != "completed" || r.Attempt != 1 || r.EndTime < r.CreateTime {
			t.Errorf("run %d is %+v (-looked at +followed):\n%s", i, r, diff)
		}
	}
	wantBrief(t, s.get(t).Events, "user: slow "+gate, "weather_agent: wait_for?", "weather_agent: wait_for!",
		`weather_agent: wait_for returned {"status":"success"}`, "user: hello", "weather_agent: You said: hello")
	if list := s.runs(t); len(list) != 2 || list[0].ID != second.ID || list[1].ID != first.ID {
		t.Errorf("listed %+v", list)
	}
}

// /run and /run_sse are views of runs that are as all others.
func TestRunsOfOtherRoutes(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	for text, status := range map[string]string{"weather": "completed", "long": "waiting", "fail": "failed", "errcode": "failed"} {
		for _, path := range []string{"/run", "/run_sse"} {
			r := s.Do(t, http.MethodPost, path, s.request(text))
			id := r.Header.Get("X-Parley-Run")
			if got := s.look(t, id); got.Status != status || (got.Error != nil) != (status == "failed") {
				t.Errorf("%s %q is %+v", path, text, got)
			}
			if path == "/run_sse" {
				kept, _ := stored(s.follow(t, id, ""))
				var sent []frame
				for _, f := range readFrames(t, bytes.NewReader(r.Body), 100) {
					if !strings.HasPrefix(f.data, `{"error"`) {
						sent = append(sent, f)
					}
				}
				for i := range kept {
					kept[i].id = ""
				}
				if diff := cmp.Diff(sent, kept, cmp.AllowUnexported(frame{})); diff != "" {
					t.Errorf("%q (-sent +followed):\n%s", text, diff)
				}
			}
		}
	}
	if got := len(s.runs(t)); got != 8 {
		t.Errorf("%d runs", got)
	}
}

// An answer from outside starts a run that names the one which was waiting. When
// it ends, the other waits no longer, and names it.
func TestRunThatResumes(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	asked := s.say(t, "long")
	answer := Part{FunctionResponse: &FunctionResponse{ID: asked[0].call(t).ID, Name: "ask_approval", Response: object{"ok": true}}}
	id := s.Do(t, http.MethodPost, "/run", s.request(answer)).Want(t, http.StatusOK).Header.Get("X-Parley-Run")
	if got := s.look(t, id); got.Resumes != asked[0].InvocationID || got.Status != "completed" {
		t.Errorf("the run is %+v", got)
	}
	if got := s.look(t, asked[0].InvocationID); got.ResumedBy != id || got.Status != "completed" || got.Error != nil {
		t.Errorf("the run that was answered is %+v", got)
	}
}

func TestRunList(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	if got := string(s.Do(t, http.MethodGet, s.path()+"/runs", nil).Want(t, http.StatusOK).Body); got != "[]" {
		t.Errorf("no runs are %s", got)
	}
	var want []string
	for range 5 {
		want = append([]string{s.Do(t, http.MethodPost, "/run", s.request("hi")).Header.Get("X-Parley-Run")}, want...)
	}
	var got []string
	pages := 0
	for path := s.path() + "/runs?pageSize=2"; path != ""; pages++ {
		var ids []string
		ids, path = s.list(t, path)
		got = append(got, ids...)
	}
	if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
		t.Errorf("%d pages (-want +got):\n%s", pages, diff)
	}
	for query, status := range map[string]int{"pageSize=0": 422, "pageSize=x": 422, "pageSize=1001": 422, "pageToken=!": 400} {
		refusal(t, s.Do(t, http.MethodGet, s.path()+"/runs?"+query, nil), status)
	}
}

// A run belongs to its session.
func TestRunOfAnotherSession(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	id := s.Do(t, http.MethodPost, "/run", s.request("hi")).Header.Get("X-Parley-Run")
	other := s.another(t)
	unrelated := begin(t, "weather")
	relay := *s
	relay.App = "relay"
	s.Do(t, http.MethodPost, relay.path(), nil).Want(t, http.StatusOK)
	missing := *s
	missing.ID = "none"
	for _, one := range []*talk{other, unrelated, &relay, &missing} {
		refusal(t, s.Do(t, http.MethodGet, one.runPath(id), nil), http.StatusNotFound)
		refusal(t, s.Do(t, http.MethodGet, one.runPath(id)+"/events", nil), http.StatusNotFound)
		refusal(t, s.Do(t, http.MethodPost, one.runPath(id)+"/cancel", nil), http.StatusNotFound)
	}
	for _, bad := range []string{"%00", "a%0Ab", "%FF", strings.Repeat("x", 257)} {
		refusal(t, s.Do(t, http.MethodGet, s.runPath(bad), nil), http.StatusBadRequest)
		refusal(t, s.Do(t, http.MethodGet, s.runPath(bad)+"/events", nil), http.StatusBadRequest)
		refusal(t, s.Do(t, http.MethodPost, s.runPath(bad)+"/cancel", nil), http.StatusBadRequest)
	}
	for _, bad := range []string{"%00", "a%0Ab", "%FF", strings.Repeat("x", 257)} {
		for path, method := range map[string]string{
			"/runs": "POST", "/runs?": "GET", "/runs/x": "GET", "/runs/x/events": "GET", "/runs/x/cancel": "POST",
			"/fork": "POST", "/rewind": "POST", "/import": "POST", "/export": "GET",
		} {
			refusal(t, s.Do(t, method, s.sessions()+"/"+bad+path, nil), http.StatusBadRequest)
			refusal(t, s.Do(t, method, "/apps/weather/users/"+bad+"/sessions/s"+path, nil), http.StatusBadRequest)
		}
	}
	refusal(t, s.Do(t, http.MethodGet, s.path()+"/runs/x/more", nil), http.StatusNotFound)
	refusal(t, s.Do(t, http.MethodPut, s.runPath(id), nil), http.StatusMethodNotAllowed)
	refusal(t, s.Do(t, http.MethodGet, s.runPath(id)+"/cancel", nil), http.StatusMethodNotAllowed)
	refusal(t, s.Do(t, http.MethodGet, missing.path()+"/runs", nil), http.StatusNotFound)
}

// Wherever a stream breaks off, the rest of it completes it.
func TestFollowFromEverywhere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"weather in Oslo", "pair", "long", "panic", "fail", "hello"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "weather")
			id := s.Do(t, http.MethodPost, "/run", s.request(text)).Header.Get("X-Parley-Run")
			whole := s.follow(t, id, "")
			kept, ids := stored(whole)
			if len(whole) != len(kept)+1 {
				t.Errorf("%d frames, %d of them stored", len(whole), len(kept))
			}
			for i, after := range ids {
				if diff := cmp.Diff(whole[i+1:], s.follow(t, id, after), cmp.AllowUnexported(frame{})); diff != "" {
					t.Errorf("after event %d (-want +got):\n%s", i, diff)
				}
				var events []json.RawMessage
				s.Do(t, http.MethodGet, s.runPath(id)+"/events?after="+after, nil, acceptJSON).Want(t, http.StatusOK).Into(t, &events)
				for j, e := range events {
					if string(e) != kept[i+1+j].data {
						t.Errorf("event %d after %d is %s", j, i, e)
					}
				}
				if len(events) != len(kept)-i-1 {
					t.Errorf("%d events after %d", len(events), i)
				}
			}
			message := s.get(t).Events[0].ID // which is not one of those that are followed
			for _, unknown := range []string{"nope", message} {
				refusal(t, s.Do(t, http.MethodGet, s.runPath(id)+"/events?after="+unknown, nil), http.StatusUnprocessableEntity)
			}
		})
	}
}

// The same while the run is running, with pieces on the way.
func TestFollowAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := begin(t, "relay")
	gate := unique("g")
	body := object{"newMessage": object{"parts": []any{object{"text": "slow " + gate}}}, "streaming": true}
	var r Run
	s.Do(t, http.MethodPost, s.path()+"/runs", body).Want(t, http.StatusAccepted).Into(t, &r)
	unbroken := later(func() []frame { return s.follow(t, r.ID, "") })
	first := s.glimpse(t, r.ID, "", 1)
	released := later(func() bool { s.release(t, gate); return true })
	got := first
	for {
		_, ids := stored(got)
		next := s.glimpse(t, r.ID, ids[len(ids)-1], 2)
		kept, _ := stored(next)
		got = append(got, kept...)
		if last := next[len(next)-1]; last.name == "end" {
			break
		}
	}
	<-released
	want, _ := stored(<-unbroken)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(frame{})); diff != "" || len(want) != 4 {
		t.Errorf("%d events (-unbroken +broken):\n%s", len(want), diff)
	}
	var events []Event
	for _, f := range got {
		var e Event
		(&testkit.Response{Body: []byte(f.data)}).Into(t, &e)
		events = append(events, e)
	}
	if diff := cmp.Diff(s.get(t).Events[1:], events); diff != "" {
		t.Errorf("(-stored +followed):\n%s", diff)
	}
}

// Who follows a run from its beginning sees what /run_sse shows, pieces too.
func TestFollowPieces(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	gate := unique("g")
	stream := s.stream(t, with(s.request("slow "+gate), "streaming", true))
	events := []Event{next(t, stream)}
	followed := later(func() []frame { return s.follow(t, events[0].InvocationID, "") })
	s.glimpse(t, events[0].InvocationID, "", 1) // so that the other one is there, too, or soon
	s.release(t, gate)
	events = append(events, rest(t, stream)...)
	said := map[bool]string{}
	for _, f := range <-followed {
		var e Event
		(&testkit.Response{Body: []byte(f.data)}).Into(t, &e)
		if f.name == "" && e.Content.Parts[0].Text != "" {
			said[e.partial()] += e.text()
		}
	}
	whole := `wait_for returned {"status":"success"}`
	if said[false] != whole || said[true] != "" && said[true] != whole {
		t.Errorf("pieces and whole: %v", said)
	}
	wantBrief(t, events[len(events)-1:], "weather_agent: "+whole)
}

func TestCancelTwice(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	run := s.start(t, "slow "+unique("g")) // never opened
	queued := s.start(t, "hello")
	s.called(t, run.ID)
	if got := s.cancel(t, queued.ID); got.Status != "cancelled" {
		t.Errorf("cancelled while queued: %+v", got)
	}
	s.cancel(t, run.ID)
	s.cancel(t, run.ID)
	if got := s.ended(t, run.ID); got.Status != "cancelled" || got.Stop != "cancel" || got.EndTime-got.CreateTime > 20 {
		t.Errorf("cancelled: %+v", got)
	}
	for _, id := range []string{run.ID, queued.ID} {
		before := s.look(t, id)
		if diff := cmp.Diff(before, s.cancel(t, id)); diff != "" || before.Status != "cancelled" {
			t.Errorf("cancelled again (-before +after):\n%s", diff)
		}
	}
	got := s.get(t).Events
	wantAnswered(t, got)
	wantBrief(t, got[1:], "weather_agent: wait_for?", "weather_agent: wait_for! INVOCATION_ABORTED")
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
	done := s.runs(t)[0]
	if diff := cmp.Diff(done, s.cancel(t, done.ID)); diff != "" || done.Status != "completed" {
		t.Errorf("cancelled after its end (-before +after):\n%s", diff)
	}
}

// With Prefer: wait=N, an answer comes in time, whole or not.
func TestPrefer(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int{0, 1} {
		s := begin(t, "weather")
		gate := unique("g")
		begun := time.Now()
		var run Run
		r := s.Do(t, http.MethodPost, "/run", s.request("slow "+gate), wait(seconds)).Want(t, http.StatusAccepted).Into(t, &run)
		if took := time.Since(begun); took < time.Duration(seconds)*time.Second {
			t.Errorf("wait=%d took %v", seconds, took)
		}
		if run.Status != "running" || r.Header.Get("Location") != s.runPath(run.ID) || r.Header.Get("Preference-Applied") != fmt.Sprint("wait=", seconds) {
			t.Errorf("%+v, %v", run, r.Header)
		}
		s.release(t, gate)
		if got := s.ended(t, run.ID); got.Status != "completed" {
			t.Errorf("the run is %+v", got)
		}
		wantBrief(t, s.run(t, s.request("hello"), wait(30)), "weather_agent: You said: hello")
	}
}

// posting sends a request and does not wait for the response. The returned function disconnects.
func (s *talk) posting(t *testing.T, path string, body any, options ...func(*http.Request)) (hangUp func()) {
	t.Helper()
	doc, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(*baseURL, "/")+path, bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range options {
		option(req)
	}
	transport := &http.Transport{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := transport.RoundTrip(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	hangUp = func() {
		cancel()
		<-done
		transport.CloseIdleConnections()
	}
	t.Cleanup(hangUp)
	return hangUp
}
