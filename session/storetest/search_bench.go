package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// BenchmarkSearch measures what the index of a turn costs, and searches in 10,000
// sessions of one user, with 20 events each.
func BenchmarkSearch(b *testing.B, store session.Store) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	const sessions, each = 10_000, 20
	n := 0
	text := func() *session.Entry {
		n++
		words := make([]string, 40)
		for i := range words {
			words[i] = fmt.Sprintf("word%d", int(r.ExpFloat64()*500)) // some are frequent
		}
		for i := range 10 {
			if n <= sessions*each/2 {
				words[i] = fmt.Sprintf("ancient%d", int(r.ExpFloat64()*500)) // only the older half has these
			}
		}
		return entry(&event.Event{
			ID: fmt.Sprint("event-", n), InvocationID: "i", Author: "agent", Timestamp: float64(n),
			Content: event.Text(event.RoleModel, strings.Join(words, " ")),
		})
	}
	index := func() {
		for {
			if done, err := store.Searcher.Index(b.Context()); err != nil {
				b.Fatal(err)
			} else if done {
				return
			}
		}
	}
	for s := range sessions {
		log := make([]*session.Entry, each)
		for i := range log {
			log[i] = text()
		}
		if _, err := store.Create(b.Context(), session.NewSession{Key: key(fmt.Sprint("s", s)), Log: log}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("backlog of 200000 events", func(b *testing.B) {
		for range b.N {
			index()
		}
	})
	// A turn is two texts; a hundred sessions have one in a second.
	for _, indexed := range []bool{false, true} {
		b.Run(fmt.Sprintf("turn/indexed=%t", indexed), func(b *testing.B) {
			for i := range b.N {
				for range 2 {
					if err := store.Patch(b.Context(), key(fmt.Sprint("s", i%100)), text()); err != nil {
						b.Fatal(err)
					}
				}
				if indexed && i%100 == 99 {
					index()
				}
			}
		})
	}
	index()
	for name, query := range map[string]string{
		"rare": "word2900", "frequent": "word1 word2", "prefix": "word1", "old prefix": "anc", "old long prefix": "ancient", "old words": "word1 anc", "phrase": `"word1 word2"`, "none": "nothing",
	} {
		b.Run("search/"+name, func(b *testing.B) {
			for range b.N {
				if _, _, err := store.Searcher.Search(b.Context(), "app", "user", query, session.Page{Size: 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
