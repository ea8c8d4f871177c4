package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
)

func openParts(tb testing.TB, list string) *postgres.Many {
	tb.Helper()
	m, err := postgres.OpenMany(tb.Context(), list, session.Options{Owner: fmt.Sprint("owner-", owners.Add(1)), Lease: time.Hour})
	if err != nil {
		tb.Fatal(err)
	}
	m.SetWait(time.Minute)
	tb.Cleanup(func() { _ = m.Close() })
	return m
}

// userKey is a session of one of several users.
func userKey(i int) session.Key {
	return session.Key{App: "app", User: fmt.Sprint("user", i), ID: fmt.Sprint("s", i)}
}

// fillUser stores something of every kind for a user.
func fillUser(t *testing.T, s session.Backend, key session.Key) {
	t.Helper()
	ctx := t.Context()
	outbox, _ := s.(session.Outbox)
	recordings, _ := s.(session.Recordings)
	log := []*session.Entry{say("first")}
	_, made := s.Create(ctx, session.NewSession{Key: key, State: session.State{"a": []byte("1"), "user:b": []byte("2"), "app:" + key.User: []byte("3")}, Log: log})
	hidden := key
	hidden.ID = "adk-eval-session-" + key.ID
	_, other := s.Create(ctx, session.NewSession{Key: hidden})
	subscribed := outbox.PutSubscription(ctx, &session.Subscription{Key: key, ID: "sub", Kind: "k", Label: "l"}, "")
	wide := outbox.PutSubscription(ctx, &session.Subscription{Key: session.Key{App: key.App}, ID: "wide"}, "")
	published := outbox.Publish(ctx, &session.Notice{Key: key, ID: "n", Type: "test", JSON: []byte("{}")})
	ended, err := s.Begin(ctx, session.NewRun{ID: key.ID + "-ended", Key: key, Request: request, Message: say("m1"), IdempotencyKey: "idem"})
	if err != nil {
		t.Fatal(err)
	}
	_, end := s.End(ctx, key, ended.Run.Epoch, session.End{Status: session.Completed, Usage: event.Usage{Total: 7}})
	running, err := s.Begin(ctx, session.NewRun{ID: key.ID + "-running", Key: key, Request: request, Message: say("m2")})
	if err != nil {
		t.Fatal(err)
	}
	noted := s.Append(ctx, key, running.Run.Epoch, session.Journal{"note": []byte("x")}, say("e"))
	_, queued := s.Begin(ctx, session.NewRun{ID: key.ID + "-queued", Key: key, Request: request, Busy: session.Enqueue})
	_, secret := s.PutSecret(ctx, &session.Secret{SecretID: session.SecretID{App: key.App, User: key.User, Name: "n"}, Sealed: []byte("sealed")})
	_, secret2 := s.PutSecret(ctx, &session.Secret{SecretID: session.SecretID{App: key.App, User: key.User, Session: key.ID, Name: "n"}, Sealed: []byte("sealed2")})
	remembered := s.Remember(ctx, key, []*session.Remembered{{Event: "first", Author: "a", Time: time.Now(), Content: []byte("{}"), Words: []string{"word", "other"}}})
	recorded := recordings.PutRecordings(ctx, []*session.Recording{{Key: key, Run: key.ID + "-ended", Attempt: 1, JSON: []byte("{}"), Parts: []*session.RecordingPart{session.NewRecordingPart([]byte("p"))}}})
	schedules, _ := s.(session.Schedules)
	at := time.Unix(2_000_000_000, 0)
	scheduled := schedules.PutSchedule(ctx, &session.Schedule{App: key.App, User: key.User, ID: "daily", JSON: []byte("{}"), Next: at})
	fired := schedules.AddFiring(ctx, key.App, key.User, "daily", &session.Firing{Time: at, JSON: []byte("{}")})
	if err := errors.Join(scheduled, fired, recorded, wide, published, made, other, subscribed, end, noted, queued, secret, secret2, remembered); err != nil {
		t.Fatal(err)
	}
}

