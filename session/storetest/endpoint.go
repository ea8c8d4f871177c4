package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

// appKey is the application of key.
func appKey() session.Key { return session.Key{App: key("").App} }

// waiting wants a subscription of the application to have these deliveries.
func (k *kit) waiting(id, want string) []*session.Delivery {
	k.Helper()
	list, err := k.store.Outbox.AppDeliveries(k.Context(), appKey().App, id, 0, 100)
	if err != nil {
		k.Fatalf("AppDeliveries: %v", err)
	}
	if got := briefs(list); got != want {
		k.Errorf("the deliveries of %s are %q, want %q", id, got, want)
	}
	return list
}

func (k *kit) publish(n session.Notice) {
	k.Helper()
	if err := k.store.Outbox.Publish(k.Context(), &n); err != nil {
		k.Fatalf("Publish(%s): %v", n.ID, err)
	}
}

func outboxApplication(p *place) {
	k := p.as("a", time.Hour)
	k.subscribe(appKey(), "one")
	k.subscribe(appKey(), "two")
	k.subscribe(session.Key{App: "another"}, "three")
	err := k.store.Outbox.PutSubscription(k.Context(), &session.Subscription{Key: session.Key{App: "another"}, ID: "one"}, "")
	if !errors.Is(err, session.ErrExists) {
		k.Errorf("a subscription with an id of another application: %v, want ErrExists", err)
	}
	again := &session.Subscription{Key: appKey(), ID: "one", Kind: "new", Label: "new label"}
	if err := k.store.Outbox.PutSubscription(k.Context(), again, ""); err != nil {
		k.Fatal(err)
	}
	list, err := k.store.Outbox.Subscriptions(k.Context(), appKey())
	if err != nil || len(list) != 2 || list[0].Kind != "new" || list[0].Label != "new label" || list[1].Kind != "test" || list[1].ID != "two" {
		k.Fatalf("Subscriptions: %v, %v", list, err)
	}
	k.unsubscribe(appKey(), "three") // of another application
	k.unsubscribe(appKey(), "one")
	k.unsubscribe(appKey(), "one")
	if got := k.subscribed(appKey()); got != "two" {
		k.Errorf("after one was deleted, there are %q", got)
	}
	if got := k.subscribed(session.Key{App: "another"}); got != "three" {
		k.Errorf("the other application has %q", got)
	}
}

// Endpoints are notified of the end of a run however it ends, and only then.
func outboxApplicationChanges(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	k.complete(at, k.start("before", at))
	k.subscribe(appKey(), "x")
	k.subscribe(session.Key{App: "another"}, "other")

	first := k.start("r1", at)
	k.enqueue("r2", at)
	k.enqueue("r3", at)
	k.stop(at, "r3", session.StopCancel)
	k.end(at, first, session.End{Status: session.Waiting})
	second := k.claims(at, "r2")
	k.enqueue("r4", at)
	interrupt := asked("r5", at)
	interrupt.Busy = session.Interrupt
	k.begin(interrupt)
	k.end(at, second, session.End{Status: session.Cancelled, Failure: &session.Failure{Type: session.FailureCancelled}})
	k.subscribe(at, "own")
	k.complete(at, k.claims(at, "r5"))
	k.noted(at, "own:r5=running own:r5=completed")
	k.end(at, k.start("r6", at), session.End{Status: session.Completed, Settled: []session.Settled{{Run: "before", Status: session.Completed}}})
	epoch := k.start("r7", at)
	if _, err := k.store.End(k.Context(), at, epoch+1, session.End{Status: session.Completed}); !errors.Is(err, session.ErrFenced) {
		k.Errorf("End under another epoch: %v", err)
	}
	k.end(at, epoch, session.End{Discard: true})
	if err := k.store.Expire(k.Context(), at, k.get(at).Seq, []string{"r1", "r5"}, &session.Failure{Type: "expired"}); err != nil {
		k.Fatal(err)
	}
	began := time.Now().Add(-time.Hour)
	for _, d := range k.waiting("x", "x:r3=cancelled x:r1=waiting x:r4=cancelled x:r2=cancelled x:r5=completed x:r6=completed x:r1=failed") {
		if !d.All || d.Key != at || d.Kind != "test" || d.Label != "about x" || d.At.Before(began) || d.Age < 0 || d.Number == 0 || d.Type != "" {
			k.Errorf("a delivery is %+v", d)
		}
	}
	if list, err := k.store.Outbox.AppDeliveries(k.Context(), "another", "other", 0, 10); err != nil || len(list) > 0 {
		k.Errorf("the other application has the deliveries %q, error %v", briefs(list), err)
	}
	if pending, failed, err := k.store.Outbox.CountDeliveries(k.Context()); err != nil || pending != 13 || failed != 0 {
		k.Errorf("%d deliveries are pending, %d have failed, error %v", pending, failed, err)
	}
}

