package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// reads counts the calls of a store that read lists.
type reads struct {
	session.Backend
	lists int
}

func (r *reads) List(ctx context.Context, app, user string, page session.Page) ([]*session.Session, string, error) {
	r.lists++
	return r.Backend.List(ctx, app, user, page)
}

func (r *reads) ListRuns(ctx context.Context, key session.Key, page session.Page) ([]*session.Run, string, error) {
	r.lists++
	return r.Backend.ListRuns(ctx, key, page)
}

func (r *reads) RecentRuns(ctx context.Context, app, user string, sessions, each int) ([]*session.Run, error) {
	r.lists++
	return r.Backend.RecentRuns(ctx, app, user, sessions, each)
}

// The runs of a user cost one call of a store that does not list the runs of all sessions, however many sessions there
// are.
func TestRecentRunsAreOneQuery(t *testing.T) {
	t.Parallel()
	store := &reads{Backend: memstore.NewBackend(0)}
	srv := serve(t, weather(), withUI, func(o *server.Options) { o.Store = session.NewStore(store) })
	for _, id := range []string{"s1", "s2", "s3"} {
		wantStatus(t, do(t, srv, "POST", "/apps/weather/users/u/sessions/"+id, ""), http.StatusOK)
		wantStatus(t, do(t, srv, "POST", "/run", `{"appName":"weather","userId":"u","sessionId":"`+id+`","newMessage":{"role":"user","parts":[{"text":"hi"}]}}`), http.StatusOK)
	}
	for query, want := range map[string]int{"": 3, "?status=completed": 3, "?status=failed": 0} {
		store.lists = 0
		rec := do(t, srv, "GET", "/dev/apps/weather/users/u/runs"+query, "")
		wantStatus(t, rec, http.StatusOK)
		var runs []struct{}
		if err := json.Unmarshal(rec.Body.Bytes(), &runs); err != nil || len(runs) != want {
			t.Errorf("%s: %d runs, %v: %s", query, len(runs), err, rec.Body)
		}
		if store.lists != 1 {
			t.Errorf("%s: %d calls of the store, want 1", query, store.lists)
		}
	}
}

// The runs of an application are listed in pages, over all sessions and users.
func TestAllRuns(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), withUI)
	for i := range 5 {
		user := []string{"ann", "bob"}[i%2]
		path := "/apps/weather/users/" + user + "/sessions/s" + strconv.Itoa(i)
		wantStatus(t, do(t, srv, "POST", path, ""), http.StatusOK)
		for range 30 { // more than the list of the newest runs had of a session
			wantStatus(t, do(t, srv, "POST", "/run", `{"appName":"weather","userId":"`+user+`","sessionId":"s`+strconv.Itoa(i)+`","newMessage":{"role":"user","parts":[{"text":"hi"}]}}`), http.StatusOK)
		}
	}
	list := func(path string) (ids []string) {
		t.Helper()
		for path != "" {
			rec := do(t, srv, "GET", path, "")
			wantStatus(t, rec, http.StatusOK)
			var runs []struct{ ID, UserID, Status string }
			if err := json.Unmarshal(rec.Body.Bytes(), &runs); err != nil {
				t.Fatalf("%v: %s", err, rec.Body)
			}
			for _, r := range runs {
				ids = append(ids, r.ID)
				if strings.Contains(path, "bob") && r.UserID != "bob" {
					t.Errorf("%s has a run of %s", path, r.UserID)
				}
			}
			path = ""
			if link, ok := strings.CutPrefix(rec.Header().Get("Link"), "<"); ok {
				path, _, _ = strings.Cut(link, ">")
			}
		}
		return ids
	}
	for path, want := range map[string]int{
		"/dev/apps/weather/runs":                                                                     150,
		"/dev/apps/weather/runs?pageSize=40":                                                         150,
		"/dev/apps/weather/runs?pageSize=7&userId=bob":                                               60,
		"/dev/apps/weather/runs?pageSize=50&status=completed":                                        150,
		"/dev/apps/weather/runs?status=failed&status=cancelled":                                      0,
		"/dev/apps/weather/users/ann/runs":                                                           90,
		"/dev/apps/weather/users/ann/runs?pageSize=40&status=failed&status=waiting&status=completed": 90,
		"/dev/apps/weather/users/ann/runs?status=none":                                               0,
		"/dev/apps/weather/users/carl/runs":                                                          0,
	} {
		ids := list(path)
		slices.Sort(ids)
		if n := len(slices.Compact(ids)); len(ids) != want || n != want {
			t.Errorf("%s: %d runs, %d different ones, want %d", path, len(ids), n, want)
		}
	}
	wantStatus(t, do(t, srv, "GET", "/dev/apps/unknown/runs", ""), http.StatusNotFound)
	wantStatus(t, do(t, srv, "GET", "/dev/apps/weather/runs?pageToken=x", ""), http.StatusBadRequest)
	wantStatus(t, do(t, srv, "GET", "/dev/apps/weather/runs?pageSize=0", ""), http.StatusUnprocessableEntity)
	old := serve(t, weather(), withUI, func(o *server.Options) { o.Store = session.NewStore(&reads{Backend: memstore.NewBackend(0)}) })
	wantStatus(t, do(t, old, "GET", "/dev/apps/weather/runs", ""), http.StatusNotImplemented)
}

