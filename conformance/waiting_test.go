package conformance

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ask starts a long-running call and returns its id.
func (s *talk) ask(t *testing.T) string {
	t.Helper()
	got := s.say(t, "long")
	wantBrief(t, got, "weather_agent: ask_approval?", "weather_agent: ask_approval!",
		`weather_agent: ask_approval returned {"status":"pending","ticket":"t-1"}`)
	id := got[0].call(t).ID
	if diff := cmp.Diff([]string{id}, got[0].LongRunningToolIDs); diff != "" {
		t.Errorf("longRunningToolIds (-want +got):\n%s", diff)
	}
	return id
}

// approve is the part that answers a long-running call.
func approve(id string, response any) object {
	return object{"functionResponse": FunctionResponse{ID: id, Name: "ask_approval", Response: response}}
}

func TestC44_LongRunning(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	id := s.ask(t)
	got := s.say(t, approve(id, object{"status": "approved"}))
	wantBrief(t, got, `weather_agent: ask_approval returned {"status":"approved"}`)
	history := s.get(t).Events
	wantBrief(t, history[4:5], "user: ask_approval!")
	if history[4].InvocationID != got[0].InvocationID || got[0].InvocationID == history[0].InvocationID {
		t.Error("the answer did not start a run of its own")
	}

	f := refusal(t, s.Do(t, http.MethodPost, "/run", s.request(approve(id, object{"status": "no"}))), http.StatusConflict)
	if !strings.Contains(f.Error, id) {
		t.Errorf("error %q does not name the call", f.Error)
	}
	if got := len(s.get(t).Events); got != len(history) {
		t.Errorf("a refused answer left %d events", got-len(history))
	}
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
}

// A tool that gives no receipt ends the turn at once.
func TestLongRunningWithoutReceipt(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, "silent")
	wantBrief(t, got, "weather_agent: ask_silently?", "weather_agent: ask_silently!")
	if diff := cmp.Diff(object{"status": "pending"}, got[1].Content.Parts[0].FunctionResponse.Response); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	answer := FunctionResponse{ID: got[0].call(t).ID, Name: "ask_silently", Response: object{"ok": true}}
	wantBrief(t, s.say(t, object{"functionResponse": answer}), `weather_agent: ask_silently returned {"ok":true}`)
}

func TestLongRunningUpdates(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	id := s.ask(t)
	interim := []object{
		approve(id, object{"status": "pending", "step": 1}),
		approve(id, object{"pending": true, "step": 2}),
		{"functionResponse": FunctionResponse{ID: id, Name: "ask_approval", Response: object{"step": 3}, WillContinue: true}},
	}
	for i, part := range interim {
		if got := s.say(t, part); len(got) != 1 || !strings.Contains(got[0].text(), `"step":`) {
			t.Errorf("update %d was answered with %q", i+1, brief(got))
		}
		wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello") // chat continues in the meantime
	}
	wantBrief(t, s.say(t, approve(id, object{"done": true})), `weather_agent: ask_approval returned {"done":true}`)
	refusal(t, s.Do(t, http.MethodPost, "/run_sse", s.request(approve(id, object{"done": true}))), http.StatusConflict)
}

func TestLongRunningAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		response any
		want     string // as the model gets it
	}{
		"object":            {object{"a": 1}, `{"a":1}`},
		"serialized object": {` { "a" : [ 1 ] } `, `{"a":[1]}`},
		"text":              {"yes, please", `{"result":"yes, please"}`},
		"broken JSON":       {`{"a":`, `{"result":"{\"a\":"}`},
		"serialized array":  {`[1]`, `{"result":"[1]"}`},
		"number":            {7, `{"result":7}`},
		"array":             {[]int{1, 2}, `{"result":[1,2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "weather")
			id := s.ask(t)
			wantBrief(t, s.say(t, approve(id, tt.response)), "weather_agent: ask_approval returned "+tt.want)
		})
	}
}

func TestLongRunningRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	weather := s.say(t, "weather")[0].call(t).ID
	id := s.ask(t)
	before := len(s.get(t).Events)
	for name, tt := range map[string]struct {
		answers []any
		status  int
		text    string
	}{
		"unknown id":      {[]any{approve("c-77", object{})}, http.StatusUnprocessableEntity, "c-77"},
		"wrong name":      {[]any{object{"functionResponse": FunctionResponse{ID: id, Name: "other", Response: object{}}}}, http.StatusUnprocessableEntity, "ask_approval"},
		"one is unknown":  {[]any{approve(id, object{}), approve("c-77", object{})}, http.StatusUnprocessableEntity, "c-77"},
		"answered itself": {[]any{object{"functionResponse": FunctionResponse{ID: weather, Name: "get_weather", Response: object{}}}}, http.StatusConflict, weather},
		"twice at once":   {[]any{approve(id, object{}), approve(id, object{})}, http.StatusConflict, id},
	} {
		for _, path := range []string{"/run", "/run_sse"} {
			f := refusal(t, s.Do(t, http.MethodPost, path, s.request(tt.answers...)), tt.status)
			if !strings.Contains(f.Error, tt.text) {
				t.Errorf("%s: error %q lacks %q", name, f.Error, tt.text)
			}
		}
	}
	if got := s.get(t).Events; len(got) != before {
		t.Errorf("refused answers left %q", brief(got[before:]))
	}
	wantBrief(t, s.say(t, approve(id, object{"ok": 1})), `weather_agent: ask_approval returned {"ok":1}`)
}

// Of two answers that come at once, one counts.
func TestLongRunningAnsweredTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	id := s.ask(t)
	statuses := make([]int, 8)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() {
			statuses[i] = s.Do(t, http.MethodPost, "/run", s.request(approve(id, object{"by": i}))).Status
		})
	}
	wg.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	if count[http.StatusOK] != 1 || count[http.StatusConflict] != len(statuses)-1 {
		t.Errorf("statuses %v", statuses)
	}
}
