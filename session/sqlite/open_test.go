package sqlite

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/storetest"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("This is no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := altered(t, "INSERT INTO parley_schema (version, applied) VALUES (99, 0)")
	for _, tt := range []struct{ name, path, want string }{
		{"empty", "", "the path is empty"},
		{"directory", dir, "it is a directory"},
		{"no directory", filepath.Join(dir, "none", "s.db"), "its directory does not exist"},
		{"text", text, "the file is not a SQLite database"},
		{"newer", newer, "the database was written by a newer version of Parley (schema 99, this one knows 21): use that version, or another database"},
		{"foreign", altered(t, "DROP TABLE parley_schema"), "it has tables that are not Parley's: use another database"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), tt.path, session.Options{})
			if err == nil {
				t.Error(s.Close())
				t.Fatal("it was opened")
			}
			if want := "open the database \"" + tt.path + "\": " + tt.want; err.Error() != want {
				t.Errorf("error is\n%v, want\n%v", err, want)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ended, filepath.Join(dir, "late.db"), session.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// altered makes a database and does something to it.
func altered(t *testing.T, query string) string {
	t.Helper()
	path := file(t)
	s, err := open(t.Context(), path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.write(t.Context(), func(c *conn) error { return c.exec(query) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// A path is taken literally, whatever it looks like, and other users cannot read
// the file.
func TestOpenPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"s.db", "a?mode=memory", "b#c", "%41", "d e&f=g", "file:h", "é", ":memory:"} {
		s := opened(t, filepath.Join(dir, name), session.Options{})
		if _, err := s.Create(t.Context(), session.NewSession{Key: session.Key{App: "a", User: "u", ID: name}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, suffix := range []string{"", "-wal"} {
			info, err := os.Stat(filepath.Join(dir, name+suffix))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
				t.Errorf("%s%s has the mode %v", name, suffix, info.Mode())
			}
		}
	}
}

// Calls after Close fail, and those before it get an answer.
func TestClose(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{Owner: "test"})
	key := session.Key{App: "a", User: "u", ID: "s"}
	if _, err := s.Create(t.Context(), session.NewSession{Key: key}); err != nil {
		t.Fatal(err)
	}
	answers := make(chan error)
	for range 20 {
		go func() {
			for {
				_, err := s.Get(t.Context(), key, session.Read{})
				err = errors.Join(err, s.Patch(t.Context(), key, say("e")))
				if err != nil {
					answers <- err
					return
				}
			}
		}()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
	for range 20 {
		if err := <-answers; !errors.Is(err, errClosed) || errors.Is(err, session.ErrNotFound) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// Feedback that was stored before there was an index of it is listed.
func TestOpenFindsOldFeedback(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := opened(t, path, session.Options{})
	storetest.RunOldFeedback(t, session.NewStore(s), func() session.Store {
		err := s.write(t.Context(), func(c *conn) error {
			return c.script(`DROP TRIGGER runs_listed; DROP INDEX runs_of_app; DROP INDEX runs_of_user; ALTER TABLE runs DROP COLUMN list_app; ALTER TABLE runs DROP COLUMN list_user;
				DROP TABLE feedback; ALTER TABLE said_until DROP COLUMN feedback; DROP TABLE said_terms; DELETE FROM parley_schema WHERE version >= 19`)
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		return session.NewStore(opened(t, path, session.Options{}))
	})
}

// Runs that were stored before they were listed are listed.
func TestOpenListsOldRuns(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := opened(t, path, session.Options{})
	storetest.RunOldRuns(t, session.NewStore(s), func() session.Store {
		err := s.write(t.Context(), func(c *conn) error {
			return c.script(`DROP TRIGGER runs_listed; DROP INDEX runs_of_app; DROP INDEX runs_of_user; ALTER TABLE runs DROP COLUMN list_app; ALTER TABLE runs DROP COLUMN list_user;
				DELETE FROM parley_schema WHERE version >= 21`)
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		s = opened(t, path, session.Options{})
		return session.NewStore(s)
	}, func(id string) {
		err := s.write(t.Context(), func(c *conn) error {
			return c.exec(`INSERT INTO runs (session, id, status, created, ended) SELECT ordinal, ?, 'completed', ?, ? FROM sessions WHERE id = 's'`, id, now(), now())
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Texts that were indexed before there was an index of the beginnings of words are found.
func TestOpenIndexesOldTexts(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := opened(t, path, session.Options{})
	key := session.Key{App: "a", User: "u", ID: "s"}
	_, err := s.Create(t.Context(), session.NewSession{Key: key, Log: []*session.Entry{say("e")}})
	index := func() {
		for done := false; !done && err == nil; {
			done, err = s.Index(t.Context())
		}
	}
	search := func() {
		t.Helper()
		found, _, failed := s.Search(t.Context(), key.App, key.User, `"this"`, session.Page{})
		if err = errors.Join(err, failed); err != nil || len(found) != 1 {
			t.Fatalf("%d texts are found, error %v", len(found), err)
		}
	}
	index()
	search()
	err = s.write(t.Context(), func(c *conn) error {
		return c.script(`DROP TRIGGER runs_listed; DROP INDEX runs_of_app; DROP INDEX runs_of_user; ALTER TABLE runs DROP COLUMN list_app; ALTER TABLE runs DROP COLUMN list_user;
			DROP TABLE said_terms; DROP TABLE said_words; DELETE FROM parley_schema WHERE version >= 20;
			CREATE VIRTUAL TABLE said_words USING fts5(words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')`)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	s = opened(t, path, session.Options{})
	index()
	search()
}

// Runs that were answered before anything was stored about it are completed when
// the database is opened.
func TestOpenSettlesOldWaits(t *testing.T) {
	t.Parallel()
	path := altered(t, `
		INSERT INTO sessions (ordinal, digest, owner, app, user, id, hidden, created, updated) VALUES (1, x'00', x'00', 'a', 'u', 's', 0, 0, 0);
		DROP TRIGGER runs_listed; DROP INDEX runs_of_app; DROP INDEX runs_of_user; ALTER TABLE runs DROP COLUMN list_app; ALTER TABLE runs DROP COLUMN list_user;
		ALTER TABLE runs DROP COLUMN resumed_by;
		DROP INDEX sessions_root; ALTER TABLE sessions DROP COLUMN origin; ALTER TABLE sessions DROP COLUMN root;
		DROP TABLE deaths; DROP TABLE deliveries; DROP TABLE endpoints; DROP TABLE published; DROP TABLE subscriptions; DROP TABLE recordings; DROP TABLE recording_parts;
		DROP TABLE firings; DROP TABLE schedules; DROP TABLE feedback; DROP TABLE said; DROP TABLE said_until; DROP TABLE said_words; DROP TABLE said_terms;
		DROP TABLE model_usage; ALTER TABLE runs DROP COLUMN models;
		ALTER TABLE events DROP COLUMN sum; DROP INDEX runs_waiting_of;
		INSERT INTO runs (session, id, status, resumes, first, created, ended) VALUES
			(1, 'w1', 'waiting', '', 1, 0, 1), (1, 'w2', 'waiting', 'w1', 2, 0, 1), (1, 'done', 'completed', 'w2', 3, 0, 1),
			(1, 'open1', 'waiting', '', 4, 0, 1), (1, 'open2', 'waiting', 'open1', 5, 0, 1),
			(1, 'w3', 'waiting', '', 6, 0, 1), (1, 'broke', 'failed', 'w3', 7, 0, 1),
			(1, 'w4', 'waiting', '', 8, 0, 1), (1, 'undone', 'cancelled', 'w4', 9, 0, 1);
		DELETE FROM parley_schema WHERE version >= 6`)
	s := opened(t, path, session.Options{})
	got := map[string]string{}
	err := s.read(t.Context(), func(c *conn) error {
		return c.each("SELECT id, status, resumed_by FROM runs", nil, func(scan func(...any) error) error {
			var id, status, by string
			err := scan(&id, &status, &by)
			got[id] = strings.TrimSpace(status + " " + by)
			return err
		})
	})
	want := map[string]string{
		"w1": "completed w2", "w2": "completed done", "done": "completed", "open1": "waiting", "open2": "waiting",
		"w3": "completed broke", "broke": "failed", "w4": "waiting", "undone": "cancelled",
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("runs are %v, error %v, want %v", got, err, want)
	}
}

// The names of libraries of other languages are ignored.
func TestURLsOfOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	for _, url := range []string{"sqlite://" + path, "sqlite+aiosqlite://" + path} {
		driver, err := session.DriverOf(url)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := driver.File(url); got != path || err != nil {
			t.Errorf("the file of %s is %s, %v", url, got, err)
		}
		store, err := driver.Open(t.Context(), url, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		store.Close()
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if _, err := session.DriverOf("mysql+pymysql://h/db"); err == nil {
		t.Error("there is a driver for MySQL")
	}
}
