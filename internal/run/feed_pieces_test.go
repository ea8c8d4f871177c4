package run

import (
	"fmt"
	"testing"
)

// The pieces of a message are kept for those who have yet to read them, and for
// nobody else.
func TestFeedDropsPiecesThatWereRead(t *testing.T) {
	f := &feed{}
	say := func(n int) {
		for range n {
			piece(f, "a", "x")
			piece(f, "a", "y")
			whole(f, "a", fmt.Sprint(len(f.entries)))
		}
	}
	holds := func(when string, want int) {
		t.Helper()
		if len(f.pieces) != want {
			t.Errorf("%s, the pieces of %d messages are kept, want %d", when, len(f.pieces), want)
		}
	}
	quick := f.follow(0)
	say(2)
	slow := f.follow(0)
	say(3)
	expect(t, "a quick reader", quick, "[x] [y] 0 [x] [y] 1 [x] [y] 2 [x] [y] 3 [x] [y] 4")
	holds("while somebody is behind", 3)
	late := f.follow(0)
	expect(t, "a late reader", late, "0 1 2 3 4")
	holds("after a late reader", 3)
	for range 5 { // both events from before it came, and one with its pieces
		if _, ok, err := slow.Take(); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	holds("after the first of a slow reader", 2)
	slow.Close()
	slow.Close()
	holds("when the slow one has left", 0)
	say(1)
	holds("with something new", 1)
	late.Close()
	holds("for one reader", 1)
	expect(t, "a quick reader", quick, "[x] [y] 5")
	holds("when all was read", 0)
}
