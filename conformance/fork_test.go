package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// fork makes a session of this one as it was after an event.
func (s *talk) fork(t *testing.T, at string) (*talk, Session) {
	t.Helper()
	made := *s
	made.ID = unique("fork")
	var got Session
	s.Do(t, http.MethodPost, s.path()+"/fork", object{"atEventId": at, "sessionId": made.ID}).Want(t, http.StatusOK).Into(t, &got)
	return &made, got
}

func (s *talk) rewind(t *testing.T, run string) Session {
	t.Helper()
	var got Session
	s.Do(t, http.MethodPost, s.path()+"/rewind", object{"rewindBeforeInvocationId": run}).Want(t, http.StatusOK).Into(t, &got)
	return got
}

// stateAfter is the session's own state after some events.
func stateAfter(events []Event) object {
	state := object{}
	for _, e := range events {
		for k, v := range e.Actions.StateDelta {
			if strings.HasPrefix(k, "user:") || strings.HasPrefix(k, "app:") {
				continue
			}
			if v == nil {
				delete(state, k)
			} else {
				state[k] = v
			}
		}
	}
	return state
}

func own(state object) object {
	mine := object{}
	for k, v := range state {
		if !strings.HasPrefix(k, "user:") && !strings.HasPrefix(k, "app:") {
			mine[k] = v
		}
	}
	return mine
}

