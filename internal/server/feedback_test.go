package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/feedback"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
)

func feedbackOf(t *testing.T, srv http.Handler, session string) string {
	t.Helper()
	rec := do(t, srv, "GET", session+"/feedback", "")
	wantStatus(t, rec, http.StatusOK)
	var list []feedback.Feedback
	if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		out = append(out, f.Author+" "+f.Rating+" "+f.Note)
	}
	return strings.Join(out, ", ")
}

// Feedback is in the log, and neither the model nor the conversation knows of it.
func TestFeedback(t *testing.T) {
	t.Parallel()
	model := scripted.New(scripted.Say("Hello."), scripted.Say("Again."))
	srv := serve(t, scriptedApp(t, model))
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	const message = `{"appName":"weather","userId":"u","sessionId":"s1","newMessage":{"parts":[{"text":"hi"}]},"customMetadata":{"feedback":{"runId":"x","author":"eve","rating":"up"}}}`
	first := do(t, srv, "POST", "/run", message)
	wantStatus(t, first, http.StatusOK)
	path := session1 + "/runs/" + runOf(first) + "/feedback"
	give := func(status int, body string) string {
		t.Helper()
		rec := do(t, srv, "POST", path, body)
		wantStatus(t, rec, status)
		return rec.Body.String()
	}
	want(t, "none yet", "", feedbackOf(t, srv, session1)) // that of the run's metadata does not count
	give(200, `{"rating":"up"}`)
	give(200, `{"rating":"down","note":"too short","author":"ann"}`)
	want(t, "of two", "u up , ann down too short", feedbackOf(t, srv, session1))
	once := give(200, `{"rating":"down","note":"wrong"}`)
	want(t, "the same again", once, give(200, `{"rating":"down","note":"wrong"}`))
	want(t, "changed", "u down wrong, ann down too short", feedbackOf(t, srv, session1))
	events := strings.Count(do(t, srv, "GET", session1, "").Body.String(), `"invocationId"`)
	want(t, "events: message, answer, three changes", 5, events)

	wantStatus(t, do(t, srv, "POST", "/run", message), http.StatusOK)
	if requests := model.Requests(); len(requests) != 2 || len(requests[1].Contents()) != 3 {
		t.Errorf("the model gets %d contents, want the two messages and its answer", len(requests[1].Contents()))
	}

	// A fork and an import have it, and can be rated.
	wantStatus(t, do(t, srv, "POST", session1+"/fork", `{"sessionId":"s2"}`), http.StatusOK)
	fork := strings.Replace(session1, "s1", "s2", 1)
	wantStatus(t, do(t, srv, "POST", strings.Replace(path, "/s1/", "/s2/", 1), `{"rating":"up"}`), http.StatusOK)
	want(t, "of the fork", "u up , ann down too short", feedbackOf(t, srv, fork))
	exported := do(t, srv, "GET", session1+"/export", "").Body.String()
	other := strings.Replace(session1, "s1", "s3", 1)
	wantStatus(t, do(t, srv, "POST", other+"/import", exported, "Content-Type: application/x-ndjson"), http.StatusOK)
	want(t, "of the import", "u down wrong, ann down too short", feedbackOf(t, srv, other))

	give(200, `{}`)
	want(t, "removed", "ann down too short", feedbackOf(t, srv, session1))
	give(422, `{"rating":"five"}`)
	give(422, `{"note":"`+strings.Repeat("x", 4001)+`"}`)
	give(422, ``)
	wantStatus(t, do(t, srv, "POST", session1+"/runs/none/feedback", `{"rating":"up"}`), http.StatusNotFound)
	wantStatus(t, do(t, srv, "GET", session1+"x/feedback", ""), http.StatusNotFound)
}

