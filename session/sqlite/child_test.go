package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// childEnv makes the test binary do what child does with the database that the
// rest of it names.
const childEnv = "PARLEY_SQLITE_TEST"

// child is another process.
func child() int {
	what, path, _ := strings.Cut(os.Getenv(childEnv), ":")
	err := fmt.Errorf("cannot %q", what)
	switch what {
	case "open":
		err = openChild(path)
	case "append":
		err = appendChild(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start runs this binary as a child.
func start(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+what+":"+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func say(id string) *session.Entry {
	e, err := session.NewEntry(&event.Event{ID: id, InvocationID: "i", Author: "agent", Timestamp: 1.5, Content: event.Text(event.RoleModel, "This is "+id+".")})
	if err != nil {
		panic(err)
	}
	return e
}

// openChild opens the database when the file "go" is there, and makes a session.
func openChild(path string) error {
	for {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "go")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return openAndCreate(path, fmt.Sprint(os.Getpid()))
}

func openAndCreate(path, id string) error {
	s, err := Open(context.Background(), path, session.Options{Owner: id})
	if err != nil {
		return err
	}
	_, err = s.Create(context.Background(), session.NewSession{Key: session.Key{App: "a", User: "u", ID: id}})
	return errors.Join(err, s.Close())
}

const starters = 10

// All replicas of a deployment start at once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	t.Run("goroutines", func(t *testing.T) {
		t.Parallel()
		for range 5 {
			path := file(t)
			var wg sync.WaitGroup
			for i := range starters {
				wg.Go(func() {
					if err := openAndCreate(path, fmt.Sprint(i)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			hasSessions(t, path, starters)
		}
	})
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		path := file(t)
		var children []*exec.Cmd
		for range starters {
			cmd := start(t, "open", path)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			children = append(children, cmd)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, cmd := range children {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		hasSessions(t, path, starters)
	})
}

func hasSessions(t *testing.T, path string, want int) {
	t.Helper()
	s := opened(t, path, session.Options{Owner: "test"})
	list, _, err := s.List(t.Context(), "a", "u", session.Page{})
	if err != nil || len(list) != want {
		t.Errorf("%d sessions, error %v, want %d", len(list), err, want)
	}
}

// appendChild appends to several sessions at once, forever, and says of each
// entry that it is stored as soon as it is told so.
func appendChild(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, session.Options{Owner: "child"})
	if err != nil {
		return err
	}
	errs := make(chan error)
	var out sync.Mutex
	for i := range 8 {
		go func() {
			key := session.Key{App: "a", User: "u", ID: fmt.Sprint("s", i)}
			_, err := s.Create(ctx, session.NewSession{Key: key})
			if err != nil {
				errs <- err
				return
			}
			b, err := s.Begin(ctx, session.NewRun{ID: "run", Key: key})
			for n := 1; err == nil; n++ {
				e := say(fmt.Sprint("e", n))
				if err = s.Append(ctx, key, b.Run.Epoch, nil, e); err == nil {
					out.Lock()
					_, err = fmt.Fprintf(os.Stdout, "%s %d\n", key.ID, e.Seq)
					out.Unlock()
				}
			}
			errs <- err
		}()
	}
	return <-errs
}

// What was acknowledged is there after the worst end that a process can have.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := file(t)
	cmd := start(t, "append", path)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := map[string]int64{}
	lines := bufio.NewScanner(pipe)
	for n := 0; lines.Scan(); n++ {
		var id string
		var seq int64
		if _, err := fmt.Sscan(lines.Text(), &id, &seq); err != nil {
			break // the last line may be half of one
		}
		told[id] = seq
		if n == 2000 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it has ended by itself")
	}
	if len(told) != 8 {
		t.Fatalf("told of the sessions %v", told)
	}
	s := opened(t, path, session.Options{Owner: "test"})
	for id, seq := range told {
		got, err := s.Get(t.Context(), session.Key{App: "a", User: "u", ID: id}, session.Read{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Seq < seq || int64(len(got.Entries)) != got.Seq {
			t.Errorf("%s: %d entries were acknowledged, there are %d up to %d", id, seq, len(got.Entries), got.Seq)
		}
		for i, e := range got.Entries {
			if want := say(fmt.Sprint("e", i+1)); e.Seq != int64(i)+1 || string(e.JSON) != string(want.JSON) {
				t.Fatalf("%s: entry %d is %d: %s", id, i+1, e.Seq, e.JSON)
			}
		}
	}
	if keys, err := s.Idle(t.Context(), 100); err != nil || len(keys) != 8 {
		t.Errorf("%d runs can be taken over, error %v", len(keys), err)
	}
}
