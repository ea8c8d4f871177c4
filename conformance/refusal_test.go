package conformance

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// refused is a run request that is not accepted.
type refused struct {
	edit   func(req object) // what is wrong with it
	status int
	text   string // in the error
	loc    []any  // of the first detail, if it is a list
}

func set(name string, value any) func(object) { return func(req object) { req[name] = value } }
func unset(name string) func(object)          { return func(req object) { delete(req, name) } }
func send(message string) func(object)        { return set("newMessage", raw(message)) }

// wantRefused makes sure that both endpoints refuse the same requests in the
// same words, before a run or a stream begins, and that nothing is left of them.
func wantRefused(t *testing.T, cases map[string]refused) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "weather")
			var bodies [][]byte
			for _, path := range []string{"/run", "/run_sse"} {
				req := s.request("hello")
				tt.edit(req)
				r := s.Do(t, http.MethodPost, path, req)
				f := refusal(t, r, tt.status)
				if !strings.Contains(f.Error, tt.text) {
					t.Errorf("%s: error %q lacks %q", path, f.Error, tt.text)
				}
				wantLoc(t, f, tt.loc)
				bodies = append(bodies, r.Body)
			}
			if !bytes.Equal(bodies[0], bodies[1]) {
				t.Errorf("two answers:\n%s\n%s", bodies[0], bodies[1])
			}
			if got := s.get(t).Events; len(got) != 0 {
				t.Errorf("a refused message left %q", brief(got))
			}
		})
	}
}

// wantLoc compares the first place that the detail of a refusal names.
func wantLoc(t *testing.T, f Failure, want []any) {
	t.Helper()
	if want == nil {
		return
	}
	var list []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	(&testkit.Response{Body: f.Detail}).Into(t, &list)
	if diff := cmp.Diff(want, list[0].Loc); diff != "" {
		t.Errorf("loc (-want +got):\n%s", diff)
	}
}

func TestC25_C26_NoSession(t *testing.T) {
	t.Parallel()
	wantRefused(t, map[string]refused{
		"no session":      {set("sessionId", "none"), 404, "Session not found: none", nil},
		"of another user": {set("userId", "unknown"), 404, "Session not found: s1", nil},
	})
}

func TestC27_NoApp(t *testing.T) {
	t.Parallel()
	wantRefused(t, map[string]refused{
		"no app": {set("appName", "nope"), 404, "nope", nil},
	})
}

func TestC29_MissingMember(t *testing.T) {
	t.Parallel()
	wantRefused(t, map[string]refused{
		"appName":    {unset("appName"), 422, "appName", []any{"body", "appName"}},
		"userId":     {unset("userId"), 422, "userId", []any{"body", "userId"}},
		"sessionId":  {unset("sessionId"), 422, "sessionId", []any{"body", "sessionId"}},
		"newMessage": {unset("newMessage"), 422, "newMessage", []any{"body", "newMessage"}},
		"null":       {set("userId", nil), 422, "userId", []any{"body", "userId"}},
		"wrong type": {set("userId", 7), 422, "string", []any{"body", "userId"}},
	})
}

func TestC30_NoParts(t *testing.T) {
	t.Parallel()
	wantRefused(t, map[string]refused{
		"no parts":        {send(`{"parts":[]}`), 422, "No parts in the new_message", []any{"body", "newMessage", "parts"}},
		"no parts at all": {send(`{}`), 422, "No parts in the new_message", []any{"body", "newMessage", "parts"}},
	})
}

func TestC45_FunctionCall(t *testing.T) {
	t.Parallel()
	wantRefused(t, map[string]refused{
		"function call": {send(`{"parts":[{"functionCall":{"name":"f","args":{}}}]}`), 422, "User message cannot contain function calls", []any{"body", "newMessage", "parts", 0.0}},
	})
}