// The feedback of a session does not grow without bounds.
func TestTooMuchFeedback(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripts(t, scripted.Say("Hello.")))
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	rec := do(t, srv, "POST", "/run", `{"appName":"weather","userId":"u","sessionId":"s1","newMessage":{"parts":[{"text":"hi"}]}}`)
	var log strings.Builder
	log.WriteString(do(t, srv, "GET", session1+"/export", "").Body.String())
	for i := range 1000 {
		fmt.Fprintf(&log, `{"id":"f%d","author":"user","invocationId":"p-%d","timestamp":1,"actions":{},"customMetadata":{"feedback":{"runId":%q,"author":"u","rating":"down"}}}`+"\n", i, i, runOf(rec))
	}
	full := strings.Replace(session1, "s1", "s2", 1)
	wantStatus(t, do(t, srv, "POST", full+"/import", log.String(), "Content-Type: application/x-ndjson"), http.StatusOK)
	path := full + "/runs/" + runOf(rec) + "/feedback"
	wantStatus(t, do(t, srv, "POST", path, `{"rating":"up"}`), http.StatusConflict)
	wantStatus(t, do(t, srv, "POST", path, `{"rating":"down"}`), http.StatusOK) // no change
}

// The feedback to runs of all sessions of an application is listed, the newest first.
func TestAllFeedback(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripts(t, scripted.Say("Hello, \n Alice."), scripted.Say("Hello, Bob."), scripted.Say("Again.")))
	say := func(user, text string) string {
		t.Helper()
		do(t, srv, "POST", "/apps/weather/users/"+user+"/sessions/s1", "")
		rec := do(t, srv, "POST", "/run", `{"appName":"weather","userId":"`+user+`","sessionId":"s1","newMessage":{"parts":[{"text":"`+text+`"}]}}`)
		wantStatus(t, rec, http.StatusOK)
		return runOf(rec)
	}
	give := func(user, id, body string) {
		t.Helper()
		wantStatus(t, do(t, srv, "POST", "/apps/weather/users/"+user+"/sessions/s1/runs/"+id+"/feedback", body), http.StatusOK)
	}
	type given struct {
		UserID, SessionID, RunID, Author, Rating, Note, EventID, Message, Answer string
		Timestamp                                                                float64
	}
	list := func(query string) (list []given, link string) {
		t.Helper()
		rec := do(t, srv, "GET", "/apps/weather/feedback"+query, "")
		wantStatus(t, rec, http.StatusOK)
		if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
			t.Fatalf("%v: %s", err, rec.Body)
		}
		return list, rec.Header().Get("Link")
	}
	authors := func(query string) string {
		t.Helper()
		all, _ := list(query)
		names := make([]string, len(all))
		for i, f := range all {
			names[i] = f.Author
		}
		return strings.Join(names, " ")
	}
	want(t, "none yet", "[]", strings.TrimSpace(do(t, srv, "GET", "/apps/weather/feedback", "").Body.String()))
	alice, bob, again := say("alice", "I am Alice."), say("bob", "I am Bob."), say("alice", "Once more?")
	give("alice", alice, `{"rating":"up"}`)
	give("bob", bob, `{"rating":"down","note":"too short"}`)
	give("alice", again, `{"rating":"down","author":"ann"}`)
	give("alice", again, `{"note":"why?"}`)

	all, _ := list("")
	if len(all) != 4 {
		t.Fatalf("it lists %+v", all)
	}
	first := all[3]
	if first.Timestamp == 0 {
		t.Error("it has no time")
	}
	events := do(t, srv, "GET", "/apps/weather/users/alice/sessions/s1", "").Body.String()
	if first.EventID == "" || !strings.Contains(events, `"id":"`+first.EventID+`"`) {
		t.Errorf("its first event is %q", first.EventID)
	}
	first.Timestamp, first.EventID = 0, ""
	want(t, "the oldest", given{UserID: "alice", SessionID: "s1", RunID: alice, Author: "alice", Rating: "up", Message: "I am Alice.", Answer: "Hello, Alice."}, first)
	for query, names := range map[string]string{
		"": "alice ann bob alice", "?rating=down": "ann bob", "?rating=up": "alice", "?hasNote=true": "alice bob", "?has_note=true&user_id=bob": "bob", "?hasNote=false&userId=alice": "alice ann alice",
		"?since=1": "alice ann bob alice", "?before=1": "", fmt.Sprintf("?since=%f", all[1].Timestamp): "alice ann", fmt.Sprintf("?before=%f", all[1].Timestamp): "bob alice", "?userId=eve": "",
	} {
		want(t, query, names, authors(query))
	}
	page, link := list("?rating=down&pageSize=1")
	if len(page) != 1 || page[0].Author != "ann" || !strings.Contains(link, "rating=down") {
		t.Fatalf("the first page has %+v, and then %s", page, link)
	}
	next := link[strings.Index(link, "?"):strings.Index(link, ">")]
	if page, link = list(next); len(page) != 1 || page[0].Author != "bob" || link != "" {
		t.Errorf("the second page has %+v, and then %s", page, link)
	}
	give("bob", bob, `{}`)
	wantStatus(t, do(t, srv, "DELETE", "/apps/weather/users/alice/sessions/s1", ""), http.StatusOK)
	want(t, "removed", "", authors(""))

	for _, query := range []string{"?rating=five", "?hasNote=yes", "?since=x", "?before=-1", "?pageToken=x", "?pageSize=0"} {
		if rec := do(t, srv, "GET", "/apps/weather/feedback"+query, ""); rec.Code != http.StatusUnprocessableEntity && rec.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, rec.Code, rec.Body)
		}
	}
	wantStatus(t, do(t, srv, "GET", "/apps/nope/feedback", ""), http.StatusNotFound)
	cannot := serve(t, weather(), func(o *server.Options) { o.Store.Feedback = nil })
	wantStatus(t, do(t, cannot, "GET", "/apps/weather/feedback", ""), http.StatusNotImplemented)
}