// The deliveries about a session follow each other. Those about others are sent beside
// them, as far as the limit of the receiver allows.
func outboxApplicationOrder(p *place) {
	k := p.as("a", time.Hour)
	k.subscribe(appKey(), "x")
	k.subscribe(appKey(), "y")
	const sessions = 6
	for i := range sessions {
		at := key(fmt.Sprint("s", i))
		k.create(at, nil)
		for _, run := range []string{"a", "b"} {
			k.complete(at, k.start(fmt.Sprint(run, i), at))
		}
	}
	claim := func(limit int, limits map[string]int) []*session.Delivery {
		k.Helper()
		list, err := k.store.Outbox.ClaimDeliveries(k.Context(), time.Hour, limit, limits)
		if err != nil {
			k.Fatal(err)
		}
		return list
	}
	if list := claim(10, map[string]int{"x": 0, "y": 0}); len(list) > 0 {
		k.Errorf("with limits of 0, %q are due", briefs(list))
	}
	if list := claim(1, map[string]int{"x": 0}); len(list) != 1 || list[0].ID != "y" {
		k.Errorf("the first one is %q", briefs(list))
	}
	list := claim(100, map[string]int{"y": 0})
	if len(list) != session.MaxClaimed {
		k.Fatalf("due are %q", briefs(list))
	}
	seen := map[session.Key]bool{}
	for _, d := range list {
		if d.ID != "x" || !strings.HasPrefix(d.Run, "a") || seen[d.Key] {
			k.Errorf("%s is due in %v", brief(d), d.Key)
		}
		seen[d.Key] = true
	}
	k.sent(list[0])
	k.retry(list[1], time.Hour, "it failed")
	if err := k.store.Outbox.FailDelivery(k.Context(), list[2], "it is given up"); err != nil {
		k.Fatal(err)
	}
	var runs []string
	for _, d := range claim(100, map[string]int{"y": 0}) {
		runs = append(runs, d.Run)
	}
	for i := range sessions {
		if !slices.ContainsFunc(list, func(d *session.Delivery) bool { return d.Run == fmt.Sprint("a", i) }) {
			list = append(list, &session.Delivery{Run: fmt.Sprint("a", i)})
		}
	}
	// Those after the one that was sent and the one that was given up, and those of the
	// sessions that were not claimed yet.
	want := []string{"b" + list[0].Run[1:], "b" + list[2].Run[1:], list[4].Run, list[5].Run}
	slices.Sort(runs)
	slices.Sort(want)
	if !slices.Equal(runs, want) {
		k.Errorf("then %v are due, want %v", runs, want)
	}
}

// What a receiver has not accepted for long is given up together, and can be replayed.
func outboxApplicationGivenUp(p *place) {
	k := p.as("a", time.Hour)
	k.subscribe(appKey(), "x")
	k.subscribe(appKey(), "y")
	for _, id := range []string{"s", "t"} {
		k.create(key(id), nil)
		k.complete(key(id), k.start("in "+id, key(id)))
	}
	fail := func(app, id string, age time.Duration) {
		k.Helper()
		if err := k.store.Outbox.FailDeliveries(k.Context(), app, id, age, "it is not there"); err != nil {
			k.Fatal(err)
		}
	}
	fail(appKey().App, "x", time.Hour)
	fail("another", "x", -time.Hour)
	fail(appKey().App, "none", -time.Hour)
	for _, d := range k.waiting("x", "x:in s=completed x:in t=completed") {
		if d.Failed {
			k.Errorf("%s is given up", d.Run)
		}
	}
	fail(appKey().App, "x", -time.Hour)
	list := k.waiting("x", "x:in s=completed x:in t=completed")
	for _, d := range list {
		if !d.Failed || d.Error != "it is not there" {
			k.Errorf("%s is %+v", d.Run, d)
		}
	}
	k.due(10, "y:in s=completed", "y:in t=completed")
	if err := k.store.Outbox.ReplayDelivery(k.Context(), appKey().App, "x", list[1].Number); err != nil {
		k.Fatal(err)
	}
	k.due(10, "x:in t=completed")
}

