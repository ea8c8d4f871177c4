package memstore_test

import (
	"strconv"
	"testing"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// Recordings must not fill the memory of a server that runs for long.
func TestMemoryRecordingsAreLimited(t *testing.T) {
	t.Parallel()
	store := memstore.New(0)
	key := session.Key{App: "a", User: "u", ID: "s"}
	if _, err := store.Create(t.Context(), session.NewSession{Key: key}); err != nil {
		t.Fatal(err)
	}
	doc := make([]byte, 8<<20)
	for i := range 20 {
		if err := store.Recordings.PutRecordings(t.Context(), []*session.Recording{{Key: key, Run: strconv.Itoa(i), Attempt: 1, JSON: doc}}); err != nil {
			t.Fatal(err)
		}
	}
	kept := ""
	for i := range 20 {
		list, err := store.Recordings.Recordings(t.Context(), key, strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			kept += strconv.Itoa(i) + " "
		}
	}
	if want := "12 13 14 15 16 17 18 19 "; kept != want {
		t.Errorf("the recordings %sare kept, want %s", kept, want)
	}
}
