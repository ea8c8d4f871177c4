package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/session"
)

// A user is kept as long as something is of them that outlives their sessions,
// and no longer.
func TestMemoryForgetsUsers(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, m *Backend, key session.Key) error{
		"deleted": func(ctx context.Context, m *Backend, key session.Key) error { return m.Delete(ctx, key) },
		"swept": func(ctx context.Context, m *Backend, _ session.Key) error {
			time.Sleep(2 * time.Hour)
			_, _, err := m.Sweep(ctx, time.Hour)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewBackend(0)
				key := func(user string) session.Key { return session.Key{App: "app", User: user, ID: "s"} }
				for user, state := range map[string]session.State{
					"nothing": nil, "own state": {"a": []byte("1")}, "null": {"user:a": []byte("null")},
					"state": {"user:a": []byte("1")}, "secret": nil, "memory": nil,
				} {
					if _, err := m.Create(t.Context(), session.NewSession{Key: key(user), State: state}); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := m.PutSecret(t.Context(), &session.Secret{SecretID: session.SecretID{App: "app", User: "secret", Name: "n"}}); err != nil {
					t.Fatal(err)
				}
				if err := m.Remember(t.Context(), key("memory"), []*session.Remembered{{Event: "e", Words: []string{"w"}}}); err != nil {
					t.Fatal(err)
				}
				for user := range maps.Clone(m.users) {
					if err := end(t.Context(), m, key(user.name)); err != nil {
						t.Fatal(err)
					}
				}
				var left []string
				for user := range m.users {
					left = append(left, user.name)
				}
				slices.Sort(left)
				want := "memory secret state"
				if name == "deleted" { // which forgets what was said
					want = "secret state"
				}
				if got := strings.Join(left, " "); got != want || len(m.sessions) > 0 {
					t.Errorf("what is left is %s, want %s, and %d sessions", got, want, len(m.sessions))
				}
				made, err := m.Create(t.Context(), session.NewSession{Key: key("state")})
				if err != nil || string(made.State["user:a"]) != "1" {
					t.Errorf("the user's state is %s, %v", made.State, err)
				}
			})
		})
	}
}

// BenchmarkMemorySweep measures a round over sessions that all stay.
func BenchmarkMemorySweep(b *testing.B) {
	m := NewBackend(0)
	for i := range 100_000 {
		key := session.Key{App: "app", User: fmt.Sprint("user-", i), ID: "s"}
		if _, err := m.Create(b.Context(), session.NewSession{Key: key}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for done := false; !done; {
			_, done, _ = m.Sweep(b.Context(), time.Hour)
		}
	}
}
