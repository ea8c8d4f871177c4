package run

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// The files of a session are deleted when it expires; those of its user, and of a
// later session with the same key, stay.
func TestFilesOfOldSessionsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, store := artifact.NewMemory(), memstore.New(0)
		e := NewEngine(Options{
			Store: session.NewStore(store), Artifacts: files, Log: slog.New(slog.DiscardHandler), TTL: time.Hour,
			Agent: func(string) (*agent.Agent, error) { return nil, nil },
		})
		defer e.Shutdown(t.Context())
		key := session.Key{App: "app", User: "u", ID: "s"}
		in := files.In(FilesOf(key))
		save := func(name string) {
			t.Helper()
			if _, err := in.Save(t.Context(), tool.Artifact{Name: name}, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		names := func() string {
			t.Helper()
			list, err := in.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(list, " ")
		}
		if _, err := e.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
			t.Fatal(err)
		}
		save("a")
		save("user:b")
		time.Sleep(30 * time.Minute)
		if got := names(); got != "a user:b" {
			t.Errorf("before its time is over, it has %s", got)
		}
		time.Sleep(32 * time.Minute)
		synctest.Wait()
		if got := names(); got != "user:b" {
			t.Errorf("after its time is over, there are %s", got)
		}
		if _, err := e.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
			t.Fatal(err)
		}
		save("a")
		e.upkeep.removeFiles(t.Context(), []session.Key{key}) // a late removal
		if got := names(); got != "a user:b" {
			t.Errorf("the session that took its place has %s", got)
		}
	})
}
