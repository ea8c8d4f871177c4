package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
)

// RunRecordings runs the tests for the Recordings of a store. open is like that of
// RunOutbox.
func RunRecordings(t *testing.T, open func(t *testing.T) func(session.Options) session.Store) {
	t.Helper()
	runPlaces(t, open, []sharedTest{
		{"Put", recordingsPut},
		{"Deleted", recordingsDeleted},
		{"Sweep", recordingsSweep},
	})
}

func (k *kit) record(list ...*session.Recording) {
	k.Helper()
	if err := k.store.Recordings.PutRecordings(k.Context(), list); err != nil {
		k.Fatalf("PutRecordings: %v", err)
	}
}

// recorded returns the recordings of a run, in a word each.
func (k *kit) recorded(key session.Key, run string) string {
	k.Helper()
	list, err := k.store.Recordings.Recordings(k.Context(), key, run)
	if err != nil {
		k.Fatalf("Recordings(%v, %s): %v", key, run, err)
	}
	var words []string
	for _, r := range list {
		if r.Key != key || r.Run != run || r.Created.IsZero() {
			k.Errorf("a recording of %v is %+v", key, r)
		}
		word := []string{fmt.Sprintf("%d:%s", r.Attempt, r.JSON)}
		for _, p := range r.Parts {
			if p.Digest != session.NewRecordingPart(p.JSON).Digest {
				k.Errorf("the digest of the part %s is %x", p.JSON, p.Digest)
			}
			word = append(word, string(p.JSON))
		}
		words = append(words, strings.Join(word, "+"))
	}
	return strings.Join(words, " ")
}

func recordingsPut(p *place) {
	k := p.as("a", time.Hour)
	one, two := key("one"), key("two")
	k.create(one, nil)
	k.create(two, nil)
	k.record()
	k.record(
		&session.Recording{Key: one, Run: "r", Attempt: 2, JSON: []byte(`"b"`)},
		&session.Recording{Key: one, Run: "r", Attempt: 1, JSON: []byte(`"a"`)},
		&session.Recording{Key: key("none"), Run: "r", Attempt: 1, JSON: []byte(`"lost"`)},
		&session.Recording{Key: two, Run: "r", Attempt: 1, JSON: []byte(`"c"`)},
		&session.Recording{Key: two, Run: "r", Attempt: 1, JSON: []byte(`"d"`)},
	)
	k.record(&session.Recording{Key: one, Run: "other", Attempt: 1, JSON: []byte{0, 1, 2}})
	part := session.NewRecordingPart
	long := strings.Repeat("long ", 20_000)
	k.record(
		&session.Recording{Key: one, Run: "parts", Attempt: 1, JSON: []byte(`"a"`), Parts: []*session.RecordingPart{part([]byte("x"))}},
		&session.Recording{Key: one, Run: "parts", Attempt: 1, JSON: []byte(`"b"`), Parts: []*session.RecordingPart{part([]byte("y")), part([]byte("x"))}},
		&session.Recording{Key: one, Run: "parts", Attempt: 2, JSON: []byte(`"c"`)},
		&session.Recording{Key: one, Run: "parts", Attempt: 3, JSON: []byte(`"d"`), Parts: []*session.RecordingPart{part([]byte(long)), part([]byte("y")), part([]byte("z"))}},
		&session.Recording{Key: two, Run: "parts", Attempt: 1, JSON: []byte(`"e"`), Parts: []*session.RecordingPart{part([]byte("x"))}},
	)
	k.record(&session.Recording{Key: two, Run: "parts", Attempt: 2, JSON: []byte(`"f"`), Parts: []*session.RecordingPart{part([]byte("x"))}})
	for _, where := range []*kit{k, p.as("b", time.Hour)} {
		for _, tt := range []struct {
			key       session.Key
			run, want string
		}{
			{one, "r", `1:"a" 2:"b"`},
			{two, "r", `1:"d"`},
			{one, "other", "1:\x00\x01\x02"},
			{one, "parts", `1:"b"+y+x 2:"c" 3:"d"+` + long + "+y+z"},
			{two, "parts", `1:"e"+x 2:"f"+x`},
			{one, "none", ""},
			{key("none"), "r", ""},
			{one, "\xff", ""},
		} {
			if got := where.recorded(tt.key, tt.run); got != tt.want {
				k.Errorf("Recordings(%v, %q) = %s, want %s", tt.key, tt.run, got, tt.want)
			}
		}
	}
}