// Nothing is sent to a receiver that was deleted, or about a session that was.
func outboxApplicationDeleted(p *place) {
	k := p.as("a", time.Hour)
	k.subscribe(appKey(), "x")
	k.subscribe(appKey(), "y")
	for _, id := range []string{"s", "t"} {
		k.create(key(id), nil)
		k.complete(key(id), k.start("in "+id, key(id)))
	}
	k.publish(session.Notice{Key: key("s"), ID: "n", Type: "test.notice", JSON: []byte("{}")})
	k.unsubscribe(appKey(), "x")
	k.waiting("x", "")
	k.delete(key("s"))
	k.waiting("y", "y:in t=completed")
	k.sent(k.due(10, "y:in t=completed")[0])
	k.subscribe(appKey(), "x")
	k.due(10)
	for _, age := range []time.Duration{time.Hour, -time.Hour} {
		if err := k.store.Outbox.SweepDeliveries(k.Context(), age); err != nil {
			k.Fatal(err)
		}
	}
	k.due(10)
}

// A notice is published once, however often that is attempted.
func outboxNotices(p *place) {
	a, b := p.two()
	at := key("s")
	a.create(at, nil)
	user := session.Key{App: at.App, User: at.User}
	notice := session.Notice{Key: user, ID: "n1", Type: "test.notice", JSON: []byte(`{"n":1}`)}
	a.publish(notice) // to none
	a.subscribe(appKey(), "x")
	a.publish(notice)
	b.publish(notice)
	about := session.Notice{Key: at, ID: "n1", Type: "test.other", Run: "r", JSON: []byte(`{}`)}
	a.publish(about)
	b.publish(about)
	b.publish(session.Notice{Key: session.Key{App: "another"}, ID: "n1", Type: "test.notice", JSON: []byte(`{}`)})
	none := session.Notice{Key: key("none"), ID: "n2", Type: "test.notice", JSON: []byte(`{}`)}
	if err := a.store.Outbox.Publish(a.Context(), &none); !errors.Is(err, session.ErrNotFound) {
		a.Errorf("a notice about a session that does not exist: %v, want ErrNotFound", err)
	}
	list := a.waiting("x", "x:= x:r=")
	if len(list) != 2 {
		a.FailNow()
	}
	if d := list[0]; !d.All || d.Key != user || d.Notice != "n1" || d.Type != "test.notice" || string(d.JSON) != `{"n":1}` {
		a.Errorf("the notice about a user is %+v", d)
	}
	if d := list[1]; d.Key != at || d.Run != "r" || d.Type != "test.other" {
		a.Errorf("the notice about a session is %+v", d)
	}
	for _, d := range b.due(10, "x:=", "x:r=") {
		b.sent(d)
	}
	a.publish(notice)
	a.publish(about)
	a.waiting("x", "")
	if err := a.store.Outbox.SweepDeliveries(a.Context(), time.Hour); err != nil {
		a.Fatal(err)
	}
	b.publish(notice)
	a.waiting("x", "")
	if err := a.store.Outbox.SweepDeliveries(a.Context(), -time.Hour); err != nil {
		a.Fatal(err)
	}
	b.publish(notice)
	a.waiting("x", "x:=")
}

func outboxReplay(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	k.subscribe(appKey(), "x")
	k.complete(at, k.start("r1", at))
	k.complete(at, k.start("r2", at))
	first := k.due(10, "x:r1=completed")[0]
	if err := k.store.Outbox.FailDelivery(k.Context(), first, "it is gone"); err != nil {
		k.Fatal(err)
	}
	second := k.due(10, "x:r2=completed")[0]
	k.retry(second, time.Hour, "it failed")
	if pending, failed, err := k.store.Outbox.CountDeliveries(k.Context()); err != nil || pending != 1 || failed != 1 {
		k.Errorf("%d deliveries are pending, %d have failed, error %v", pending, failed, err)
	}
	for _, wrong := range []struct {
		app, id string
		number  int64
	}{{at.App, "x", second.Number + 1000}, {at.App, "y", first.Number}, {"another", "x", first.Number}} {
		if err := k.store.Outbox.ReplayDelivery(k.Context(), wrong.app, wrong.id, wrong.number); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("ReplayDelivery of %v: %v, want ErrNotFound", wrong, err)
		}
	}
	for _, d := range []*session.Delivery{first, second} {
		if err := k.store.Outbox.ReplayDelivery(k.Context(), at.App, "x", d.Number); err != nil {
			k.Fatal(err)
		}
	}
	again := k.due(10, "x:r1=completed")[0]
	if again.Attempt != 1 || again.Failed || again.Number != first.Number || !again.At.Equal(first.At) {
		k.Errorf("the replayed delivery is %+v", again)
	}
	k.sent(again)
	if again = k.due(10, "x:r2=completed")[0]; again.Attempt != 2 {
		k.Errorf("the delivery that is attempted early is %+v", again)
	}
	k.sent(again)
	list, err := k.store.Outbox.AppDeliveries(k.Context(), at.App, "x", 0, 10)
	if err != nil || len(list) > 0 {
		k.Errorf("left are %q, error %v", briefs(list), err)
	}
}

