package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
)

// RunOutbox runs the tests for the Outbox of a store. open is like that of RunShared,
// except that the function may return the same store each time, if no other process can
// use it.
func RunOutbox(t *testing.T, open func(t *testing.T) func(session.Options) session.Store) {
	t.Helper()
	runPlaces(t, open, []sharedTest{
		{"Subscriptions", outboxSubscriptions},
		{"Changes", outboxChanges},
		{"Late", outboxLate},
		{"Refused", outboxRefused},
		{"Order", outboxOrder},
		{"Lease", outboxLease},
		{"Together", outboxTogether},
		{"Left", outboxLeft},
		{"Failed", outboxFailed},
		{"Deleted", outboxDeleted},
		{"Added", outboxAdded},
		{"Application", outboxApplication},
		{"ApplicationChanges", outboxApplicationChanges},
		{"ApplicationOrder", outboxApplicationOrder},
		{"ApplicationDeleted", outboxApplicationDeleted},
		{"ApplicationGivenUp", outboxApplicationGivenUp},
		{"Traces", outboxTraces},
		{"Notices", outboxNotices},
		{"Replay", outboxReplay},
		{"DeadLetters", outboxDeadLetters},
	})
}

func (k *kit) subscribe(key session.Key, id string) {
	k.Helper()
	if err := k.store.Outbox.PutSubscription(k.Context(), &session.Subscription{Key: key, ID: id, Kind: "test", Label: "about " + id}, ""); err != nil {
		k.Fatalf("PutSubscription(%v, %s): %v", key, id, err)
	}
}

func (k *kit) unsubscribe(key session.Key, id string) {
	k.Helper()
	if err := k.store.Outbox.DeleteSubscription(k.Context(), key, id); err != nil {
		k.Fatalf("DeleteSubscription(%v, %s): %v", key, id, err)
	}
}

// subscribed are the ids of the subscriptions.
func (k *kit) subscribed(key session.Key) string {
	k.Helper()
	list, err := k.store.Outbox.Subscriptions(k.Context(), key)
	if err != nil {
		k.Fatalf("Subscriptions(%v): %v", key, err)
	}
	var ids []string
	for _, s := range list {
		if s.Key != key || s.Created.IsZero() {
			k.Errorf("a subscription of %v is %+v", key, s)
		}
		ids = append(ids, s.ID)
	}
	return strings.Join(ids, " ")
}

// brief is a delivery in a word.
func brief(d *session.Delivery) string { return d.ID + ":" + d.Run + "=" + string(d.Status) }

func briefs(list []*session.Delivery) string {
	var words []string
	for _, d := range list {
		words = append(words, brief(d))
	}
	return strings.Join(words, " ")
}

// noted wants the session to have these deliveries.
func (k *kit) noted(key session.Key, want string) []*session.Delivery {
	k.Helper()
	list, err := k.store.Outbox.Deliveries(k.Context(), key)
	if err != nil {
		k.Fatalf("Deliveries(%v): %v", key, err)
	}
	if got := briefs(list); got != want {
		k.Errorf("the deliveries of %v are %q, want %q", key, got, want)
	}
	return list
}

// due claims deliveries on a lease that does not end, and wants these, in any order.
func (k *kit) due(limit int, want ...string) []*session.Delivery {
	k.Helper()
	return k.dueFor(time.Hour, limit, want...)
}

func (k *kit) dueFor(lease time.Duration, limit int, want ...string) []*session.Delivery {
	k.Helper()
	list, err := k.store.Outbox.ClaimDeliveries(k.Context(), lease, limit, nil)
	if err != nil {
		k.Fatalf("ClaimDeliveries: %v", err)
	}
	var got []string
	for _, d := range list {
		got = append(got, brief(d))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		k.Fatalf("due are %v, want %v", got, want)
	}
	return list
}

func (k *kit) sent(d *session.Delivery) {
	k.Helper()
	if err := k.store.Outbox.EndDelivery(k.Context(), d); err != nil {
		k.Fatalf("EndDelivery: %v", err)
	}
}

func (k *kit) retry(d *session.Delivery, after time.Duration, reason string) {
	k.Helper()
	if err := k.store.Outbox.RetryDelivery(k.Context(), d, after, reason); err != nil {
		k.Fatalf("RetryDelivery: %v", err)
	}
}

