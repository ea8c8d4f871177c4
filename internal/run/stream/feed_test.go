package stream

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

func piece(f *Feed, author, text string) {
	ev := &event.Event{ID: "p-" + author, Author: author, Partial: true, Content: event.Text(event.RoleModel, text)}
	if err := f.Piece(ev); err != nil {
		panic(err)
	}
}

func whole(f *Feed, author, text string) {
	entry, err := session.NewEntry(&event.Event{ID: "w-" + text, Author: author, Content: event.Text(event.RoleModel, text)})
	if err != nil {
		panic(err)
	}
	entry.Seq = int64(len(f.entries)) + 2 // the message is the first
	f.Store(entry)
}

// drain reads what is there: pieces in brackets, events as they are.
func drain(f *Follower) (read []string, ended bool) {
	for {
		item, ok, err := f.Take()
		if errors.Is(err, io.EOF) {
			return read, true
		}
		if !ok {
			return read, false
		}
		ev := &event.Event{}
		if err := ev.UnmarshalJSON(item.JSON); err != nil {
			panic(err)
		}
		text := ev.Content.Text()
		if item.Entry == nil {
			text = "[" + text + "]"
		}
		read = append(read, text)
	}
}

func expect(t *testing.T, who string, f *Follower, want string) {
	t.Helper()
	read, _ := drain(f)
	if got := strings.Join(read, " "); got != want {
		t.Errorf("%s reads %q, want %q", who, got, want)
	}
}

func TestFeed(t *testing.T) {
	f := &Feed{}
	early := f.Follow(0)
	piece(f, "a", "one ")
	expect(t, "an early reader", early, "[one ]")
	piece(f, "a", "two ")
	piece(f, "a", "three")
	late := f.Follow(0)
	expect(t, "a late reader", late, "[one two three]")
	whole(f, "a", "one-two-three")
	expect(t, "an early reader", early, "[two ] [three] one-two-three")
	expect(t, "a late reader", late, "one-two-three")
	later := f.Follow(0)
	expect(t, "a reader that comes after a message", later, "one-two-three")
	piece(f, "b", "cut off")
	f.End()
	expect(t, "an early reader", early, "[cut off]")
	if _, ended := drain(early); !ended {
		t.Error("the end is not told")
	}
	expect(t, "a reader that comes after the end", f.Follow(0), "one-two-three [cut off]")
}

func TestFeedCoalescesForSlowAndLateReaders(t *testing.T) {
	f := &Feed{}
	for i := range 10 {
		piece(f, "a", fmt.Sprint(i)) // without a reader, only the text is kept
	}
	late := f.Follow(0)
	expect(t, "a late reader", late, "[0123456789]")
	piece(f, "a", "x")
	piece(f, "a", "y")
	expect(t, "a late reader, from then on,", late, "[x] [y]")
	var want strings.Builder
	for i := range 2 * window {
		piece(f, "a", string(rune('A'+i%26)))
		want.WriteRune(rune('A' + i%26))
	}
	expect(t, "a slow reader", late, "["+want.String()+"]")
	whole(f, "a", "done")
	expect(t, "a slow reader", late, "done")
}

func TestFeedKeepsParallelMessagesApart(t *testing.T) {
	f := &Feed{}
	r := f.Follow(0)
	piece(f, "a", "a1")
	piece(f, "b", "b1")
	piece(f, "a", "a2")
	whole(f, "b", "B")
	expect(t, "a reader", r, "[b1] B [a1] [a2]")
	whole(f, "a", "A")
	expect(t, "a reader", r, "A")
}

