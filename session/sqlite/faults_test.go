package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// A database that stores nothing any more is known as such, can still be read,
// and is ready again by itself when it can be written to.
func TestWritesFail(t *testing.T) {
	t.Parallel()
	for name, pragma := range map[string][2]string{
		"full":      {"PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1073741823"}, // which is what it has now
		"read-only": {"PRAGMA query_only = ON", "PRAGMA query_only = OFF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, file(t), session.Options{Owner: "a", Lease: time.Minute})
			key := session.Key{App: "a", User: "u", ID: "s"}
			if _, err := s.Create(t.Context(), session.NewSession{Key: key}); err != nil {
				t.Fatal(err)
			}
			if err := s.Ready(t.Context()); err != nil {
				t.Errorf("Ready: %v", err)
			}
			set := func(pragma string) {
				t.Helper()
				err := s.writer.submit(t.Context(), &op{outside: true, done: make(chan error, 1), do: func(c *conn) error { return c.exec(pragma) }})
				if err != nil {
					t.Fatal(err)
				}
			}
			set(pragma[0])
			var err error
			for i := 0; err == nil && i < 1000; i++ { // there may be some room left
				_, err = s.Create(t.Context(), session.NewSession{
					Key: session.Key{App: "a", User: "u", ID: fmt.Sprint(i)}, State: session.State{"x": bytes.Repeat([]byte("1"), 5000)},
				})
			}
			if _, ok := errors.AsType[*session.UnavailableError](err); !ok {
				t.Errorf("Create: %v, want an *UnavailableError", err)
			}
			if _, ok := errors.AsType[*session.UnavailableError](s.Ready(t.Context())); !ok {
				t.Errorf("Ready: %v, want an *UnavailableError", s.Ready(t.Context()))
			}
			if _, err := s.Get(t.Context(), key, session.Read{}); err != nil {
				t.Errorf("Get: %v", err)
			}
			set(pragma[1])
			err = s.Ready(t.Context())
			for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); err = s.Ready(t.Context()) {
				time.Sleep(20 * time.Millisecond)
			}
			if err != nil {
				t.Errorf("Ready: %v", err)
			}
			if _, err := s.Create(t.Context(), session.NewSession{Key: session.Key{App: "a", User: "u", ID: "last"}}); err != nil {
				t.Errorf("Create: %v", err)
			}
		})
	}
}

// Bytes that change in the file are found when they are read.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := opened(t, path, session.Options{})
	key := session.Key{App: "a", User: "u", ID: "s"}
	ev := &event.Event{ID: "e", Author: "a", Content: event.Text(event.RoleModel, "the price is 100 euros")}
	entry, err := session.NewEntry(ev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), session.NewSession{Key: key, Log: []*session.Entry{entry}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, []byte("100 euros"))
	if at < 0 {
		t.Fatal("the event is not in the file")
	}
	content[at] = '9'
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	again := opened(t, path, session.Options{})
	_, err = again.Get(t.Context(), key, session.Read{})
	if e, ok := errors.AsType[*session.CorruptError](err); !ok || e.Key != key || e.Seq != 1 {
		t.Errorf("Get: %v, want a *CorruptError", err)
	}
	// It has no checksum when it is older than that.
	err = again.write(t.Context(), func(c *conn) error { return c.exec("UPDATE events SET sum = NULL") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Get(t.Context(), key, session.Read{}); err != nil {
		t.Errorf("Get: %v", err)
	}
	err = again.write(t.Context(), func(c *conn) error { return c.exec("UPDATE events SET json = substr(json, 2)") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Get(t.Context(), key, session.Read{}); !errors.As(err, new(*session.CorruptError)) {
		t.Errorf("Get: %v, want a *CorruptError", err)
	}
}