// rate stores feedback in a session, and indexes it.
func rate(t *testing.T, s session.Backend, key session.Key) {
	t.Helper()
	opinion, err := session.NewEntry(&event.Event{
		ID: "opinion", InvocationID: "p-1", Author: event.User, Timestamp: 1,
		CustomMetadata: map[string]json.RawMessage{"feedback": []byte(`{"runId":"i","author":"a","rating":"up","note":"n","timestamp":1}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Patch(t.Context(), key, opinion); err != nil {
		t.Fatal(err)
	}
	searcher, _ := s.(session.Searcher)
	for done := false; !done; {
		if done, err = searcher.Index(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// described is everything that a store knows of a user, except for ages.
func described(t *testing.T, s session.Backend, key session.Key) string {
	t.Helper()
	ctx := t.Context()
	var b strings.Builder
	list, _, err := s.List(ctx, key.App, key.User, session.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		fmt.Fprintln(&b, one.Key, one.Ordinal, one.Seq, one.State, one.Created.UnixMicro(), one.Updated.UnixMicro())
	}
	hidden := key
	hidden.ID = "adk-eval-session-" + key.ID
	for _, key := range []session.Key{key, hidden} {
		got, err := s.Get(ctx, key, session.Read{Initial: true})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, got.Ordinal, got.Initial)
		for _, e := range got.Entries {
			fmt.Fprintln(&b, e.Seq, string(e.JSON))
		}
		runs, _, err := s.ListRuns(ctx, key, session.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			fmt.Fprintf(&b, "%+v\n", *r)
		}
	}
	secrets, err := s.ListSecrets(ctx, key.App, key.User)
	for _, one := range secrets {
		fmt.Fprintln(&b, one.SecretID, one.Version, string(one.Sealed))
	}
	recalled, err2 := s.Recall(ctx, key.App, key.User, []string{"word"}, 10)
	for _, one := range recalled {
		fmt.Fprintln(&b, one.Event, one.Time.UnixMicro())
	}
	usage, _, err3 := s.Usage(ctx, session.UsageQuery{App: key.App, User: key.User, From: "2000-01-01", To: "2999-01-01"}, session.Page{})
	outbox, _ := s.(session.Outbox)
	subscriptions, err4 := outbox.Subscriptions(ctx, key)
	deliveries, err5 := outbox.Deliveries(ctx, key)
	recordings, _ := s.(session.Recordings)
	recorded, err6 := recordings.Recordings(ctx, key, key.ID+"-ended")
	for _, one := range recorded {
		fmt.Fprintf(&b, "%s %s\n", one.JSON, one.Parts[0].JSON)
	}
	searcher, _ := s.(session.Searcher)
	said, _, err9 := searcher.Search(ctx, key.App, key.User, "this", session.Page{})
	for _, one := range said {
		fmt.Fprintln(&b, *one)
	}
	lister, _ := s.(session.FeedbackLister)
	given, _, err11 := lister.ListFeedback(ctx, session.FeedbackQuery{App: key.App, User: key.User}, session.Page{})
	for _, one := range given {
		fmt.Fprintln(&b, *one)
	}
	schedules, _ := s.(session.Schedules)
	planned, err7 := schedules.ListSchedules(ctx, key.App, key.User)
	for _, one := range planned {
		fmt.Fprintln(&b, one.ID, one.Version, one.Created.UnixMicro(), one.Next.Unix())
	}
	fired, err8 := schedules.Firings(ctx, key.App, key.User, "daily")
	fmt.Fprintln(&b, len(fired))
	all, err10 := outbox.AppDeliveries(ctx, key.App, "wide", 0, 1000)
	for _, d := range append(deliveries, all...) {
		if d.Key == key {
			fmt.Fprintln(&b, d.Number, d.Run, d.Status, d.ID, d.Notice)
		}
	}
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&b, usage, len(subscriptions))
	return b.String()
}

// A database is added to one that has users. Nothing of theirs is lost or changed, and
// what runs goes on.
func TestMove(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	first, second := empty(t, database), empty(t, database)
	alone := open(t, first, session.Options{Owner: "one", Lease: time.Hour})
	const users = 24
	before := make([]string, users)
	for i := range users {
		fillUser(t, alone, userKey(i))
		rate(t, alone, userKey(i))
	}
	for i := range users {
		before[i] = described(t, alone, userKey(i))
	}
	if err := alone.PutAPIKey(t.Context(), &session.APIKey{ID: "k", Hash: []byte("h")}); err != nil {
		t.Fatal(err)
	}
	third := empty(t, database)
	fillUser(t, open(t, third, session.Options{}), userKey(0))
	if _, err := postgres.Open(t.Context(), first+","+third, session.Options{}); err == nil || !strings.Contains(err.Error(), "must be empty") {
		t.Fatalf("two databases with sessions: error %v", err)
	}
	list := second + "," + first // the one with users is the first, wherever it is in the list
	m := openParts(t, list)
	for i := range users {
		if m.HomeOf(userKey(i)) != 0 {
			t.Fatal("a user has moved without being asked to")
		}
	}
	var steps int
	moved, err := postgres.Move(t.Context(), list, session.Options{Owner: "mover"}, func(session.Moved) { steps++ })
	if err != nil {
		t.Fatal(err)
	}
	if moved.Slots == 0 || moved.DoneSlots != moved.Slots || moved.DoneSessions != moved.Sessions || len(moved.Databases) != 2 || steps == 0 {
		t.Errorf("moved %+v in %d steps", moved, steps)
	}
	there := 0
	for i := range users {
		k := userKey(i)
		if after := described(t, m, k); after != before[i] {
			t.Errorf("user %d had\n%s\nand has\n%s", i, before[i], after)
		}
		if m.HomeOf(k) == 1 {
			there++
		}
		runs, _, err := m.ListRuns(t.Context(), k, session.Page{})
		if err != nil {
			t.Fatal(err)
		}
		epoch := runs[1].Epoch
		if err := m.Append(t.Context(), k, epoch, nil, say("later")); err != nil {
			t.Fatalf("the run of user %d does not go on: %v", i, err)
		}
		if queued, err := m.End(t.Context(), k, epoch, session.End{Status: session.Completed}); err != nil || !queued {
			t.Fatalf("the run of user %d does not end: %v, %v", i, queued, err)
		}
		next, err := m.Claim(t.Context(), k, session.Read{})
		if err != nil || next.Run.Epoch <= epoch || next.Run.ID != k.ID+"-queued" {
			t.Fatalf("after the epoch %d: %+v, error %v", epoch, next, err)
		}
		if begun, err := m.Begin(t.Context(), session.NewRun{ID: "again", Key: k, Request: request, IdempotencyKey: "idem"}); err != nil || !begun.Repeat {
			t.Errorf("a repeated request: %+v, error %v", begun, err)
		}
		if _, err := m.Create(t.Context(), session.NewSession{Key: k}); !errors.Is(err, session.ErrExists) {
			t.Errorf("creating a session again: %v", err)
		}
		fresh, err := m.Create(t.Context(), session.NewSession{Key: session.Key{App: k.App, User: k.User, ID: "fresh"}})
		if err != nil {
			t.Fatal(err)
		}
		if list, _, err := m.List(t.Context(), k.App, k.User, session.Page{}); err != nil || list[0].Ordinal != fresh.Ordinal {
			t.Errorf("the newest session is not the first: %v", err)
		}
		if string(fresh.State["app:user0"]) != "3" {
			t.Errorf("the state of the application is %s", fresh.State)
		}
	}
	if there == 0 || there == users {
		t.Errorf("%d of %d users are in the second database", there, users)
	}
	if n := count(t, first, "parley_sessions"); n != (users-there)*3 {
		t.Errorf("%d sessions are left in the first database, of %d users", n, users-there)
	}
	for _, url := range []string{first, second} {
		if n := count(t, url, "parley_moving"); n != 0 {
			t.Errorf("%d rows are still on their way", n)
		}
	}
	if _, err := m.APIKey(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	// A server that does not know the second database cannot change anything there.
	away := 0
	for i := range users {
		if m.HomeOf(userKey(i)) == 1 {
			away = i
		}
	}
	k := userKey(away)
	if _, err := alone.Create(t.Context(), session.NewSession{Key: session.Key{App: k.App, User: k.User, ID: "lost"}}); err == nil || !strings.Contains(err.Error(), "add it to the list of databases") {
		t.Errorf("a user who has moved gets a session: %v", err)
	}
	if _, err := alone.PutSecret(t.Context(), &session.Secret{SecretID: session.SecretID{App: k.App, User: k.User, Name: "lost"}}); err == nil {
		t.Error("a user who has moved gets a secret")
	}
	if again, err := postgres.Move(t.Context(), list, session.Options{Owner: "mover"}, nil); err != nil || again.Slots != 0 {
		t.Errorf("a second move: %+v, error %v", again, err)
	}
}

// Users talk while they are moved, and the process that moves them is interrupted
// again and again. None of them may notice anything.
func TestMoveWhileServing(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	first, second := empty(t, database), empty(t, database)
	const users = 16
	alone := open(t, first, session.Options{Lease: time.Hour})
	talks := make([]*talk, users)
	for i := range talks {
		talks[i] = &talk{key: userKey(i), plain: i%2 == 0}
		if _, err := alone.Create(t.Context(), session.NewSession{Key: talks[i].key}); err != nil {
			t.Fatal(err)
		}
	}
	list := first + "," + second
	servers := []*postgres.Many{openParts(t, list), openParts(t, list)}
	ctx := session.Insist(t.Context())
	var stop atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, users)
	for i, c := range talks {
		wg.Go(func() {
			for n := 0; !stop.Load() && errs[i] == nil; n++ {
				errs[i] = c.turn(ctx, servers[(i+n)%2])
			}
		})
	}
	wg.Go(func() { // it locks rows that move
		for !stop.Load() {
			for _, s := range servers {
				if _, err := s.Renew(ctx); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	var made []session.Key
	wg.Go(func() { // a session must not be created where its user has left
		for n := 0; n < 500 && !stop.Load(); n++ {
			k := session.Key{App: "app", User: fmt.Sprint("new", n%64), ID: fmt.Sprint("made", n)}
			if _, err := servers[n%2].Create(ctx, session.NewSession{Key: k}); err != nil {
				t.Errorf("creating a session: %v", err)
				return
			}
			made = append(made, k)
		}
	})
	interrupted := 0
	for wait := 20 * time.Millisecond; ; wait += wait/4 + time.Duration(rand.Int64N(int64(wait/4))) {
		short, cancel := context.WithTimeout(t.Context(), wait)
		_, err := postgres.Move(short, list, session.Options{Owner: fmt.Sprint("mover-", owners.Add(1))}, nil)
		cancel()
		if err == nil {
			break
		}
		if short.Err() == nil {
			t.Fatal(err)
		}
		interrupted++
	}
	stop.Store(true)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, k := range made {
		if _, err := servers[i%2].Get(t.Context(), k, session.Read{}); err != nil {
			t.Errorf("%v: %v", k, err)
		}
	}
	turns, there := 0, 0
	for _, c := range talks {
		c.check(t, servers[0])
		c.check(t, servers[1])
		turns += c.runs
		there += int(servers[0].HomeOf(c.key))
	}
	if there == 0 || there == users {
		t.Errorf("%d of %d users are in the second database", there, users)
	}
	t.Logf("%d runs, %d sessions, %d interrupted moves", turns, len(made), interrupted)
}

// A process that is killed in the middle of a move leaves a user in neither database.
// The next server that looks for the user completes the move.
func TestMoveCompletedByServer(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	list := two(t, database)
	m, other := openParts(t, list), openParts(t, list)
	k := userKey(1)
	fillUser(t, m, k)
	before, home := described(t, m, k), m.HomeOf(k)
	held, err := m.Renew(t.Context())
	if err != nil || len(held) != 1 {
		t.Fatalf("held are %v, error %v", held, err)
	}
	if err := m.Leave(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if during, err := m.Renew(t.Context()); err != nil || !slices.Equal(during, held) {
		t.Errorf("held while the user moves are %v, error %v, want %v", during, err, held)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := other.Get(t.Context(), k, session.Read{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if after := described(t, m, k); after != before {
		t.Errorf("the user had\n%s\nand has\n%s", before, after)
	}
	if m.HomeOf(k) == home || other.HomeOf(k) == home {
		t.Error("the user has not moved")
	}
	// A call whose answer was lost before the user moved is not executed again.
	twice := say("twice")
	for range 2 {
		if err := m.Append(t.Context(), k, held[0].Epoch, nil, twice); err != nil || twice.Seq != 5 {
			t.Errorf("the entry is #%d, error %v", twice.Seq, err)
		}
		if err := other.Leave(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	before = described(t, m, k)
	// And back, where rows of the first move may be left.
	if err := other.Leave(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if after := described(t, m, k); after != before {
		t.Errorf("the user had\n%s\nand has\n%s", before, after)
	}
}

// Every table is either one whose rows move, or known not to.
func TestMoveKnowsTables(t *testing.T) {
	t.Parallel()
	url := empty(t, pgtest.Quick(t).Database(t))
	open(t, url, session.Options{})
	var names []string
	one(t, url, `SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = current_schema()`, &names)
	stay := []string{
		"parley_schema", "parley_place", "parley_members", "parley_slots", "parley_moving",
		"parley_api_keys",  // all are in the first database
		"parley_endpoints", // all are in each database
		"parley_tries",     // of requests to this database
	}
	for _, name := range names {
		if !slices.Contains(postgres.Tables(), name) && !slices.Contains(stay, name) {
			t.Errorf("does %s move with its users?", name)
		}
	}
}

// While one database cannot be used, users of the other one notice nothing.
func TestOneOfTwoDown(t *testing.T) {
	t.Parallel()
	server, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	m := openParts(t, empty(t, pgtest.Quick(t).Database(t))+","+server.URL())
	m.SetPatience(15 * time.Second) // what needs the one that is down takes that long
	var up, down session.Key
	for i := 0; up.ID == "" || down.ID == ""; i++ {
		if m.HomeOf(userKey(i)) == 0 {
			up = userKey(i)
		} else {
			down = userKey(i)
		}
	}
	for _, k := range []session.Key{up, down} {
		if _, err := m.Create(t.Context(), session.NewSession{Key: k}); err != nil {
			t.Fatal(err)
		}
	}
	c := &talk{key: up}
	if err := c.turn(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	server.Stop(pgtest.Immediate)
	eventually(t, func() error {
		if err := m.Patch(t.Context(), down, say("e")); err == nil {
			return errors.New("it can still be changed")
		}
		return nil
	})
	wantUnavailable(t, "Get", func() error { _, err := m.Get(t.Context(), down, session.Read{}); return err })
	partial, ok := errors.AsType[*session.PartialError](m.Ready(t.Context()))
	if !ok || len(partial.Names) != 1 {
		t.Errorf("Ready: %v", m.Ready(t.Context()))
	}
	for range 5 {
		if err := c.turn(t.Context(), m); err != nil { // it changes app: keys, too
			t.Fatal(err)
		}
	}
	ctx := session.Insist(t.Context())
	begun, err := m.Begin(ctx, session.NewRun{ID: "held", Key: up, Request: request, Message: say("m")})
	if err != nil {
		t.Fatal(err)
	}
	if held, err := m.Renew(ctx); err == nil || len(held) != 1 || held[0].Epoch != begun.Run.Epoch {
		t.Errorf("held are %v, error %v", held, err)
	}
	if _, err := m.Idle(ctx, 10); err != nil {
		t.Errorf("Idle: %v", err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return m.Patch(t.Context(), down, say("back")) })
	eventually(t, func() error { return m.Ready(t.Context()) })
	eventually(t, func() error { // what has changed in the meantime is known there, too
		got, err := m.Get(t.Context(), down, session.Read{})
		if err == nil && string(got.State["app:"+up.ID]) != "2" {
			err = fmt.Errorf("the state is %s", got.State)
		}
		return err
	})
}

// blocked waits until so many connections to a database wait for a lock.
func blocked(t *testing.T, database string, n int) {
	t.Helper()
	eventually(t, func() error {
		var waiting int
		one(t, database, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`, &waiting)
		if waiting < n {
			return fmt.Errorf("%d connections wait for a lock, want %d", waiting, n)
		}
		return nil
	})
}

// A user does not leave while a transaction of that user is in progress: what it stores
// moves, too.
func TestMoveWaitsForWriters(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		obstacle string // a row for which the writer has to wait in the middle
		write    func(*postgres.Many, session.Key, int64) error
		want     int // entries
	}{
		"Append": {
			`INSERT INTO parley_events (session, seq, json) SELECT ordinal, 5, '' FROM parley_sessions WHERE digest = $1 AND $2::bytea IS NOT NULL`,
			func(m *postgres.Many, k session.Key, epoch int64) error {
				return m.Append(t.Context(), k, epoch, nil, say("appended"))
			}, 5,
		},
		"Create": {
			`INSERT INTO parley_sessions (digest, owner, app, usr, id, hidden, nonce, ttl, created, updated)
				SELECT $2, $2, '', '', '', false, 0, 0, now(), now() WHERE $1::bytea IS NOT NULL`,
			func(m *postgres.Many, k session.Key, _ int64) error {
				_, err := m.Create(t.Context(), session.NewSession{Key: createdBy(k)})
				return err
			}, 4,
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			database := pgtest.Quick(t).Database(t)
			list := two(t, database)
			m := openParts(t, list)
			k := userKey(1)
			fillUser(t, m, k)
			held, err := m.Renew(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tx := locking(t, sessionrt.URLs(list)[m.HomeOf(k)], "id = 'locked' FOR UPDATE")
			digest, created := k.Digest(), createdBy(k).Digest()
			if _, err := tx.Exec(t.Context(), test.obstacle, digest[:], created[:]); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := test.write(m, k, held[0].Epoch); err != nil {
					t.Error(err)
				}
			})
			blocked(t, database, 1)
			wg.Go(func() {
				if err := m.Leave(t.Context(), k); err != nil {
					t.Error(err)
				}
			})
			blocked(t, database, 2)
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			if got, err := m.Get(t.Context(), k, session.Read{}); err != nil || len(got.Entries) != test.want || got.Seq != int64(test.want) {
				t.Errorf("%+v, error %v", got, err)
			}
			if _, err := m.Get(t.Context(), createdBy(k), session.Read{}); err != nil && what == "Create" {
				t.Error(err)
			}
		})
	}
}