// A reader has an event from the log before the feed has it. The pieces of that event
// are not for this reader, and those of the next one are.
func TestFeedBehindItsReader(t *testing.T) {
	f := &Feed{}
	whole(f, "a", "one") // has the sequence number 2
	piece(f, "a", "tw")
	reader, other := f.Follow(3), f.Follow(2)
	expect(t, "the reader, before the feed has its event", reader, "")
	piece(f, "a", "o")
	expect(t, "the reader, while the feed is behind", reader, "")
	whole(f, "a", "two")
	piece(f, "a", "th")
	expect(t, "the reader", reader, "[th]")
	expect(t, "another reader", other, "[two] two [th]")
	piece(f, "a", "ree")
	whole(f, "a", "three")
	expect(t, "the reader", reader, "[ree] three")
	f.End()
	if _, ended := drain(reader); !ended {
		t.Error("the feed has not ended")
	}
	late := f.Follow(9)
	if read, ended := drain(late); len(read) > 0 || !ended {
		t.Errorf("a reader beyond the end reads %q, %v", read, ended)
	}
}

func TestFeedRemovesClosedReaders(t *testing.T) {
	f := &Feed{}
	r := f.Follow(0)
	r.Close()
	r.Close()
	if len(f.followers) != 0 {
		t.Error("a closed follower is still woken")
	}
}

// Whatever the order of writing and reading: every reader gets every event once
// and in order, and what it reads of a message in pieces is a part of it.
// A long answer must not stay in memory piece by piece when it was read.
func TestFeedFreesPiecesThatWereRead(t *testing.T) {
	kept := func(f *Feed) (n int) {
		for _, frame := range f.live[0].frames {
			n += len(frame.json)
		}
		return n
	}
	f := &Feed{}
	one := f.Follow(0)
	for _, word := range []string{"a", "b", "c"} {
		piece(f, "x", word)
	}
	expect(t, "the only reader", one, "[a] [b] [c]")
	if n := kept(f); n != 0 {
		t.Errorf("%d bytes are kept after the only reader has read them", n)
	}
	two := f.Follow(0)
	piece(f, "x", "d")
	expect(t, "one of two", one, "[d]")
	if kept(f) == 0 {
		t.Error("a piece is gone that the other one has not read")
	}
	expect(t, "who came late", two, "[abcd]")
}

func TestFeedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Feed{}
		var readers []*Follower
		var read [][]string
		var events []string
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"piece": func(t *rapid.T) {
				for range rapid.IntRange(1, 9).Draw(t, "pieces") {
					piece(f, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "author"), "x")
				}
			},
			"store": func(t *rapid.T) {
				n++
				text := fmt.Sprint("e", n)
				events = append(events, text)
				whole(f, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "author"), text)
			},
			"follow": func(*rapid.T) {
				readers = append(readers, f.Follow(0))
				read = append(read, nil)
			},
			"read": func(t *rapid.T) {
				if len(readers) == 0 {
					t.Skip("no reader")
				}
				i := rapid.IntRange(0, len(readers)-1).Draw(t, "reader")
				got, _ := drain(readers[i])
				read[i] = append(read[i], got...)
			},
		})
		f.End()
		for i, r := range readers {
			got, ended := drain(r)
			if !ended {
				t.Fatal("no end")
			}
			var stored []string
			for _, text := range append(read[i], got...) {
				if !strings.HasPrefix(text, "[") {
					stored = append(stored, text)
				}
			}
			if fmt.Sprint(stored) != fmt.Sprint(events) {
				t.Fatalf("reader %d got %v, want %v", i, stored, events)
			}
		}
	})
}

func TestFeedUnderRace(t *testing.T) {
	f := &Feed{}
	var wg sync.WaitGroup
	for range 8 {
		r := f.Follow(0)
		wg.Go(func() {
			defer r.Close()
			for n := 0; ; {
				item, ok, err := r.Take()
				if !ok && err == nil {
					<-r.Ready()
					continue
				}
				if errors.Is(err, io.EOF) {
					if n != 200 {
						t.Errorf("read %d events, want 200", n)
					}
					return
				}
				if item.Entry != nil {
					n++
				}
			}
		})
	}
	for i := range 200 {
		piece(f, "a", "x")
		piece(f, "a", "y")
		whole(f, "a", fmt.Sprint(i))
	}
	f.End()
	wg.Wait()
}
