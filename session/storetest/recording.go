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
		words = append(words, fmt.Sprintf("%d:%s", r.Attempt, r.JSON))
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
	for _, where := range []*kit{k, p.as("b", time.Hour)} {
		for _, tt := range []struct {
			key       session.Key
			run, want string
		}{
			{one, "r", `1:"a" 2:"b"`},
			{two, "r", `1:"d"`},
			{one, "other", "1:\x00\x01\x02"},
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
			var err error
			if done, err = k.store.Recordings.SweepRecordings(k.Context(), age); err != nil {
				k.Fatal(err)
			}
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