// A session can be forked at every event, and both continue by themselves.
func TestForkEverywhere(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	for _, text := range []string{"keep color red", "pair", "keep color blue", "long", "silent", "broken"} {
		s.say(t, text)
	}
	history := s.get(t).Events
	for i, e := range history {
		made, got := s.fork(t, e.ID)
		if diff := cmp.Diff(history[:i+1], got.Events[:i+1]); diff != "" {
			t.Errorf("forked at %d (-want +got):\n%s", i, diff)
		}
		if open := len(got.Events) - i - 1; open > 1 || open == 1 && got.Events[i+1].ErrorCode != "INVOCATION_ABORTED" {
			t.Errorf("forked at %d with %q", i, brief(got.Events[i+1:]))
		}
		wantAnswered(t, got.Events)
		if diff := cmp.Diff(stateAfter(history[:i+1]), own(got.State)); diff != "" {
			t.Errorf("state at %d (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(got, made.get(t)); diff != "" {
			t.Errorf("forked at %d (-answered +read):\n%s", i, diff)
		}
		wantBrief(t, made.say(t, fmt.Sprint("keep color c", i))[2:], `weather_agent: keep returned {"status":"success"}`)
		if got := made.get(t).State["color"]; got != fmt.Sprint("c", i) {
			t.Errorf("the color of the fork is %v", got)
		}
	}
	if diff := cmp.Diff(history, s.get(t).Events); diff != "" {
		t.Errorf("the original (-before +after):\n%s", diff)
	}
	wantBrief(t, s.say(t, "recall color")[2:], `weather_agent: recall returned {"found":true,"value":"blue"}`)
}

// Without an event a fork is of everything, and without an id it gets one.
func TestForkWhole(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	asked := s.say(t, "long")
	want := s.get(t).Events
	for _, body := range []any{nil, object{}, object{"atEventId": nil, "sessionId": nil}} {
		var got Session
		s.Do(t, http.MethodPost, s.path()+"/fork", body).Want(t, http.StatusOK).Into(t, &got)
		if diff := cmp.Diff(want, got.Events); diff != "" || got.ID == s.ID || got.ID == "" {
			t.Errorf("fork %q (-want +got):\n%s", got.ID, diff)
		}
		made := *s
		made.ID = got.ID
		// A call that waits does so in both.
		answer := Part{FunctionResponse: &FunctionResponse{ID: asked[0].call(t).ID, Name: "ask_approval", Response: object{"ok": true}}}
		wantBrief(t, made.say(t, answer), `weather_agent: ask_approval returned {"ok":true}`)
	}
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", object{"sessionId": s.ID}), http.StatusConflict)
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", object{"atEventId": "nope"}), http.StatusUnprocessableEntity)
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", object{"atEventId": 1}), http.StatusUnprocessableEntity)
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", object{"sessionId": []any{}}), http.StatusUnprocessableEntity)
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", object{"sessionId": "a\nb"}), http.StatusBadRequest)
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", `[`), http.StatusUnprocessableEntity)
	refusal(t, s.Do(t, http.MethodPost, s.sessions()+"/none/fork", nil), http.StatusNotFound)
}

// A fork remembers where it comes from, and all branches of a session are found.
// Before its first run, a session is empty.
func TestForkBefore(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	first, second := s.say(t, "keep color red"), s.say(t, "keep color blue")
	history := s.get(t)
	before := func(of *talk, run string) (*talk, Session) {
		t.Helper()
		made := *of
		made.ID = unique("branch")
		var got Session
		of.Do(t, http.MethodPost, of.path()+"/fork", object{"beforeInvocationId": run, "sessionId": made.ID}).Want(t, http.StatusOK).Into(t, &got)
		return &made, got
	}
	last := history.Events[len(first)]
	branch, got := before(s, second[0].InvocationID)
	if diff := cmp.Diff(&Origin{s.ID, last.ID, s.ID}, got.ForkedFrom); diff != "" || got.State["color"] != "red" {
		t.Errorf("color %v, origin (-want +got):\n%s", got.State["color"], diff)
	}
	if diff := cmp.Diff(history.Events[:len(first)+1], got.Events); diff != "" {
		t.Errorf("before the second run (-want +got):\n%s", diff)
	}
	branch.say(t, "keep color green")
	deeper, got := before(branch, first[0].InvocationID)
	if diff := cmp.Diff(&Origin{branch.ID, "", s.ID}, got.ForkedFrom); diff != "" || len(got.Events) != 0 || got.State["color"] != nil {
		t.Errorf("color %v, %d events, origin (-want +got):\n%s", got.State["color"], len(got.Events), diff)
	}
	if diff := cmp.Diff(got, deeper.get(t)); diff != "" {
		t.Errorf("(-answered +read):\n%s", diff)
	}
	var list []Session
	s.Do(t, http.MethodGet, s.sessions()+"?branchesOf="+s.ID, nil).Want(t, http.StatusOK).Into(t, &list)
	var ids []string
	for _, one := range list {
		ids = append(ids, one.ID)
	}
	if want := []string{deeper.ID, branch.ID, s.ID}; !slices.Equal(ids, want) {
		t.Errorf("the branches are %v, want %v", ids, want)
	}
	if diff := cmp.Diff(history, s.get(t)); diff != "" {
		t.Errorf("the original (-before +after):\n%s", diff)
	}
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", object{"beforeInvocationId": "nope"}), http.StatusUnprocessableEntity)
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/fork", object{"beforeInvocationId": second[0].InvocationID, "atEventId": last.ID}), http.StatusUnprocessableEntity)
}

func TestRewindTwice(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	turns := make([][]Event, 0, 4)
	states := []object{s.get(t).State}
	for _, text := range []string{"keep color red", "keep color blue", "keep size big", "weather"} {
		turns = append(turns, s.say(t, text))
		states = append(states, s.get(t).State)
	}
	history := s.get(t).Events
	wantAt := func(got Session, turns int) {
		t.Helper()
		if diff := cmp.Diff(history[:4*turns], got.Events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(states[turns], got.State); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(got, s.get(t)); diff != "" {
			t.Errorf("(-answered +read):\n%s", diff)
		}
	}
	wantAt(s.rewind(t, turns[2][0].InvocationID), 2)
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/rewind", object{"rewindBeforeInvocationId": turns[3][0].InvocationID}), http.StatusUnprocessableEntity)
	wantAt(s.rewind(t, turns[1][0].InvocationID), 1)
	wantBrief(t, s.say(t, "recall color")[2:], `weather_agent: recall returned {"found":true,"value":"red"}`)
	wantAt(s.rewind(t, turns[0][0].InvocationID), 0)
	s.say(t, "hello")
	if got := s.get(t).Events; len(got) != 2 {
		t.Errorf("after all: %q", brief(got))
	}
	// Three rewinds are listed beside six runs.
	if list := s.runs(t); len(list) != 9 {
		t.Errorf("%d runs", len(list))
	}
	// What was rewound can still be read as a run.
	if kept, _ := stored(s.follow(t, turns[3][0].InvocationID, "")); len(kept) != 3 {
		t.Errorf("%d events of a run that was rewound", len(kept))
	}
	for _, body := range []any{nil, object{}, object{"rewindBeforeInvocationId": nil}, object{"rewindBeforeInvocationId": ""}, object{"rewindBeforeInvocationId": "nope"}, `{"a"`, object{"rewindBeforeInvocationId": 1}} {
		refusal(t, s.Do(t, http.MethodPost, s.path()+"/rewind", body), http.StatusUnprocessableEntity)
	}
	refusal(t, s.Do(t, http.MethodPost, s.sessions()+"/none/rewind", object{"rewindBeforeInvocationId": "e"}), http.StatusNotFound)
}

func TestRewindOfABusySession(t *testing.T) {
	t.Parallel()
	s, run, _ := busy(t)
	f := refusal(t, s.Do(t, http.MethodPost, s.path()+"/rewind", object{"rewindBeforeInvocationId": run.ID}), http.StatusConflict)
	if !strings.Contains(f.Error, run.ID) {
		t.Errorf("the error is %q", f.Error)
	}
	s.cancel(t, run.ID)
	s.ended(t, run.ID)
	if got := s.rewind(t, run.ID).Events; len(got) != 0 {
		t.Errorf("left %q", brief(got))
	}
}

var asLines = testkit.Header("Content-Type", "application/jsonl")

// What is exported and imported is the same session, byte by byte.
func TestExportImport(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	s.Do(t, http.MethodPost, s.path(), object{"state": object{"unit": "c", "n": raw("1.50"), "user:u": 1}}).Want(t, http.StatusOK)
	for _, text := range []string{"hello ü 🦜 \u2028 <b>", "keep color red", "pair", "broken", "errcode"} {
		s.say(t, text)
	}
	s.say(t, approve(s.ask(t), object{"status": "approved"}))
	s.rewind(t, s.say(t, "keep color blue")[0].InvocationID)
	s.Do(t, http.MethodPatch, s.path(), object{"stateDelta": object{"unit": nil, "more": object{"a": []any{1, nil}}}}).Want(t, http.StatusOK)
	r := s.Do(t, http.MethodGet, s.path()+"/export", nil).Want(t, http.StatusOK)
	if got := r.Header.Get("Content-Type"); got != "application/jsonl" {
		t.Errorf("content type %q", got)
	}
	export := string(r.Body)

	made := *s
	made.ID = unique("s")
	type bytewise struct {
		State  json.RawMessage
		Events json.RawMessage
	}
	var want, answered, got bytewise
	s.Do(t, http.MethodGet, s.path(), nil).Into(t, &want)
	s.Do(t, http.MethodPost, made.path()+"/import", export, asLines).Want(t, http.StatusOK).Into(t, &answered)
	s.Do(t, http.MethodGet, made.path(), nil).Into(t, &got)
	for _, b := range []bytewise{answered, got} {
		if string(b.Events) != string(want.Events) || string(b.State) != string(want.State) {
			t.Errorf("imported\n%s\n%s\nwant\n%s\n%s", b.State, b.Events, want.State, want.Events)
		}
	}
	again := strings.SplitN(string(s.Do(t, http.MethodGet, made.path()+"/export", nil).Body), "\n", 2)[1]
	if want := strings.SplitN(export, "\n", 2)[1]; again != want {
		t.Errorf("exported again\n%s\nwant\n%s", again, want)
	}
	refusal(t, s.Do(t, http.MethodPost, made.path()+"/import", export, asLines), http.StatusConflict)
	made.say(t, "hello")

	// Into another application, for another user, with other line ends.
	other := newTalk(t)
	other.App = "relay"
	s.Do(t, http.MethodPost, other.path()+"/import", strings.ReplaceAll(export, "\n", "\r\n\r\n"), testkit.Header("Content-Type", "application/x-ndjson")).Want(t, http.StatusOK).Into(t, &got)
	if string(got.Events) != string(want.Events) {
		t.Errorf("imported elsewhere\n%s", got.Events)
	}
}

// Nothing in a log that was imported waits for an answer: who wrote it may have
// put any question into it.
func TestImportOfWaitingCalls(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	id := s.ask(t)
	silent := s.say(t, "silent")[0].call(t).ID
	export := string(s.Do(t, http.MethodGet, s.path()+"/export", nil).Want(t, http.StatusOK).Body)
	made := *s
	made.ID = unique("s")
	s.Do(t, http.MethodPost, made.path()+"/import", export, asLines).Want(t, http.StatusOK)
	want := append(brief(s.get(t).Events), "weather_agent: ask_approval! ask_silently! INVOCATION_ABORTED")
	if diff := cmp.Diff(want, brief(made.get(t).Events)); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}
	refusal(t, s.Do(t, http.MethodPost, "/run", made.request(approve(id, object{"status": "approved"}))), http.StatusConflict)
	answer := FunctionResponse{ID: silent, Name: "ask_silently", Response: object{"ok": true}}
	refusal(t, s.Do(t, http.MethodPost, "/run", made.request(object{"functionResponse": answer})), http.StatusConflict)
	made.say(t, "hello")
	s.say(t, approve(id, object{"status": "approved"})) // where it was asked, it still can be
}

// Clients can neither write nor read what is for tools alone, by any way.
func TestSecretsAreForTools(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	const secret = "hunter2-secret"
	refused := func(r *testkit.Response) {
		t.Helper()
		if r.Want(t, http.StatusUnprocessableEntity); !strings.Contains(string(r.Body), "for tools alone") {
			t.Errorf("refused with %s", r.Body)
		}
	}
	refused(s.Do(t, http.MethodPost, s.path(), object{"state": object{"secret:a": secret}}))
	refused(s.Do(t, http.MethodPost, s.path(), object{"secret:a": secret}))
	refused(s.Do(t, http.MethodPost, strings.TrimSuffix(s.path(), "/"+s.ID), object{"sessionId": s.ID, "state": object{"secret:a": nil}}))
	s.Do(t, http.MethodPost, s.path(), object{"state": object{"open": 1}}).Want(t, http.StatusOK)
	refused(s.Do(t, http.MethodPatch, s.path(), object{"stateDelta": object{"secret:a": secret}}))
	for _, path := range []string{"/run", "/run_sse"} {
		refused(s.Do(t, http.MethodPost, path, with(s.request("hi"), "stateDelta", object{"secret:a": secret})))
	}
	refused(s.Do(t, http.MethodPost, s.path()+"/runs", with(s.request("hi"), "stateDelta", object{"secret:a": secret})))
	made := *s
	made.ID = unique("s")
	refused(s.Do(t, http.MethodPost, made.path()+"/import", `{"parley":1,"state":{"secret:a":1}}`, asLines))
	refused(s.Do(t, http.MethodPost, made.path()+"/import", `{"parley":1}`+"\n"+`{"id":"1","author":"a","actions":{"stateDelta":{"secret:a":1}}}`, asLines))

	// What a tool writes there is in no answer.
	s.run(t, s.request("keep secret:b "+"kept"))
	s.run(t, s.request("keep plain value"))
	for _, path := range []string{s.path(), strings.TrimSuffix(s.path(), "/"+s.ID), s.path() + "/export"} {
		if body := string(s.Do(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Body); strings.Contains(body, `"secret:b":`) {
			t.Errorf("%s has it: %s", path, body)
		}
	}
	var forked Session
	s.Do(t, http.MethodPost, s.path()+"/fork", object{}).Want(t, http.StatusOK).Into(t, &forked)
	if diff := cmp.Diff(object{"open": 1.0, "plain": "value"}, forked.State); diff != "" {
		t.Errorf("forked (-want +got):\n%s", diff)
	}
}

// A body that is not an export is refused with the number of the invalid line, and creates nothing.
func TestImportOfNonsense(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	const head, good = `{"parley":1,"state":{}}` + "\n", `{"id":"a","author":"user","invocationId":"e-1","timestamp":1}` + "\n"
	for body, text := range map[string]string{
		"":                                     "first line",
		"\n\n":                                 "first line",
		"nonsense":                             "first line",
		"[]":                                   "first line",
		"{}":                                   "first line",
		good:                                   "first line",
		`{"parley":2}`:                         "version 2",
		`{"parley":1,"state":7}` + "\n" + good: "first line",
		head + "nonsense":                      "Line 2",
		head + good + "{":                      "Line 3",
		head + "\n\n" + `{"id":"a","author":"user"} {}`:              "Line 4",
		head + `{"id":"a\u0000","author":"user"}`:                    "Line 2",
		head + `{"id":"a","invocationId":"e\u0000","author":"user"}`: "Line 2",
		head + good + good:                                                                        "Line 3",
		head + `{"id":"a"}`:                                                                       "Line 2",
		head + `{"author":"user"}`:                                                                "Line 2",
		head + `{"id":"a","author":"b","partial":true}`:                                           "Line 2",
		head + `{"id":"a","author":"b","timestamp":"now"}`:                                        "Line 2",
		head + `{"id":"a","author":"b","timestamp":1e12}`:                                         "Line 2",
		head + `{"id":"a","author":"b","content":{"role":"system","parts":[]}}`:                   "Line 2",
		head + `{"id":"a","author":"b","content":{"role":"user","parts":[{"text":1}]}}`:           "Line 2",
		head + `{"id":"a","author":"b","actions":{"stateDelta":[]}}`:                              "Line 2",
		head + "{\"id\":\"a\",\"author\":\"\xff\"}":                                               "Line 2",
		head + `{"id":"a","author":"b","content":{"role":"user","parts":[{"text":"a"},{}` + "]}}": "Line 2",
	} {
		f := refusal(t, s.Do(t, http.MethodPost, s.path()+"/import", body, asLines), http.StatusUnprocessableEntity)
		if !strings.Contains(f.Error, text) {
			t.Errorf("%q: error %q lacks %q", body, f.Error, text)
		}
	}
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/import", head, testkit.Header("Content-Type", "text/csv")), http.StatusUnsupportedMediaType)
	refusal(t, s.Do(t, http.MethodGet, s.path(), nil), http.StatusNotFound)
	refusal(t, s.Do(t, http.MethodGet, s.path()+"/export", nil), http.StatusNotFound)
	s.App = "nope"
	refusal(t, s.Do(t, http.MethodPost, s.path()+"/import", head, asLines), http.StatusNotFound)
}

// Lists can be filtered by what people see of sessions, and by time.
func TestListFilters(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	add := func(id string, meta any) {
		s.ID = id
		s.create(t, object{"state": object{"__session_metadata__": meta}})
	}
	add("a", object{"displayName": "Trip to Oslo", "labels": object{"kind": "trip", "year": "2026"}})
	add("b", object{"displayName": "Reise nach ÖSLO", "labels": object{"kind": "trip"}})
	add("c", object{"displayName": "100% a_b", "labels": object{"kind": "note:x", "": "e"}})
	add("d", object{"displayName": 7, "labels": []any{}})
	add("e", "nonsense")
	changed := s.get(t).LastUpdateTime
	s.ID = "d"
	s.Do(t, http.MethodPatch, s.path(), object{"stateDelta": object{"__session_metadata__": object{"displayName": "Now with a title"}}}).Want(t, http.StatusOK)
	latest := s.get(t).LastUpdateTime
	for query, want := range map[string]string{
		"":                                   "edcba",
		"title=":                             "edcba",
		"title=oslo":                         "a",
		"title=trip to":                      "a",
		"title=ösl":                          "b",
		"title=%":                            "c",
		"title=a_b":                          "c",
		"title=_":                            "c",
		"title=TITLE":                        "d",
		"title=nope":                         "",
		"label=kind:trip":                    "ba",
		"label=kind:trip&label=year:2026":    "a",
		"label=kind:note:x":                  "c",
		"label=kind:":                        "",
		"label=kind:trip&title=reise":        "b",
		fmt.Sprint("updatedSince=", latest):  "d",
		fmt.Sprint("updatedSince=", changed): "ed",
		fmt.Sprint("updatedBefore=", changed, "&label=kind:trip"):               "ba",
		fmt.Sprint("updatedSince=", changed, "&updatedBefore=", latest):         "e",
		"updatedSince=9999999999":                                               "",
		"updatedBefore=0.5":                                                     "",
		fmt.Sprintf("updatedSince=%.6f&updatedBefore=9999999999", changed-3600): "edcba",
	} {
		for _, size := range []int{0, 1, 2} {
			pairs := strings.Split(query, "&")
			if size > 0 {
				pairs = append(pairs, fmt.Sprint("pageSize=", size))
			}
			for i, p := range pairs {
				name, value, _ := strings.Cut(p, "=")
				pairs[i] = name + "=" + url.QueryEscape(value)
			}
			var got []string
			for path := s.sessions() + "?" + strings.Join(pairs, "&"); path != ""; {
				var ids []string
				ids, path = s.list(t, path)
				got = append(got, ids...)
			}
			if strings.Join(got, "") != want {
				t.Errorf("%s by %d: %q, want %q", query, size, got, want)
			}
		}
	}
	for _, bad := range []string{
		"label=kind", "label=", "label=:v", "label=a:1&label=a:2", "label=a:%00", "title=%ff", "title=%00",
		"updatedSince=x", "updatedSince=NaN", "updatedSince=-1", "updatedSince=Inf", "updatedBefore=1e12", "updatedBefore=2026-01-01",
	} {
		refusal(t, s.Do(t, http.MethodGet, s.sessions()+"?"+bad, nil), http.StatusUnprocessableEntity)
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	s.Do(t, http.MethodPost, s.path()+"?ttl=3600", nil).Want(t, http.StatusOK)
	s.Do(t, http.MethodPost, s.sessions()+"?ttl=1", object{"state": object{}}).Want(t, http.StatusOK)
	for _, bad := range []string{"0", "-1", "1.5", "1h", "never", "315360001", "99999999999999999999"} {
		for _, path := range []string{s.sessions(), s.sessions() + "/" + unique("s")} {
			f := refusal(t, s.Do(t, http.MethodPost, path+"?ttl="+bad, nil), http.StatusUnprocessableEntity)
			wantLoc(t, f, []any{"query", "ttl"})
		}
	}
	if ids, _ := s.list(t, s.sessions()); len(ids) != 2 || !slices.Contains(ids, s.ID) {
		t.Errorf("sessions %q", ids)
	}
}
