package storetest

import (
	"fmt"
	"time"

	"github.com/parley-run/parley/session"
)

// A session was made when it was made.
func timeCreatedStays(k *kit) {
	created := k.create(key("s"), nil, say("e0")).Created
	epoch := k.acquire(key("s"))
	k.append(key("s"), epoch, say("e1"))
	k.patch(key("s"), set("e2", "a", "1", "user:a", "1"))
	k.release(key("s"), epoch)
	if got := k.get(key("s")).Created; !got.Equal(created) {
		k.Errorf("created %v, and after writes %v", created, got)
	}
	if got := k.listed("s").Created; !got.Equal(created) {
		k.Errorf("created %v, and in the list %v", created, got)
	}
}

// Clients sort by the time of the last change. It moves when the log does, by
// either way, and never back.
func timeUpdatedMoves(k *kit) {
	updated := k.create(key("s"), nil).Updated
	epoch := k.acquire(key("s"))
	for what, write := range map[string]func(*session.Entry){
		"Append": func(e *session.Entry) { k.append(key("s"), epoch, e) },
		"Patch":  func(e *session.Entry) { k.patch(key("s"), e) },
	} {
		start := updated
		// One write may fall into the same tick of the clock as the one
		// before; thousands do not.
		for n := 0; !updated.After(start); n++ {
			if n == 10_000 {
				k.Fatalf("%s does not move the time of the last change", what)
			}
			write(say(fmt.Sprint(what, n)))
			updated = k.notBefore(updated)
		}
	}
	for i := range 50 {
		k.append(key("s"), epoch, say(fmt.Sprint("e", i)))
		updated = k.notBefore(updated)
	}
}

// notBefore wants the last change of the session s not to be before t, and
// returns it.
func (k *kit) notBefore(t time.Time) time.Time {
	k.Helper()
	s := k.read(key("s"), session.Read{NoEvents: true})
	if s.Updated.Before(t) || s.Updated.Before(s.Created) {
		k.Fatalf("the last change went back from %v to %v; created %v", t, s.Updated, s.Created)
	}
	return s.Updated
}