func recordingsDeleted(p *place) {
	k := p.as("a", time.Hour)
	at := key("one")
	k.create(at, nil)
	k.record(&session.Recording{Key: at, Run: "r", Attempt: 1, JSON: []byte(`{}`)})
	k.delete(at)
	k.create(at, nil)
	if got := k.recorded(at, "r"); got != "" {
		k.Errorf("the recordings of a deleted session are there: %s", got)
	}
}

func recordingsSweep(p *place) {
	k := p.as("a", time.Hour)
	at := key("one")
	k.create(at, nil)
	var list []*session.Recording
	for i := range 250 {
		list = append(list, &session.Recording{Key: at, Run: "r", Attempt: i, JSON: []byte(`{}`)})
	}
	k.record(list...)
	sweep := func(age time.Duration) {
		k.Helper()
		for done := false; !done; {
			done = k.sweepRecordings(age)
		}
	}
	sweep(time.Hour)
	if got := len(strings.Fields(k.recorded(at, "r"))); got != len(list) {
		k.Errorf("%d recordings are left, want %d", got, len(list))
	}
	sweep(-time.Hour)
	if got := k.recorded(at, "r"); got != "" {
		k.Errorf("old recordings are left: %s", got)
	}
}

func (k *kit) sweepRecordings(age time.Duration) (done bool) {
	k.Helper()
	done, err := k.store.Recordings.SweepRecordings(k.Context(), age)
	if err != nil {
		k.Fatal(err)
	}
	return done
}

// RunRecordingParts tests that a store deletes what recordings share when the last of them
// is deleted, and not before. kept returns the number of parts in store. The store must
// be empty.
func RunRecordingParts(t *testing.T, store session.Store, kept func() int) {
	t.Helper()
	k := &kit{T: t, store: taker{store}}
	one, two := key("one"), key("two")
	k.create(one, nil)
	k.create(two, nil)
	check := func(when string) {
		t.Helper()
		needed := map[string]bool{}
		for _, at := range []session.Key{one, two} {
			for word := range strings.FieldsSeq(k.recorded(at, "r")) {
				_, parts, _ := strings.Cut(word, "+")
				for p := range strings.SplitSeq(parts, "+") {
					needed[at.ID+" "+p] = true
				}
			}
		}
		if got := kept(); got != len(needed) {
			t.Errorf("%s, the store has %d parts, want %d: %v", when, got, len(needed), needed)
		}
	}
	put := func(at session.Key, from, to int, docs ...string) {
		t.Helper()
		var list []*session.Recording
		for i := from; i < to; i++ {
			r := &session.Recording{Key: at, Run: "r", Attempt: i, JSON: []byte(`{}`)}
			for _, doc := range docs {
				r.Parts = append(r.Parts, session.NewRecordingPart([]byte(doc)))
			}
			list = append(list, r)
		}
		k.record(list...)
	}
	put(one, 0, 100, "a", "b")
	put(one, 100, 110, "b", "c")
	put(two, 0, 1, "a")
	check("after all were stored")
	k.sweepRecordings(time.Hour)
	check("after nothing was deleted")
	k.sweepRecordings(-time.Hour)
	check("after some were deleted")
	for !k.sweepRecordings(-time.Hour) {
		check("after more were deleted")
	}
	check("after all were deleted")
	put(one, 0, 2, "a")
	put(two, 0, 2, "a", "d")
	k.delete(two)
	check("after a session was deleted")
	k.delete(one)
	if got := kept(); got != 0 {
		t.Errorf("without sessions, the store has %d parts", got)
	}
}