func TestRunRefused(t *testing.T) {
	t.Parallel()
	wantRefused(t, map[string]refused{
		"streaming":           {set("streaming", "yes"), 422, "true or false", []any{"body", "streaming"}},
		"stateDelta":          {set("stateDelta", []int{}), 422, "object", []any{"body", "stateDelta"}},
		"empty part":          {send(`{"parts":[{"text":"a"},{}]}`), 422, "exactly one payload", []any{"body", "newMessage", "parts", 1.0}},
		"two payloads":        {send(`{"parts":[{"text":"a","fileData":{"fileUri":"f"}}]}`), 422, "exactly one payload", []any{"body", "newMessage", "parts", 0.0}},
		"role":                {send(`{"role":"model","parts":[{"text":"a"}]}`), 422, "user", []any{"body", "newMessage", "role"}},
		"no base64":           {send(`{"parts":[{"inlineData":{"data":"!"}}]}`), 422, "base64", []any{"body", "newMessage", "parts", 0.0, "inlineData", "data"}},
		"response without id": {send(`{"parts":[{"functionResponse":{"name":"f"}}]}`), 422, "id", []any{"body", "newMessage", "parts", 0.0, "functionResponse", "id"}},
		"response to nothing": {send(`{"parts":[{"functionResponse":{"id":"c-77","name":"f"}}]}`), 422, "c-77", nil},
		"empty user":          {set("userId", ""), 400, "user id", nil},
		"empty session":       {set("sessionId", ""), 400, "session id", nil},
		"empty app":           {set("appName", ""), 400, "application name", nil},
		"control character":   {set("sessionId", "a\nb"), 400, "session id", nil},
		"overlong":            {set("userId", strings.Repeat("ü", 257)), 400, "user id", nil},
	})
}

func TestC28_NotJSON(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	paths := map[string]string{"/run": "POST", "/run_sse": "POST", s.sessions(): "POST", s.sessions() + "/new": "POST", s.path(): "PATCH"}
	for path, method := range paths {
		for _, body := range []string{`{bad`, `{`, `{"a":1} {}`, `nul`, `"text"`, `[]`, "{\"a\":\"\xff\"}", `{"a":1,}`} {
			f := refusal(t, s.Do(t, method, path, body), http.StatusUnprocessableEntity)
			wantLoc(t, f, []any{"body"})
		}
	}
	for path, method := range map[string]string{"/run": "POST", "/run_sse": "POST", s.path(): "PATCH"} {
		refusal(t, s.Do(t, method, path, nil), http.StatusUnprocessableEntity)
	}
}

func TestWrongContentType(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	for path, method := range map[string]string{"/run": "POST", "/run_sse": "POST", s.sessions(): "POST", s.sessions() + "/new": "POST", s.path(): "PATCH"} {
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", ";"} {
			f := refusal(t, s.Do(t, method, path, s.request("hello"), testkit.Header("Content-Type", kind)), http.StatusUnsupportedMediaType)
			if !strings.Contains(f.Error, "application/json") {
				t.Errorf("error %q does not say what to send", f.Error)
			}
		}
	}
}

func TestHostileIdentifiers(t *testing.T) {
	t.Parallel()
	c := client(t)
	long := strings.Repeat("x", 257)
	for _, id := range []string{"%00", "a%0Ab", "%1b%5b31m", "%7F", "%C2%85", "%FF", long, strings.Repeat("%C3%BC", 257)} {
		for _, path := range []string{
			"/apps/" + id + "/users/u/sessions", "/apps/weather/users/" + id + "/sessions",
			"/apps/weather/users/" + id + "/sessions/s", "/apps/weather/users/u/sessions/" + id,
		} {
			refusal(t, c.Do(t, http.MethodPost, path, nil), http.StatusBadRequest)
			refusal(t, c.Do(t, http.MethodGet, path, nil), http.StatusBadRequest)
		}
		refusal(t, c.Do(t, http.MethodGet, "/apps/"+id+"/app-info", nil), http.StatusBadRequest)
	}
	for _, path := range []string{"/apps//users/u/sessions", "/apps/weather/users//sessions", "/apps/weather/users/../sessions", "//run"} {
		refusal(t, c.Do(t, http.MethodPost, path, nil), http.StatusBadRequest)
	}
	refusal(t, c.Do(t, http.MethodPost, "/apps/weather/users/u/sessions", object{"sessionId": long}), http.StatusBadRequest)
}

// What is not hostile works, however odd it looks.
func TestOddIdentifiers(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a/b", "a b", "%2F", "ü", "🦜", `"`, "a?b#c", "e@x.org", strings.Repeat("ü", 256)} {
		s := newTalk(t)
		s.ID = id
		if made := s.create(t, nil); made.ID != id {
			t.Errorf("%q came back as %q", id, made.ID)
		}
		wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
		ids, _ := s.list(t, s.sessions())
		if !slices.Equal(ids, []string{id}) || len(s.get(t).Events) != 2 {
			t.Errorf("%q: listed as %q", id, ids)
		}
		s.Do(t, http.MethodDelete, s.path(), nil).Want(t, http.StatusOK)
	}
}