// What was given up is listed for its application, whatever it is a subscription of, and
// can be replayed.
func outboxDeadLetters(p *place) {
	k := p.as("a", time.Hour)
	other := key("s")
	other.App = "another"
	k.subscribe(appKey(), "x")
	k.subscribe(session.Key{App: "another"}, "y")
	for _, at := range []session.Key{key("s"), key("t"), other} {
		k.create(at, nil)
		k.subscribe(at, "own")
		k.complete(at, k.start("in "+at.ID+" of "+at.App, at))
	}
	k.publish(session.Notice{Key: appKey(), ID: "n", Type: "test.notice", JSON: []byte("{}")})
	failed := func(after int64, limit int, want string) []*session.Delivery {
		k.Helper()
		list, err := k.store.Outbox.FailedDeliveries(k.Context(), appKey().App, after, limit)
		if err != nil {
			k.Fatalf("FailedDeliveries: %v", err)
		}
		if got := briefs(list); got != want {
			k.Fatalf("after %d, %q are given up, want %q", after, got, want)
		}
		return list
	}
	failed(0, 10, "")
	for range 2 { // those of a session follow each other
		list, err := k.store.Outbox.ClaimDeliveries(k.Context(), time.Hour, 100, nil)
		if err != nil {
			k.Fatal(err)
		}
		for _, d := range list {
			if d.Key.ID == "t" && d.All {
				continue // it stays pending
			}
			if err := k.store.Outbox.FailDelivery(k.Context(), d, "it is not there"); err != nil {
				k.Fatal(err)
			}
		}
	}
	s, t := "in s of "+appKey().App, "in t of "+appKey().App
	list, err := k.store.Outbox.FailedDeliveries(k.Context(), appKey().App, 0, 100)
	if err != nil {
		k.Fatal(err)
	}
	var got []string
	for i, d := range list {
		if !d.Failed || d.Error != "it is not there" || d.Kind != "test" || d.Key.App != appKey().App || i > 0 && list[i-1].Number >= d.Number {
			k.Errorf("a delivery that was given up is %+v", d)
		}
		got = append(got, brief(d))
	}
	slices.Sort(got)
	want := []string{"own:" + s + "=completed", "own:" + s + "=running", "own:" + t + "=completed", "own:" + t + "=running", "x:=", "x:" + s + "=completed"}
	if !slices.Equal(got, want) {
		k.Fatalf("%q are given up, want %q", got, want)
	}
	failed(0, 2, briefs(list[:2]))
	failed(list[1].Number, 2, briefs(list[2:4]))
	failed(list[5].Number, 2, "")
	failed(0, 0, "")

	for _, wrong := range []struct {
		app    string
		number int64
	}{{appKey().App, list[5].Number + 1000}, {"another", list[0].Number}, {"another", list[5].Number}} {
		if err := k.store.Outbox.ReplayFailed(k.Context(), wrong.app, wrong.number); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("ReplayFailed of %v: %v, want ErrNotFound", wrong, err)
		}
	}
	for _, d := range list {
		if err := k.store.Outbox.ReplayFailed(k.Context(), appKey().App, d.Number); err != nil {
			k.Fatalf("ReplayFailed of %s: %v", brief(d), err)
		}
		if err := k.store.Outbox.ReplayFailed(k.Context(), appKey().App, d.Number); !errors.Is(err, session.ErrNotFound) {
			k.Errorf("ReplayFailed of %s again: %v, want ErrNotFound", brief(d), err)
		}
	}
	failed(0, 10, "")
	for _, d := range k.due(10, "own:"+s+"=running", "own:"+t+"=running", "x:=", "x:"+s+"=completed") {
		if d.Attempt != 1 || d.Age > time.Hour {
			k.Errorf("the replayed delivery is %+v", d)
		}
		k.sent(d)
	}
	k.due(10, "own:"+s+"=completed", "own:"+t+"=completed")

	// What belongs to a session that was deleted, or to a receiver, goes with it.
	if err := k.store.Outbox.FailDeliveries(k.Context(), appKey().App, "x", -time.Hour, "late"); err != nil {
		k.Fatal(err)
	}
	failed(0, 10, "x:"+t+"=completed")
	k.unsubscribe(appKey(), "x")
	failed(0, 10, "")
}
