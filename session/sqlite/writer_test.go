package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// gathered has all of do done in one transaction, and returns the answers. The
// writer is kept busy until all of them wait.
func gathered(t *testing.T, s *backend, do ...func(*conn) error) []error {
	t.Helper()
	answers := make([]error, len(do))
	working, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.write(t.Context(), func(*conn) error { close(working); <-free; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-working
	for i, do := range do {
		wg.Go(func() { answers[i] = s.write(t.Context(), do) })
		for s.waiting() != i+1 {
			runtime.Gosched()
		}
	}
	close(free)
	wg.Wait()
	return answers
}

func (s *backend) waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

func setting(name string, then error) func(*conn) error {
	return func(c *conn) error { return errors.Join(c.set("test", name, []byte("1")), then) }
}

func (s *backend) names(t *testing.T) string {
	t.Helper()
	state := session.State{}
	if err := s.read(t.Context(), func(c *conn) error { return c.states("SELECT name, value FROM state WHERE owner = 'test'", state) }); err != nil {
		t.Fatal(err)
	}
	list := ""
	for _, name := range []string{"a", "b", "c", "d"} {
		if state[name] != nil {
			list += name
		}
	}
	return list
}

// An op that fails in a transaction of many leaves nothing, and does not make the
// others fail.
func TestWriterUndoesOne(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	wrong := errors.New("wrong")
	answers := gathered(t, s, setting("a", nil), setting("b", wrong), setting("c", nil))
	if answers[0] != nil || !errors.Is(answers[1], wrong) || answers[2] != nil || s.names(t) != "ac" {
		t.Errorf("answers are %v, stored is %q", answers, s.names(t))
	}
	// And alone.
	if err := s.write(t.Context(), setting("d", wrong)); !errors.Is(err, wrong) || s.names(t) != "ac" {
		t.Errorf("answer is %v, stored is %q", err, s.names(t))
	}
}

// A commit that fails is everyone's failure, and the next one is not.
func TestWriterCommitFails(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	orphan := func(c *conn) error {
		return errors.Join(c.exec("PRAGMA defer_foreign_keys = ON"), c.exec("INSERT INTO events (session, seq, json) VALUES (99, 1, x'00')"))
	}
	for i, err := range gathered(t, s, setting("a", nil), orphan, setting("b", nil)) {
		if err == nil {
			t.Errorf("operation %d was told that it is stored", i)
		}
	}
	if err := s.write(t.Context(), setting("c", nil)); err != nil || s.names(t) != "c" {
		t.Errorf("after it: %v, stored is %q", err, s.names(t))
	}
}

// The same when SQLite gives up the transaction in the middle: those whose turn
// had not come have theirs. It may do so at the error of a statement that only reads.
func TestWriterTransactionLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*conn) error{
		"change": func(c *conn) error { return errors.Join(c.exec("ROLLBACK"), errors.New("disk full")) },
		"read": func(c *conn) error {
			_, err := c.sql.ExecContext(c.ctx, "ROLLBACK")
			return errors.Join(err, c.one("SELECT nothing FROM nowhere", nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, file(t), session.Options{})
			answers := gathered(t, s, setting("a", nil), lose, setting("b", nil))
			if answers[0] == nil || answers[1] == nil || answers[2] != nil || s.names(t) != "b" {
				t.Errorf("answers are %v, stored is %q", answers, s.names(t))
			}
		})
	}
}

// A script that fails leaves nothing, so that it can be run again.
func TestWriterScriptFails(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	err := s.write(t.Context(), func(c *conn) error { return c.script("CREATE TABLE half (a); CREATE TABLE half (a)") })
	if err == nil {
		t.Fatal("the script did not fail")
	}
	if err := s.write(t.Context(), func(c *conn) error { return c.script("CREATE TABLE half (a)") }); err != nil {
		t.Errorf("the script cannot be run again: %v", err)
	}
}