// createdBy is another session of a user.
func createdBy(k session.Key) session.Key {
	return session.Key{App: k.App, User: k.User, ID: "created"}
}

// A server that opens while a user is in neither database asks the one where the user is
// to arrive. Its answer is not taken for final if the user arrives afterwards.
func TestMoveArrivesAfterAnswer(t *testing.T) {
	t.Parallel()
	list := two(t, pgtest.Quick(t).Database(t))
	m := openParts(t, list)
	k := userKey(1)
	for i := range 4 { // databases without users get some when they are opened
		fillUser(t, m, userKey(i))
	}
	if err := m.Leave(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	late := openParts(t, list)
	asked := 0
	_, err := late.GetThen(t.Context(), k, func() {
		if asked++; asked > 1 {
			return
		}
		if _, err := m.Get(t.Context(), k, session.Read{}); err != nil { // it has the user arrive
			t.Error(err)
		}
	})
	if err != nil || asked != 2 {
		t.Errorf("after %d answers: %v", asked, err)
	}
	// What is not there is found out with one answer.
	asked = 0
	k.ID = "another"
	if _, err := late.GetThen(t.Context(), k, func() { asked++ }); !errors.Is(err, session.ErrNotFound) || asked != 1 {
		t.Errorf("after %d answers: %v", asked, err)
	}
}

// Numbers can be read while another process advances them.
func TestNumbersWhileAdvanced(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.Quick(t).Database(t), session.Options{})
	done := make(chan error, 1)
	go func() {
		for range 100 {
			past, err := s.Counted(t.Context())
			if err == nil {
				err = s.Advance(t.Context(), past)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if _, err := s.Counted(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
