package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// A search finds what a user and the agent have said, of that user only.
func TestSearch(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather())
	say := func(user, id, text string) {
		path := "/apps/weather/users/" + user + "/sessions"
		do(t, srv, "POST", path+"/"+id, "")
		wantStatus(t, do(t, srv, "POST", "/run", `{"appName":"weather","userId":"`+user+`","sessionId":"`+id+`","newMessage":{"role":"user","parts":[{"text":"`+text+`"}]}}`), http.StatusOK)
	}
	say("alice", "a", "What is the weather in Paris?")
	say("alice", "b", "Tell me of <b>Paris</b> & more")
	say("bob", "a", "My secret is in Paris")
	type found struct {
		SessionID, EventID, Author string
		Timestamp                  float64
		Snippet                    []session.Snippet
	}
	search := func(user, query string) (list []found, link string) {
		t.Helper()
		rec := do(t, srv, "GET", "/apps/weather/users/"+user+"/search?"+query, "")
		wantStatus(t, rec, http.StatusOK)
		if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
			t.Fatalf("%v: %s", err, rec.Body)
		}
		return list, rec.Header().Get("Link")
	}
	list, _ := search("alice", "q=paris")
	said := map[string]int{}
	for _, f := range list {
		if f.EventID == "" || f.Timestamp == 0 || f.Author == "" {
			t.Errorf("it found %+v", f)
		}
		said[f.SessionID+" "+f.Author]++
	}
	if said["a user"] != 1 || said["b user"] != 1 {
		t.Errorf("alice finds %v", said)
	}
	if list, _ := search("alice", "q=secret"); len(list) != 0 {
		t.Errorf("alice finds what bob has said: %+v", list)
	}
	if list, _ := search("bob", "q=secr"); len(list) != 2 {
		t.Errorf("bob finds %+v", list)
	}
	if list, _ := search("alice", "q="+url.QueryEscape(`"tell me"`)); len(list) != 2 || len(list[1].Snippet) != 2 || !list[1].Snippet[0].Match || list[1].Snippet[1].Text != " of <b>Paris</b> & more" {
		t.Errorf("a phrase: %+v", list)
	}
	page, link := search("alice", "q=paris&pageSize=1")
	if len(page) != 1 || page[0].EventID != list[0].EventID || link == "" {
		t.Fatalf("the first page is %+v, %s", page, link)
	}
	_, rest, _ := strings.Cut(link, "?")
	if second, _ := search("alice", rest[:strings.Index(rest, ">")]); len(second) != 1 || second[0].EventID != list[1].EventID {
		t.Errorf("the second page is %+v", second)
	}
	for query, status := range map[string]int{
		"": http.StatusUnprocessableEntity, "q=": http.StatusUnprocessableEntity, "q=%00": http.StatusUnprocessableEntity, "q=%21": http.StatusUnprocessableEntity,
		"q=" + strings.Repeat("a+", 40): http.StatusUnprocessableEntity, "q=a&pageSize=0": http.StatusUnprocessableEntity, "q=a&pageToken=x": http.StatusBadRequest,
	} {
		wantStatus(t, do(t, srv, "GET", "/apps/weather/users/alice/search?"+query, ""), status)
	}
	wantStatus(t, do(t, srv, "GET", "/apps/none/users/alice/search?q=a", ""), http.StatusNotFound)
}

// A store that cannot search says so.
func TestSearchUnsupported(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), func(o *server.Options) { o.Store = session.NewStore(&reads{Backend: memstore.NewBackend(0)}) })
	rec := do(t, srv, "GET", "/apps/weather/users/u/search?q=a", "")
	wantStatus(t, rec, http.StatusNotImplemented)
	if !strings.Contains(rec.Body.String(), "cannot search") {
		t.Errorf("it says %s", rec.Body)
	}
}