// A list shows what sessions are about, and finds them by it.
func TestSessionOverviews(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), withUI)
	const path = "/apps/weather/users/u/sessions"
	say := func(id, text string) {
		wantStatus(t, do(t, srv, "POST", path+"/"+id, ""), http.StatusOK)
		if text != "" {
			wantStatus(t, do(t, srv, "POST", "/run", `{"appName":"weather","userId":"u","sessionId":"`+id+`","newMessage":{"role":"user","parts":[{"text":"`+text+`"}]}}`), http.StatusOK)
		}
	}
	say("s1", "one\\n  two "+strings.Repeat("é", 100))
	say("s2", "Hello there")
	say("s3", "")
	wantStatus(t, do(t, srv, "PATCH", path+"/s3", `{"stateDelta":{"__session_metadata__":{"displayName":"Trip to Oslo","labels":{"kind":"trip"}}}}`), http.StatusOK)
	type row struct {
		Session struct {
			ID     string
			Events []any
		}
		Title, Preview, Status string
		EventCount             int
	}
	list := func(query string) (rows []row, link string) {
		t.Helper()
		rec := do(t, srv, "GET", "/dev"+path+query, "")
		wantStatus(t, rec, http.StatusOK)
		if err := json.Unmarshal(rec.Body.Bytes(), &rows); err != nil {
			t.Fatalf("%v: %s", err, rec.Body)
		}
		return rows, rec.Header().Get("Link")
	}
	rows, _ := list("")
	if len(rows) != 3 {
		t.Fatalf("%d sessions: %+v", len(rows), rows)
	}
	if r := rows[0]; r.Title != "Trip to Oslo" || r.Status != "" || r.EventCount != 1 || r.Preview != "" || len(r.Session.Events) != 0 {
		t.Errorf("a session with a title: %+v", r)
	}
	if r := rows[1]; r.Session.ID != "s2" || r.Title != "Hello there" || r.Status != "completed" || r.EventCount != 2 || r.Preview == "" {
		t.Errorf("a session with a message: %+v", r)
	}
	if title := rows[2].Title; !strings.HasPrefix(title, "one two é") || !strings.HasSuffix(title, "é…") || utf8.RuneCountInString(title) != 80 {
		t.Errorf("a long title: %q", title)
	}
	for query, want := range map[string]string{"?q=HELLO": "s2", "?q=oslo": "s3", "?q=S1": "s1", "?q=none": "", "?label=kind:trip": "s3", "?label=kind:trip&q=hello": "", "?q=%C3%A9": "s1"} {
		rows, _ := list(query)
		var got []string
		for _, r := range rows {
			got = append(got, r.Session.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	// A page leads to the next one, also when only some sessions match.
	rows, link := list("?pageSize=1&q=one")
	for n := 0; len(rows) == 0 && link != "" && n < 5; n++ {
		_, query, _ := strings.Cut(link, "?")
		rows, link = list("?" + query[:strings.Index(query, ">")])
	}
	if len(rows) != 1 || rows[0].Session.ID != "s1" {
		t.Errorf("the session that matches: %+v", rows)
	}
	wantStatus(t, do(t, srv, "GET", "/dev"+path+"?q=%00", ""), http.StatusUnprocessableEntity)
	wantStatus(t, do(t, srv, "GET", "/dev"+path+"?pageSize=0", ""), http.StatusUnprocessableEntity)
	wantStatus(t, do(t, srv, "GET", "/dev/apps/none/users/u/sessions", ""), http.StatusNotFound)
}

// spent has the same runs in each session, and notes how many were asked for.
type spent struct {
	session.Backend
	runs []*session.Run
	most int
}

func (s *spent) ListRuns(_ context.Context, _ session.Key, page session.Page) ([]*session.Run, string, error) {
	s.most = max(s.most, page.Size)
	if page.Size < len(s.runs) {
		return s.runs[:page.Size], "older", nil
	}
	return s.runs, "", nil
}

// A list tells what sessions have used, and reads a limited number of their runs for that.
func TestSessionOverviewUsage(t *testing.T) {
	t.Parallel()
	store := &spent{Backend: memstore.NewBackend(0)}
	srv := serve(t, weather(), withUI, func(o *server.Options) { o.Store = session.NewStore(store) })
	wantStatus(t, do(t, srv, "POST", "/apps/weather/users/u/sessions/s", ""), http.StatusOK)
	run := func(total, nanos, unpriced int64) *session.Run {
		tokens := event.Usage{Total: total}
		return &session.Run{Status: session.Completed, Usage: tokens, Models: []session.ModelUsage{{Tokens: tokens, Cost: session.Cost{Nanos: nanos, Unpriced: unpriced}}}}
	}
	for name, test := range map[string]struct {
		runs []*session.Run
		want string
	}{
		"none":     {nil, ""},
		"priced":   {[]*session.Run{run(100, 2e6, 0), run(50, 1e6, 0)}, `{"runs":2,"totalTokenCount":150,"costUsd":0.003}`},
		"partly":   {[]*session.Run{run(100, 2e6, 0), run(50, 0, 50)}, `{"runs":2,"totalTokenCount":150,"costUsd":0.002,"unpricedTokens":50}`},
		"unpriced": {[]*session.Run{run(50, 0, 50)}, `{"runs":1,"totalTokenCount":50,"unpricedTokens":50}`},
		"older":    {slices.Repeat([]*session.Run{run(10, 1e6, 0)}, 1000), `{"runs":20,"more":true,"totalTokenCount":200,"costUsd":0.02}`},
	} {
		store.runs = test.runs
		rec := do(t, srv, "GET", "/dev/apps/weather/users/u/sessions", "")
		wantStatus(t, rec, http.StatusOK)
		var rows []struct{ Usage json.RawMessage }
		if err := json.Unmarshal(rec.Body.Bytes(), &rows); err != nil {
			t.Fatalf("%v: %s", err, rec.Body)
		}
		if len(rows) != 1 || string(rows[0].Usage) != test.want {
			t.Errorf("%s: %s, want %s", name, rec.Body, test.want)
		}
	}
	if store.most > 20 {
		t.Errorf("%d runs of a session were read", store.most)
	}
}