func outboxSubscriptions(p *place) {
	k := p.as("a", time.Hour)
	if err := k.store.Outbox.PutSubscription(k.Context(), &session.Subscription{Key: key("none"), ID: "x"}, ""); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("a subscription of a session that does not exist: %v, want ErrNotFound", err)
	}
	if got := k.subscribed(key("none")); got != "" {
		k.Errorf("a session that does not exist has %q", got)
	}
	for _, id := range []string{"s", "other"} {
		k.create(key(id), nil)
		k.subscribe(key(id), "one")
		k.subscribe(key(id), "two")
	}
	again := &session.Subscription{Key: key("s"), ID: "one", Kind: "new", Label: "new label"}
	if err := k.store.Outbox.PutSubscription(k.Context(), again, ""); err != nil {
		k.Fatal(err)
	}
	list, err := k.store.Outbox.Subscriptions(k.Context(), key("s"))
	if err != nil || len(list) != 2 || list[0].Kind != "new" || list[0].Label != "new label" || list[1].Kind != "test" || list[1].Label != "about two" {
		k.Fatalf("Subscriptions: %v, %v", list, err)
	}
	k.unsubscribe(key("s"), "one")
	k.unsubscribe(key("s"), "one")
	k.unsubscribe(key("none"), "one")
	if got := k.subscribed(key("s")); got != "two" {
		k.Errorf("after one was deleted, there are %q", got)
	}
	if got := k.subscribed(key("other")); got != "one two" {
		k.Errorf("the other session has %q", got)
	}
}

// A subscription about a run that has ended is notified at once.
func outboxLate(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	put := func(id, run string) {
		k.Helper()
		if err := k.store.Outbox.PutSubscription(k.Context(), &session.Subscription{Key: at, ID: id, Kind: "test"}, run); err != nil {
			k.Fatal(err)
		}
	}
	k.complete(at, k.start("ended", at))
	put("first", "ended")
	put("none", "")
	put("unknown", "never")
	k.noted(at, "first:ended=completed")
	put("second", "ended")
	k.noted(at, "first:ended=completed second:ended=completed")
	put("first", "ended") // a request that is repeated
	k.noted(at, "first:ended=completed second:ended=completed first:ended=completed")
	k.create(key("other"), nil)
	running := k.start("running", key("other"))
	if err := k.store.Outbox.PutSubscription(k.Context(), &session.Subscription{Key: key("other"), ID: "x"}, "running"); err != nil {
		k.Fatal(err)
	}
	k.noted(key("other"), "")
	k.end(key("other"), running, session.End{Status: session.Waiting})
	k.noted(key("other"), "x:running=waiting")
}

