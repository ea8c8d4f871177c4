package server_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/sqlite"
)

// unavailable is a store that can be made to fail.
type unavailable struct {
	session.Store
	err atomic.Pointer[session.UnavailableError]
}

func (a *unavailable) fails() error {
	if err := a.err.Load(); err != nil {
		return err
	}
	return nil
}

func (a *unavailable) Ready(context.Context) error { return a.fails() }

func (a *unavailable) Get(ctx context.Context, key session.Key, read session.Read) (*session.Session, error) {
	if err := a.fails(); err != nil {
		return nil, err
	}
	return a.Store.Get(ctx, key, read)
}

func (a *unavailable) Begin(ctx context.Context, run session.NewRun) (*session.Begun, error) {
	if err := a.fails(); err != nil {
		return nil, err
	}
	return a.Store.Begin(ctx, run)
}

// A server whose store is unavailable reports it: to load balancers, and to clients, which may retry only if nothing
// can have been stored.
func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	store := &unavailable{Store: memstore.New(0)}
	srv := serve(t, weather(), func(o *server.Options) { o.Store = session.NewStore(store) })
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	for _, tt := range []struct {
		err         *session.UnavailableError
		ready, want int
	}{
		{nil, 200, 200},
		{&session.UnavailableError{Cause: errors.New("dial 10.0.0.7: refused")}, 503, 503},
		{&session.UnavailableError{Cause: errors.New("dial 10.0.0.7: refused"), Doubt: true}, 503, 500},
		{nil, 200, 200},
	} {
		store.err.Store(tt.err)
		wantStatus(t, do(t, srv, "GET", "/readyz", ""), tt.ready)
		wantStatus(t, do(t, srv, "GET", "/health", ""), http.StatusOK)
		for _, operation := range []string{"POST /run", "POST /run_sse", "GET " + session1, "POST " + session1 + "/runs"} {
			method, path, _ := strings.Cut(operation, " ")
			body := ""
			if method == "POST" {
				body = message("hi")
			}
			rec := do(t, srv, method, path, body)
			if want := tt.want; rec.Code != want && (want != 200 || rec.Code != 202) {
				t.Errorf("%s: status %d, want %d: %s", operation, rec.Code, want, rec.Body)
			}
			if retry := rec.Header().Get("Retry-After"); (retry != "") != (rec.Code == 503) {
				t.Errorf("%s: Retry-After is %q with the status %d", operation, retry, rec.Code)
			}
			if strings.Contains(rec.Body.String(), "10.0.0.7") {
				t.Errorf("%s tells too much: %s", operation, rec.Body)
			}
		}
	}
}

// An event that is corrupt in the database is shown neither to clients nor to a model.
func TestDamagedEvent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	open := func() session.Store {
		store, err := sqlite.Open(t.Context(), path, session.Options{Owner: "test", Lease: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	store := open()
	srv := serve(t, weather(), func(o *server.Options) { o.Store = session.NewStore(store) })
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	wantStatus(t, do(t, srv, "POST", "/run", message("what is the weather in Oslo?")), http.StatusOK)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// One digit changes: it is still JSON, and still an event.
	changed, err := db.ExecContext(t.Context(), `UPDATE events SET json = CAST(replace(CAST(json AS TEXT), '"timestamp":1', '"timestamp":2') AS BLOB) WHERE seq = 2`)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := changed.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d events were changed, error %v", n, err)
	}
	srv = serve(t, weather(), func(o *server.Options) { o.Store = open() })
	for _, operation := range []string{"GET " + session1, "GET " + session1 + "/export", "POST " + session1 + "/fork", "POST /run"} {
		method, path, _ := strings.Cut(operation, " ")
		body := ""
		if path == "/run" {
			body = message("and now?")
		}
		rec := do(t, srv, method, path, body)
		if got := rec.Body.String(); rec.Code != 500 || !strings.Contains(got, "event 2 of the session s1 is damaged") || !strings.Contains(got, "parley doctor") {
			t.Errorf("%s: status %d: %s", operation, rec.Code, got)
		}
	}
	rec := do(t, srv, "GET", session1, "")
	if got := rec.Body.String(); !strings.Contains(got, `"type":"corrupt"`) || !strings.Contains(got, `["session","s1","events",2]`) {
		t.Errorf("the detail is %s", got)
	}
	rec = do(t, srv, "GET", session1+"/runs", "")
	if got := rec.Body.String(); !strings.Contains(got, `"status":"failed"`) || !strings.Contains(got, `"type":"corrupt"`) {
		t.Errorf("the runs are %s", got)
	}
}
