package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
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

// The runs of a user cost one call of the store, however many sessions there are.
func TestRecentRunsAreOneQuery(t *testing.T) {
	t.Parallel()
	store := &reads{Backend: session.NewMemoryBackend(0)}
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