// Another process continues the trace of a run that has ended.
func outboxTraces(p *place) {
	a, b := p.two()
	at := key("s")
	a.create(at, nil)
	a.subscribe(at, "one")
	a.subscribe(appKey(), "all")
	a.end(at, a.start("r1", at), session.End{Status: session.Waiting, Trace: "trace 1"})
	// The statement that also changes other runs.
	a.end(at, a.start("r2", at), session.End{Status: session.Completed, Trace: "trace 2", Settled: []session.Settled{{Run: "r1", Status: session.Completed, By: "r2"}}})
	got := map[string]string{}
	for {
		list, err := b.store.Outbox.ClaimDeliveries(b.Context(), time.Hour, 10, nil)
		if err != nil {
			b.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, d := range list {
			got[d.ID+":"+d.Run+"="+string(d.Status)] = d.Trace
			b.sent(d)
		}
	}
	want := map[string]string{
		"one:r1=running": "", "one:r1=waiting": "trace 1", "one:r2=running": "", "one:r2=completed": "trace 2",
		"all:r1=waiting": "trace 1", "all:r2=completed": "trace 2",
	}
	if !maps.Equal(got, want) {
		b.Errorf("the traces are %v, want %v", got, want)
	}
}

// A receiver that is not told that a run has ended waits in vain.
func outboxChanges(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	k.create(key("quiet"), nil)
	k.complete(at, k.start("before", at))
	k.subscribe(at, "x")
	k.complete(key("quiet"), k.start("r", key("quiet")))
	k.noted(key("quiet"), "")

	first := k.start("r1", at)
	k.enqueue("r2", at)
	k.enqueue("r3", at)
	k.stop(at, "r3", session.StopCancel)
	k.end(at, first, session.End{Status: session.Waiting})
	second := k.claims(at, "r2")
	k.handOver(at, second)
	second = k.claims(at, "r2") // it has begun before
	k.enqueue("r4", at)
	interrupt := asked("r5", at)
	interrupt.Busy = session.Interrupt
	k.begin(interrupt)
	k.end(at, second, session.End{Status: session.Cancelled, Failure: &session.Failure{Type: session.FailureCancelled}})
	k.complete(at, k.claims(at, "r5"))
	seq := k.get(at).Seq
	if err := k.store.Expire(k.Context(), at, seq, []string{"r1", "r5"}, &session.Failure{Type: "expired"}); err != nil {
		k.Fatal(err)
	}
	want := "x:r1=running x:r3=cancelled x:r1=waiting x:r2=running x:r4=cancelled x:r2=cancelled x:r5=running x:r5=completed x:r1=failed"
	for _, d := range k.noted(at, want) {
		if d.Key != at || d.Kind != "test" || d.Label != "about x" || d.Age < 0 || d.Attempt != 0 || d.Failed || d.Number == 0 {
			k.Errorf("a delivery is %+v", d)
		}
	}
}

// What was not stored is not told.
func outboxRefused(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	k.subscribe(at, "x")
	epoch := k.start("r", at)
	if _, err := k.store.End(k.Context(), at, epoch+1, session.End{Status: session.Completed}); !errors.Is(err, session.ErrFenced) {
		k.Errorf("End under another epoch: %v", err)
	}
	if _, err := k.store.Begin(k.Context(), session.NewRun{ID: "r2", Key: at, Busy: session.Reject, Request: noRequest}); err == nil {
		k.Error("a second run began")
	}
	k.noted(at, "x:r=running")
	k.complete(at, epoch)
	repeated := asked("r3", at)
	repeated.IdempotencyKey = "once"
	begun := k.begin(repeated)
	k.begin(repeated)
	k.end(at, begun.Run.Epoch, session.End{Discard: true})
	k.noted(at, "x:r=running x:r=completed x:r3=running")
}

// A receiver gets what happened in its order, and does not wait for another one.
func outboxOrder(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	k.subscribe(at, "x")
	k.subscribe(at, "y")
	k.complete(at, k.start("r", at))
	list := k.due(10, "x:r=running", "y:r=running")
	slices.SortFunc(list, func(a, b *session.Delivery) int { return strings.Compare(a.ID, b.ID) })
	k.due(10)
	k.sent(list[1])
	second := k.due(10, "y:r=completed")
	k.retry(list[0], time.Hour, "it failed")
	k.sent(second[0])
	k.due(10)
	if left := k.noted(at, "x:r=running x:r=completed"); left[0].Error != "it failed" || left[0].Attempt != 1 {
		k.Errorf("the delivery that failed is %+v", left[0])
	}
	k.retry(list[0], 0, "again")
	again := k.due(10, "x:r=running")
	if again[0].Attempt != 2 || again[0].Error != "again" {
		k.Errorf("the second attempt is %+v", again[0])
	}
	k.sent(again[0])
	k.sent(k.due(1, "x:r=completed")[0])
	k.noted(at, "")
}

// Two servers do not send the same, unless one of them takes too long. Then it does
// not change what the other one does.
func outboxLease(p *place) {
	a, b := p.two()
	at := key("s")
	a.create(at, nil)
	a.subscribe(at, "x")
	a.start("r", at)
	slow := a.dueFor(-time.Second, 10, "x:r=running")[0]
	now := b.due(10, "x:r=running")[0]
	if slow.Attempt != 1 || now.Attempt != 2 {
		a.Errorf("the attempts are %d and %d", slow.Attempt, now.Attempt)
	}
	a.retry(slow, 0, "late")
	if err := a.store.Outbox.FailDelivery(a.Context(), slow, "late"); err != nil {
		a.Fatal(err)
	}
	if left := a.noted(at, "x:r=running"); left[0].Failed || left[0].Error != "" {
		a.Errorf("after the late one, it is %+v", left[0])
	}
	a.due(10)
	a.sent(slow) // it has arrived, after all
	b.retry(now, 0, "too late")
	b.due(10)
	b.noted(at, "")
}

// Many claim at once, and each delivery has one that sends it.
func outboxTogether(p *place) {
	a, b := p.two()
	const sessions = 20
	for i := range sessions {
		at := key(fmt.Sprint("s", i))
		a.create(at, nil)
		a.subscribe(at, "x")
		a.complete(at, a.start(fmt.Sprint("r", i), at))
	}
	var mu sync.Mutex
	claimed := map[string]int{}
	a.together(8, func(i int) error {
		k := []*kit{a, b}[i%2]
		for none := 0; none < 3; {
			list, err := k.store.Outbox.ClaimDeliveries(k.Context(), time.Hour, 3, nil)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				none++
			}
			for _, d := range list {
				mu.Lock()
				claimed[brief(d)]++
				early := d.Status == session.Completed && claimed["x:"+d.Run+"=running"] == 0
				mu.Unlock()
				if early {
					return fmt.Errorf("%s is due before its run began", brief(d))
				}
				if err := k.store.Outbox.EndDelivery(k.Context(), d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	// One that others held while it was looked for is due now.
	for {
		list, err := a.store.Outbox.ClaimDeliveries(a.Context(), time.Hour, 3, nil)
		if err != nil {
			a.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, d := range list {
			claimed[brief(d)]++
			a.sent(d)
		}
	}
	for i := range sessions {
		for _, status := range []session.Status{session.Running, session.Completed} {
			if n := claimed[fmt.Sprintf("x:r%d=%s", i, status)]; n != 1 {
				a.Errorf("the delivery %s of run %d was claimed %d times", status, i, n)
			}
		}
	}
}

// A server that ends between the end of a run and its delivery leaves it to others.
func outboxLeft(p *place) {
	a := p.as("a", time.Hour)
	at := key("s")
	a.create(at, nil)
	a.subscribe(at, "x")
	epoch := a.start("r", at)
	a.sent(a.due(1, "x:r=running")[0])
	a.complete(at, epoch)
	a.close()
	b := p.as("b", time.Hour)
	if got := b.subscribed(at); got != "x" {
		b.Errorf("the subscriptions are %q", got)
	}
	b.sent(b.due(1, "x:r=completed")[0])
	b.noted(at, "")
}

func outboxFailed(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	k.subscribe(at, "x")
	k.complete(at, k.start("r", at))
	first := k.due(10, "x:r=running")[0]
	if err := k.store.Outbox.FailDelivery(k.Context(), first, "it is gone"); err != nil {
		k.Fatal(err)
	}
	if left := k.noted(at, "x:r=running x:r=completed"); !left[0].Failed || left[0].Error != "it is gone" || left[1].Failed {
		k.Errorf("left are %+v and %+v", left[0], left[1])
	}
	k.due(10, "x:r=completed")
	for _, age := range []time.Duration{time.Hour, -time.Hour} {
		if err := k.store.Outbox.SweepDeliveries(k.Context(), age); err != nil {
			k.Fatal(err)
		}
		if age > 0 {
			k.noted(at, "x:r=running x:r=completed")
		}
	}
	k.noted(at, "x:r=completed")
}

// A session that is made again must not be reported to who subscribed to the one
// before.
func outboxDeleted(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	k.create(at, nil)
	k.subscribe(at, "x")
	k.subscribe(at, "y")
	k.complete(at, k.start("r", at))
	k.unsubscribe(at, "x")
	k.noted(at, "y:r=running y:r=completed")
	held := k.due(1, "y:r=running")[0]
	k.delete(at)
	k.due(10)
	k.sent(held)
	k.retry(held, 0, "it is deleted")
	k.create(at, nil)
	if got := k.subscribed(at); got != "" {
		k.Errorf("the new session has the subscriptions %q", got)
	}
	k.complete(at, k.start("r", at))
	k.noted(at, "")
	k.due(10)
}

// A delivery that has to wait until a server looks by chance comes late.
func outboxAdded(p *place) {
	k := p.as("a", time.Hour)
	at := key("s")
	added := func() bool {
		select {
		case <-k.store.Outbox.Added():
			return true
		default:
			return false
		}
	}
	k.create(at, nil)
	k.complete(at, k.start("r1", at))
	if added() {
		k.Error("something was added for a session without subscriptions")
	}
	k.subscribe(at, "x")
	epoch := k.start("r2", at)
	if !added() {
		k.Error("the begin of a run was not reported")
	}
	k.end(at, epoch, session.End{Status: session.Waiting, Settled: []session.Settled{{Run: "r1", Status: session.Completed}}})
	if !added() {
		k.Error("the end of a run was not reported")
	}
}