// pages notes the sizes of the pages that are asked for.
type pages struct{ sizes []int }

func (p *pages) Search(_ context.Context, _, _, _ string, page session.Page) ([]*session.Found, string, error) {
	p.sizes = append(p.sizes, page.Size)
	return nil, "", nil
}

func (p *pages) ListFeedback(_ context.Context, _ session.FeedbackQuery, page session.Page) ([]*session.Feedback, string, error) {
	p.sizes = append(p.sizes, page.Size)
	return nil, "", nil
}

// A page has the size that the contract says, with a token and without.
func TestSizesOfPages(t *testing.T) {
	t.Parallel()
	feedback, search := &pages{}, &pages{}
	srv := serve(t, weather(), func(o *server.Options) {
		o.Store.Feedback, o.Store.Searcher = feedback, searching{o.Store.Searcher, search}
	})
	do(t, srv, "POST", session1, "")
	for _, query := range []string{"", "&pageToken=x", "&page_token=x", "&pageSize=7&pageToken=x"} {
		wantStatus(t, do(t, srv, "GET", "/apps/weather/feedback?rating=up"+query, ""), http.StatusOK)
		wantStatus(t, do(t, srv, "GET", "/apps/weather/users/u/search?q=x"+query, ""), http.StatusOK)
	}
	want(t, "of feedback", []int{50, 50, 50, 7}, feedback.sizes)
	want(t, "of a search", []int{20, 20, 20, 7}, search.sizes)
}

type searching struct {
	session.Searcher
	pages *pages
}

func (s searching) Search(ctx context.Context, app, user, words string, page session.Page) ([]*session.Found, string, error) {
	return s.pages.Search(ctx, app, user, words, page)
}

// A caller sees the feedback in the sessions that it may read.
func TestAllFeedbackOfCallers(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripts(t, scripted.Say("Hello."), scripted.Say("Hello.")), func(o *server.Options) { o.Gate = access.Public(false) })
	for _, user := range []string{"alice", "bob"} {
		do(t, srv, "POST", "/apps/weather/users/"+user+"/sessions/s1", "")
		rec := do(t, srv, "POST", "/run", `{"appName":"weather","userId":"`+user+`","sessionId":"s1","newMessage":{"parts":[{"text":"hi"}]}}`)
		wantStatus(t, do(t, srv, "POST", "/apps/weather/users/"+user+"/sessions/s1/runs/"+runOf(rec)+"/feedback", `{"rating":"up"}`), http.StatusOK)
	}
	// Callers who are not authenticated do not learn who the users are.
	wantStatus(t, do(t, srv, "GET", "/apps/weather/feedback", ""), http.StatusForbidden)
	if rec := do(t, srv, "GET", "/apps/weather/feedback?userId=bob", ""); rec.Code != http.StatusOK || strings.Count(rec.Body.String(), `"runId"`) != 1 {
		t.Errorf("of bob: %d %s", rec.Code, rec.Body)
	}
}
