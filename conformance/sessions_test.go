package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// create makes the session of s with a body.
func (s *talk) create(t *testing.T, body any, options ...func(*http.Request)) Session {
	t.Helper()
	var made Session
	s.Do(t, http.MethodPost, s.path(), body, options...).Want(t, http.StatusOK).Into(t, &made)
	return made
}

func TestC05_CreateWithRawState(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	got := s.create(t, `{"key1":"value1","key2":42}`)
	want := Session{
		ID: "s1", AppName: "weather", UserID: s.User,
		State: object{"key1": "value1", "key2": 42.0}, Events: []Event{}, LastUpdateTime: got.LastUpdateTime,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.LastUpdateTime <= 0 || got.LastUpdateTime >= 1e10 {
		t.Errorf("lastUpdateTime %v is not in seconds", got.LastUpdateTime)
	}
	if diff := cmp.Diff(got, s.get(t)); diff != "" {
		t.Errorf("what is read is not what was made (-made +read):\n%s", diff)
	}
}

func TestC06_CreateWithWrappedState(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		want object
	}{
		"wrapper":                {`{"state":{"key1":"v"}}`, object{"key1": "v"}},
		"with known members":     {`{"state":{"a":1},"events":[],"sessionId":"other","options":{}}`, object{"a": 1.0}},
		"as a session":           {`{"id":"s1","state":{"a":1},"userId":"u","app_name":"weather","events":[]}`, object{"a": 1.0}},
		"state with a user":      {`{"state":"on","userId":"u"}`, object{"state": "on", "userId": "u"}},
		"a user, no state":       {`{"userId":"u"}`, object{"userId": "u"}},
		"no state":               {`{"state":null}`, object{}},
		"state is not an object": {`{"state":"on"}`, object{"state": "on"}},
		"state among others":     {`{"state":{"a":1},"b":2}`, object{"state": object{"a": 1.0}, "b": 2.0}},
		"any JSON, any key":      {`{"a.b":[1,{"c":null}],"ü":"\u00e9"}`, object{"a.b": []any{1.0, object{"c": nil}}, "ü": "é"}},
		"temp: is not kept":      {`{"temp:t":1,"k":2}`, object{"k": 2.0}},
		"user: is shared":        {`{"user:u":1}`, object{"user:u": 1.0}},
		"snake_case data stay":   {`{"my_key":{"inner_key":1}}`, object{"my_key": object{"inner_key": 1.0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTalk(t)
			if diff := cmp.Diff(tt.want, s.create(t, tt.body).State); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestC07_CreateWithoutState(t *testing.T) {
	t.Parallel()
	none := testkit.Header("Content-Type", "")
	for name, tt := range map[string]struct {
		body    any
		options []func(*http.Request)
	}{
		"no body, no content type": {nil, nil},
		"no body":                  {nil, []func(*http.Request){testkit.Header("Content-Type", "application/json")}},
		"empty object":             {`{}`, nil},
		"null":                     {`null`, nil},
		"no content type":          {`{}`, []func(*http.Request){none}},
		"charset":                  {`{}`, []func(*http.Request){testkit.Header("Content-Type", "application/json; charset=utf-8")}},
		"a kind of JSON":           {`{}`, []func(*http.Request){testkit.Header("Content-Type", "application/vnd.x+json")}},
		"in chunks":                {strings.NewReader(`{}`), nil},
		"in chunks, empty":         {strings.NewReader(``), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTalk(t)
			got := s.create(t, tt.body, tt.options...)
			want := Session{ID: "s1", AppName: "weather", UserID: s.User, State: object{}, Events: []Event{}, LastUpdateTime: got.LastUpdateTime}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.body, _ = tt.body.(string); tt.body == "" {
				return // a reader has been read
			}
			s.Do(t, http.MethodPost, s.sessions(), tt.body, tt.options...).Want(t, http.StatusOK)
		})
	}
}

func TestC08_CreateExisting(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	s.create(t, `{"a":1}`)
	const want = `{"error":"Session already exists: s1","detail":"Session already exists: s1"}`
	for path, body := range map[string]string{s.path(): `{"a":2}`, s.sessions(): `{"sessionId":"s1"}`} {
		if got := string(s.Do(t, http.MethodPost, path, body).Want(t, http.StatusConflict).Body); got != want {
			t.Errorf("got %s", got)
		}
	}
	if diff := cmp.Diff(object{"a": 1.0}, s.get(t).State); diff != "" {
		t.Errorf("the refused creation changed the state (-want +got):\n%s", diff)
	}
}

func TestC09_CreateWithGeneratedID(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	ids := map[string]bool{}
	for _, body := range []any{nil, nil, `{}`, `{"sessionId":""}`, `{"sessionId":null}`} {
		var made Session
		s.Do(t, http.MethodPost, s.sessions(), body).Want(t, http.StatusOK).Into(t, &made)
		ids[made.ID] = true
	}
	if len(ids) != 5 || ids[""] {
		t.Errorf("ids %v", ids)
	}
}

func TestC10_CreateWithIDInBody(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	for id, body := range map[string]string{"x1": `{"sessionId":"x1","state":{"a":1}}`, "x2": `{"session_id":"x2","state":{"a":1}}`} {
		var made Session
		s.Do(t, http.MethodPost, s.sessions(), body, testkit.Odd).Want(t, http.StatusOK).Into(t, &made)
		if made.ID != id || made.State["a"] != 1.0 {
			t.Errorf("%s made %+v", body, made)
		}
	}
}

func TestC11_Import(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	var made Session
	s.Do(t, http.MethodPost, s.sessions(), `{"state":{"a":1},"events":[
		{"author":"user","invocationId":"i","content":{"role":"user","parts":[{"text":"hi"}]}},
		{"author":"weather_agent","invocation_id":"i","id":"kept","timestamp":1700000000.5,"content":{"role":"model","parts":[{"text":"hello"}]}}]}`,
	).Want(t, http.StatusOK).Into(t, &made)
	wantBrief(t, made.Events, "user: hi", "weather_agent: hello")
	if e := made.Events[1]; e.ID != "kept" || e.InvocationID != "i" || e.Timestamp != 1700000000.5 {
		t.Errorf("the event was changed: %+v", e)
	}
	if e := made.Events[0]; e.ID == "" || e.Timestamp == 0 {
		t.Errorf("the event lacks an id or a time: %+v", e)
	}
	s.ID = made.ID
	if diff := cmp.Diff(made, s.get(t)); diff != "" {
		t.Errorf("what is read is not what was made (-made +read):\n%s", diff)
	}
	wantBrief(t, s.say(t, "good morning"), "weather_agent: You said: good morning")
}

// An exported session is read back as it was.
func TestImportOfAnExport(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.say(t, "weather in Rome")
	old := s.get(t)
	var made Session
	s.Do(t, http.MethodPost, s.sessions(), object{"state": old.State, "events": rawEvents(t, s)}).Want(t, http.StatusOK).Into(t, &made)
	if diff := cmp.Diff(old.Events, made.Events); diff != "" {
		t.Errorf("events (-old +new):\n%s", diff)
	}
}

func rawEvents(t *testing.T, s *talk) any {
	t.Helper()
	var session object
	s.Do(t, http.MethodGet, s.path(), nil).Want(t, http.StatusOK).Into(t, &session)
	return session["events"]
}

func TestImportRefused(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{
		"long-running": `{"author":"a","longRunningToolIds":["c"]}`,
		"actions":      `{"author":"a","actions":{"stateDelta":{"k":1}}}`,
		"partial":      `{"author":"a","partial":true}`,
		"open call":    `{"author":"a","content":{"parts":[{"functionCall":{"id":"c","name":"f"}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTalk(t)
			f := refusal(t, s.Do(t, http.MethodPost, s.path(), `{"events":[`+event+`]}`), http.StatusBadRequest)
			if !strings.HasPrefix(f.Error, "Session initialization event 0 ") {
				t.Errorf("error %q", f.Error)
			}
			s.Do(t, http.MethodGet, s.path(), nil).Want(t, http.StatusNotFound)
		})
	}
}

func TestC16_GetMissing(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	for _, app := range []string{"weather", "gone"} {
		s.App = app
		if f := refusal(t, s.Do(t, http.MethodGet, s.path(), nil), http.StatusNotFound); !strings.Contains(f.Error, "Session not found") {
			t.Errorf("error %q", f.Error)
		}
	}
}

func TestC17_Patch(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	s.create(t, `{"old":1,"kept":true}`)
	var got Session
	s.Do(t, http.MethodPatch, s.path(), `{"stateDelta":{"visit_count":5,"old":null,"temp:t":1}}`).Want(t, http.StatusOK).Into(t, &got)
	if diff := cmp.Diff(object{"visit_count": 5.0, "kept": true}, got.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if len(got.Events) != 1 {
		t.Fatalf("events %q", brief(got.Events))
	}
	e := got.Events[0]
	if e.Author != "user" || !strings.HasPrefix(e.InvocationID, "p-") || e.Content != nil {
		t.Errorf("event %+v", e)
	}
	if diff := cmp.Diff(object{"visit_count": 5.0, "old": nil}, e.Actions.StateDelta); diff != "" {
		t.Errorf("state delta (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, s.get(t)); diff != "" {
		t.Errorf("what is read is not what was answered (-answered +read):\n%s", diff)
	}
}

func TestC18_PatchInSnakeCase(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.Do(t, http.MethodPatch, s.path(), `{"state_delta":{"k":1},"foo":"ignored"}`, testkit.Odd).Want(t, http.StatusOK)
	if got := s.get(t).State["k"]; got != 1.0 {
		t.Errorf("k is %v", got)
	}
}

func TestC19_PatchRefused(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	refusal(t, s.Do(t, http.MethodPatch, s.path(), `{"stateDelta":{}}`), http.StatusNotFound)
	s.create(t, nil)
	for _, body := range []any{nil, `{}`, `{"stateDelta":null}`, `{"stateDelta":[]}`, `[]`, `{`} {
		refusal(t, s.Do(t, http.MethodPatch, s.path(), body), http.StatusUnprocessableEntity)
	}
	if got := s.get(t).Events; len(got) != 0 {
		t.Errorf("a refused change left %q", brief(got))
	}
}

func TestC20_Delete(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.say(t, "hello")
	for range 2 {
		if got := string(s.Do(t, http.MethodDelete, s.path(), nil).Want(t, http.StatusOK).Body); got != "null" {
			t.Errorf("body %q", got)
		}
	}
	refusal(t, s.Do(t, http.MethodGet, s.path(), nil), http.StatusNotFound)
	if made := s.create(t, nil); len(made.Events) != 0 {
		t.Errorf("the old events are back: %q", brief(made.Events))
	}
}