// A session that exists does not have the other changes of its transaction made twice.
func TestWriterSessionExists(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	create := func(c *conn) error {
		_, err := c.insert(session.NewSession{Key: session.Key{App: "a", User: "u", ID: "s"}})
		return err
	}
	if err := s.write(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	var made int
	count := func(*conn) error { made++; return nil }
	answers := gathered(t, s, count, create, setting("a", nil))
	if answers[0] != nil || !errors.Is(answers[1], session.ErrExists) || answers[2] != nil || s.names(t) != "a" || made != 1 {
		t.Errorf("answers are %v, stored is %q, the first change was made %d times", answers, s.names(t), made)
	}
}

// Who leaves before its turn has changed nothing; who leaves after it has begun
// is told what happened.
func TestWriterCallersLeave(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	first, leaveFirst := context.WithCancel(t.Context())
	second, leaveSecond := context.WithCancel(t.Context())
	working, free := make(chan struct{}), make(chan struct{})
	answers := make(chan error, 2)
	go func() {
		answers <- s.write(first, func(c *conn) error { close(working); <-free; return c.set("test", "a", []byte("1")) })
	}()
	<-working
	leaveFirst()
	late := make(chan error)
	go func() { late <- s.write(second, setting("b", nil)) }()
	for s.waiting() == 0 {
		runtime.Gosched()
	}
	leaveSecond()
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("who left before: %v", err)
	}
	close(free)
	if err := <-answers; err != nil || s.names(t) != "a" {
		t.Errorf("who left after: %v, stored is %q", err, s.names(t))
	}
}

// Many clients at once, of one process and of two.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			t.Parallel()
			path := file(t)
			const clients, appends = 64, 20
			var wg sync.WaitGroup
			for p := range processes {
				s := opened(t, path, session.Options{Owner: fmt.Sprint(p)})
				for i := range clients / processes {
					wg.Go(func() {
						key := session.Key{App: "a", User: "u", ID: fmt.Sprint(p, "-", i)}
						if err := converse(t.Context(), s, key, appends); err != nil {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
		})
	}
}

// converse makes a session and has a run in it.
func converse(ctx context.Context, s session.Backend, key session.Key, appends int) error {
	if _, err := s.Create(ctx, session.NewSession{Key: key}); err != nil {
		return err
	}
	b, err := s.Begin(ctx, session.NewRun{ID: "run", Key: key, Message: say("m")})
	if err != nil {
		return err
	}
	for n := range appends {
		if err := s.Append(ctx, key, b.Run.Epoch, nil, say(fmt.Sprint("e", n))); err != nil {
			return err
		}
	}
	if _, err := s.End(ctx, key, b.Run.Epoch, session.End{Status: session.Completed}); err != nil {
		return err
	}
	got, err := s.Get(ctx, key, session.Read{})
	if err == nil && got.Seq != int64(appends)+1 {
		err = fmt.Errorf("%d entries", got.Seq)
	}
	return err
}

// Usage is stored with the transaction that counts it, once for each user, and without
// that of an op which fails.
func TestWriterUsage(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	use := func(user string, tokens int64, then error) func(*conn) error {
		return func(c *conn) error {
			u := event.Usage{Total: tokens}
			c.use(session.Key{App: "a", User: user}, 1, &u, []session.ModelUsage{{Model: "m", Tokens: u}})
			return then
		}
	}
	wrong := errors.New("wrong")
	for name, last := range map[string]func(*conn) error{
		"nothing changed": use("u", 100, wrong),
		"with savepoints": func(c *conn) error { return errors.Join(c.set("test", "a", []byte("1")), use("u", 100, wrong)(c)) },
	} {
		answers := gathered(t, s, use("u", 1, nil), last, use("v", 2, nil), use("u", 4, nil))
		if answers[0] != nil || !errors.Is(answers[1], wrong) || answers[2] != nil || answers[3] != nil {
			t.Errorf("%s: answers are %v", name, answers)
		}
	}
	list, _, err := s.Usage(t.Context(), session.UsageQuery{From: "0000-00-00", To: "9999-99-99", By: session.ByApp | session.ByUser}, session.Page{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][3]int64{}
	for _, u := range list {
		got[u.User] = [3]int64{u.Runs, u.Tokens.Total, u.Models[0].Tokens.Total}
	}
	if want := (map[string][3]int64{"u": {4, 10, 10}, "v": {2, 4, 4}}); !maps.Equal(got, want) {
		t.Errorf("usage is %v, want %v", got, want)
	}
}

// Numbers of tokens that are too large in sum do not make transactions fail.
func TestWriterUsageIsBounded(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	use := func(c *conn) error {
		u := event.Usage{Total: math.MaxInt64 - 1}
		c.use(session.Key{App: "a", User: "u"}, 1, &u, []session.ModelUsage{{Model: "m", Tokens: u}})
		return nil
	}
	for range 2 {
		for i, err := range gathered(t, s, use, use, setting("a", nil)) {
			if err != nil {
				t.Errorf("operation %d: %v", i, err)
			}
		}
	}
	list, _, err := s.Usage(t.Context(), session.UsageQuery{From: "0000-00-00", To: "9999-99-99", By: session.ByApp}, session.Page{})
	if err != nil || len(list) != 1 || list[0].Runs != 4 || list[0].Tokens.Total != math.MaxInt64 {
		t.Errorf("the usage is %+v, %v", list, err)
	}
}
