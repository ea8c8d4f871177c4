package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// RunFeedback runs the tests for the list of feedback of a store. open is like that of
// RunOutbox.
func RunFeedback(t *testing.T, open func(t *testing.T) func(session.Options) session.Store) {
	t.Helper()
	runPlaces(t, open, []sharedTest{
		{"List", feedbackList},
		{"Filters", feedbackFilters},
		{"Pages", feedbackPages},
		{"Changed", feedbackChanged},
		{"Odd", feedbackOdd},
		{"Deleted", feedbackDeleted},
		{"Rewound", feedbackRewound},
		{"Forks", feedbackForks},
		{"Late", feedbackLate},
		{"Grows", feedbackGrows},
		{"Large", feedbackLarge},
		{"Together", feedbackTogether},
	})
}

// says is an event of a run with a text.
func says(run, author, text string) *session.Entry {
	return entry(&event.Event{ID: event.NewID(), InvocationID: run, Author: author, Timestamp: 1, Content: event.Text(event.RoleModel, text)})
}

// rates is feedback to a run.
func rates(at float64, run, author, rating, note string) *session.Entry {
	doc, err := json.Marshal(map[string]any{"runId": run, "author": author, "rating": rating, "note": note, "timestamp": at})
	if err != nil {
		panic(err)
	}
	return entry(&event.Event{ID: event.NewID(), InvocationID: "p-" + event.NewID(), Author: event.User, Timestamp: at, CustomMetadata: map[string]json.RawMessage{"feedback": doc}})
}

func (k *kit) feedback(q session.FeedbackQuery, page session.Page) ([]*session.Feedback, string) {
	k.Helper()
	list, next, err := k.store.Feedback.ListFeedback(k.Context(), q, page)
	if err != nil {
		k.Fatalf("ListFeedback(%+v): %v", q, err)
	}
	return list, next
}

// opinions wants the feedback that a query selects, in order.
func (k *kit) opinions(q session.FeedbackQuery, want ...string) {
	k.Helper()
	list, next := k.feedback(q, session.Page{})
	var got []string
	for _, f := range list {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s/%s %s %s %s", f.Key.ID, f.Run, f.Author, f.Rating, f.Note)))
	}
	if !slices.Equal(got, want) || next != "" {
		k.Errorf("%+v selects %q (next %q), want %q", q, got, next, want)
	}
}

// ofApp selects all feedback of the application.
var ofApp = session.FeedbackQuery{App: "app"}

func feedbackList(p *place) {
	k := p.as("a", time.Hour)
	k.opinions(ofApp)
	long := strings.Repeat("long  ", 100)
	k.create(key("s"), nil,
		says("r1", event.User, "What\n is this?"), says("r1", "agent", "I look."), says("r1", "agent", "It is "+long),
		says("r2", event.User, "And that?"), says("r2", "agent", "That."),
		rates(10, "r1", "ann", "down", "too long"), rates(11.5, "r2", "user", "up", ""))
	bob := session.Key{App: "app", User: "bob", ID: "t"}
	k.create(bob, nil, rates(10.5, "r3", "bob", "", "only a note"))
	k.create(session.Key{App: "other", User: "user", ID: "u"}, nil, rates(12, "r4", "user", "up", ""))
	k.create(session.Key{App: "app", User: "user", ID: "___eval___session___1"}, nil, rates(13, "r5", "user", "up", ""))
	k.create(key("none"), nil, says("r6", event.User, `the word "feedback"`), entry(&event.Event{
		ID: "m", InvocationID: "r6", Author: event.User, CustomMetadata: map[string]json.RawMessage{"feedback": []byte(`{"runId":"r6","author":"eve","rating":"up"}`)},
	}))
	k.index()
	list, next := k.feedback(ofApp, session.Page{})
	got := k.get(key("s"))
	idOf := func(i int) string { ev, _ := got.Entries[i].Decode(); return ev.ID }
	want := []session.Feedback{
		{Key: key("s"), Run: "r2", Author: "user", Rating: "up", Time: time.UnixMilli(11_500).UTC(), Event: idOf(3), Message: "And that?", Answer: "That."},
		{Key: bob, Run: "r3", Author: "bob", Note: "only a note", Time: time.UnixMilli(10_500).UTC()},
		{Key: key("s"), Run: "r1", Author: "ann", Rating: "down", Note: "too long", Time: time.UnixMilli(10_000).UTC(), Event: idOf(0), Message: "What is this?", Answer: "It is " + strings.Repeat("long ", 38) + "long…"},
	}
	if len(list) != len(want) || next != "" {
		k.Fatalf("%d are listed, next %q", len(list), next)
	}
	for i, f := range list {
		if *f != want[i] {
			k.Errorf("feedback %d is\n%+v, want\n%+v", i, *f, want[i])
		}
	}
}

func feedbackFilters(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil, rates(1, "r", "a", "up", ""), rates(2, "r", "b", "down", "bad"), rates(3, "r", "c", "", "note"), rates(4, "r", "d", "up", "good"))
	k.create(session.Key{App: "app", User: "bob", ID: "s"}, nil, rates(5, "r", "e", "down", ""))
	k.index()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	for _, tt := range []struct {
		q    session.FeedbackQuery
		want string
	}{
		{session.FeedbackQuery{}, "edcba"},
		{session.FeedbackQuery{Rating: "up"}, "da"},
		{session.FeedbackQuery{Rating: "down"}, "eb"},
		{session.FeedbackQuery{Noted: true}, "dcb"},
		{session.FeedbackQuery{Rating: "up", Noted: true}, "d"},
		{session.FeedbackQuery{User: "user"}, "dcba"},
		{session.FeedbackQuery{User: "bob"}, "e"},
		{session.FeedbackQuery{User: "eve"}, ""},
		{session.FeedbackQuery{Since: at(3)}, "edc"},
		{session.FeedbackQuery{Before: at(3)}, "ba"},
		{session.FeedbackQuery{Since: at(2), Before: at(4)}, "cb"},
		{session.FeedbackQuery{Since: at(2), Before: at(4), Rating: "down", User: "user"}, "b"},
		{session.FeedbackQuery{Since: at(6)}, ""},
		{session.FeedbackQuery{Before: at(1)}, ""},
	} {
		tt.q.App = "app"
		list, next := k.feedback(tt.q, session.Page{})
		var got strings.Builder
		for _, f := range list {
			got.WriteString(f.Author)
		}
		if got.String() != tt.want || next != "" {
			k.Errorf("%+v selects %q (next %q), want %q", tt.q, got.String(), next, tt.want)
		}
	}
	k.opinions(session.FeedbackQuery{App: "none"})
	for _, token := range []string{"x", "1.2", "1.2.3.4", "'"} {
		if _, _, err := k.store.Feedback.ListFeedback(k.Context(), ofApp, session.Page{Token: token}); !errors.Is(err, session.ErrBadToken) {
			k.Errorf("with the token %q: error %v, want ErrBadToken", token, err)
		}
	}
}

// Pages have all that a query selects once and in order, whatever else there is.
func feedbackPages(p *place) {
	k := p.as("a", time.Hour)
	const sessions, each = 8, 90
	var want, rare []string
	for s := range sessions {
		log := make([]*session.Entry, each)
		for i := range log {
			at := i*sessions + s
			author, rating := fmt.Sprint("a", at), "up"
			if at%240 == 7 {
				rating = "down"
				rare = append(rare, author)
			}
			log[i] = rates(float64(at/3), "r", author, rating, "") // some at the same time
			want = append(want, author)
		}
		k.create(session.Key{App: "app", User: fmt.Sprint("user", s), ID: "s"}, nil, log...)
	}
	k.index()
	for _, tt := range []struct {
		size int
		q    session.FeedbackQuery
		want []string
	}{{500, ofApp, want}, {7, ofApp, want}, {2, session.FeedbackQuery{App: "app", Rating: "down"}, rare}, {100, session.FeedbackQuery{App: "app", Rating: "down"}, rare}} {
		var got []string
		var last time.Time
		page := session.Page{Size: tt.size}
		for range len(want) {
			list, next := k.feedback(tt.q, page)
			if len(list) > tt.size {
				k.Fatalf("a page of %d has %d", tt.size, len(list))
			}
			for _, f := range list {
				if !last.IsZero() && f.Time.After(last) {
					k.Errorf("%s comes after %s", f.Time, last)
				}
				last = f.Time
				got = append(got, f.Author)
			}
			if page.Token = next; next == "" {
				break
			}
		}
		slices.Sort(got)
		expected := slices.Sorted(slices.Values(tt.want))
		if !slices.Equal(got, expected) {
			k.Errorf("pages of %d of %+v have %d, want %d", tt.size, tt.q, len(got), len(expected))
		}
	}
}

func feedbackChanged(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil, rates(1, "r", "a", "up", ""), rates(2, "r", "b", "up", ""))
	k.index()
	k.opinions(ofApp, "s/r b up", "s/r a up")
	k.patch(key("s"), rates(3, "r", "a", "down", "no"))
	k.index()
	k.opinions(ofApp, "s/r a down no", "s/r b up")
	k.patch(key("s"), rates(4, "r", "b", "", ""))
	k.patch(key("s"), rates(5, "r2", "a", "up", ""))
	k.index()
	k.opinions(ofApp, "s/r2 a up", "s/r a down no")
	k.patch(key("s"), rates(6, "r", "a", "", ""))
	k.patch(key("s"), rates(7, "r2", "a", "", ""))
	k.index()
	k.opinions(ofApp)
}

// Of a log that was imported, feedback may be anything. It is bounded, and does no harm.
func feedbackOdd(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil,
		rates(1e300, "r1", "a\x00'", "up", "nul \x00 here"),
		rates(-5, "r2", "b", "five", strings.Repeat("é", 5000)),
		entry(&event.Event{ID: "x", InvocationID: "p-x", Author: event.User, Timestamp: 1, CustomMetadata: map[string]json.RawMessage{"feedback": []byte(`"text"`)}}),
		entry(&event.Event{ID: "y", InvocationID: "p-y", Author: event.User, Timestamp: 1, CustomMetadata: map[string]json.RawMessage{"feedback": []byte(`{"runId":"","rating":"up"}`)}}),
	)
	k.index()
	list, _ := k.feedback(ofApp, session.Page{})
	if len(list) != 2 {
		k.Fatalf("%d are listed, want 2", len(list))
	}
	for _, f := range list {
		if !f.Time.Equal(time.Unix(0, 0)) {
			k.Errorf("the time is %s", f.Time)
		}
		if f.Run == "r1" && (f.Author != "a\x00'" || f.Note != "nul \x00 here") || f.Run == "r2" && f.Note != strings.Repeat("é", 4000) {
			k.Errorf("it lists %+v", f)
		}
	}
}

func feedbackDeleted(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil, rates(1, "r", "a", "up", ""))
	k.create(key("t"), nil, rates(2, "r", "a", "up", ""))
	if _, err := k.store.Sessions.Create(k.Context(), session.NewSession{Key: key("old"), Log: []*session.Entry{rates(3, "r", "a", "up", "")}, TTL: time.Nanosecond}); err != nil {
		k.Fatal(err)
	}
	k.index()
	k.opinions(ofApp, "old/r a up", "t/r a up", "s/r a up")
	k.delete(key("s"))
	k.opinions(ofApp, "old/r a up", "t/r a up")
	for done := false; !done; {
		var err error
		if _, done, err = k.store.Sweep(k.Context(), 0); err != nil {
			k.Fatal(err)
		}
	}
	k.opinions(ofApp, "t/r a up")
	k.create(key("s"), nil, rates(4, "r", "b", "down", ""))
	k.index()
	k.opinions(ofApp, "s/r b down", "t/r a up")
}

func feedbackRewound(p *place) {
	k := p.as("a", time.Hour)
	back := func(run string) *session.Entry {
		return entry(&event.Event{ID: event.NewID(), InvocationID: event.NewID(), Author: event.User, Timestamp: 4, Actions: event.Actions{RewindBeforeInvocationID: run}})
	}
	k.create(key("s"), nil, says("r1", event.User, "one"), rates(1, "r1", "a", "up", ""), says("r2", event.User, "two"), rates(2, "r2", "a", "down", ""), rates(3, "r1", "a", "down", ""))
	k.index()
	k.opinions(ofApp, "s/r1 a down", "s/r2 a down")
	k.patch(key("s"), back("r2"))
	list, _ := k.feedback(session.FeedbackQuery{App: "app", Rating: "down"}, session.Page{})
	if len(list) != 0 { // even before it is indexed
		k.Errorf("feedback that was rewound is listed: %+v", list)
	}
	k.index()
	k.opinions(ofApp, "s/r1 a up")
	k.create(key("t"), nil, says("r1", event.User, "one"), rates(5, "r1", "a", "up", ""), back("r1"), says("r2", event.User, "two"), rates(6, "r2", "a", "up", ""))
	k.index()
	k.opinions(ofApp, "t/r2 a up", "s/r1 a up")
}

// The copies in a fork are not listed, and what is given there is.
func feedbackForks(p *place) {
	k := p.as("a", time.Hour)
	common := []*event.Event{{ID: "e1", InvocationID: "r1", Author: event.User, Content: event.Text(event.RoleUser, "one")}, {ID: "e2", InvocationID: "r1", Author: "agent", Content: event.Text(event.RoleModel, "two")}}
	given := func() *session.Entry {
		return entry(&event.Event{ID: "f", InvocationID: "p-f", Author: event.User, CustomMetadata: map[string]json.RawMessage{"feedback": []byte(`{"runId":"r1","author":"a","rating":"up","timestamp":1}`)}})
	}
	k.create(key("s"), nil, entry(common[0]), entry(common[1]), given())
	fork := func(id, last string, log ...*session.Entry) {
		k.Helper()
		n := session.NewSession{Key: key(id), Log: append([]*session.Entry{entry(common[0]), entry(common[1]), given()}, log...), Origin: &session.Origin{Session: "s", Event: last, Root: "s"}}
		if _, err := k.store.Sessions.Create(k.Context(), n); err != nil {
			k.Fatal(err)
		}
	}
	fork("copy", "f")
	fork("more", "f", rates(2, "r1", "b", "down", ""))
	k.index()
	k.opinions(ofApp, "more/r1 b down", "s/r1 a up")
	k.patch(key("copy"), rates(3, "r1", "a", "down", "on second thought"))
	k.index()
	k.opinions(ofApp, "copy/r1 a down on second thought", "more/r1 b down", "s/r1 a up")
}

// Feedback far behind what it is about finds its turn, and a log is indexed in several steps.
func feedbackLate(p *place) {
	k := p.as("a", time.Hour)
	log := []*session.Entry{says("first", event.User, "Where it began"), says("first", "agent", "Here.")}
	for i := range 350 {
		log = append(log, says(fmt.Sprint("r", i), "agent", "more"))
	}
	k.create(key("s"), nil, append(log, rates(1, "first", "a", "up", ""))...)
	k.index()
	list, _ := k.feedback(ofApp, session.Page{})
	if len(list) != 1 || list[0].Message != "Where it began" || list[0].Answer != "Here." {
		k.Fatalf("it lists %+v", list)
	}
	k.searches("user", "began", "s/"+func() string { ev, _ := log[0].Decode(); return ev.ID }())
}

// What any process stores is listed by all, also by one that is opened later.
func feedbackGrows(p *place) {
	a := p.as("a", time.Hour)
	a.create(key("s"), nil)
	a.index()
	for i := range 120 {
		a.patch(key("s"), rates(float64(i), fmt.Sprint("r", i), "a", "up", ""))
	}
	b := p.as("b", time.Hour)
	b.index()
	for _, k := range []*kit{a, b} {
		if list, next := k.feedback(ofApp, session.Page{Size: 119}); len(list) != 119 || next == "" || list[0].Run != "r119" {
			k.Errorf("%d are listed, next %q", len(list), next)
		}
	}
}

// Long logs are indexed, too, if there are many of them.
func feedbackLarge(p *place) {
	a := p.as("a", time.Hour)
	text := strings.Repeat("long ", 600_000)
	for i := range 3 {
		at := key(fmt.Sprint("s", i))
		a.create(at, nil)
		a.patch(at, says("r", "agent", text))
		a.patch(at, rates(float64(i), "r", "a", "up", ""))
	}
	b := p.as("b", time.Hour)
	b.index()
	b.opinions(ofApp, "s2/r a up", "s1/r a up", "s0/r a up")
}

// Processes that index and write at the same time agree.
func feedbackTogether(p *place) {
	a, b := p.as("a", time.Hour), p.as("b", time.Hour)
	for s := range 4 {
		a.create(key(fmt.Sprint("s", s)), nil)
	}
	a.together(8, func(i int) error {
		k := []*kit{a, b}[i%2]
		for n := range 20 {
			if i < 4 {
				if err := k.store.Patch(k.Context(), key(fmt.Sprint("s", i)), rates(float64(n), fmt.Sprint("r", n%5), "a", "up", fmt.Sprint(n))); err != nil {
					return err
				}
			} else if _, err := k.store.Searcher.Index(k.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	a.index()
	b.index()
	list, _ := b.feedback(ofApp, session.Page{})
	if len(list) != 20 {
		b.Errorf("%d are listed, want 5 runs of 4 sessions", len(list))
	}
	for _, f := range list {
		if f.Time.Before(time.Unix(15, 0)) {
			b.Errorf("%s/%s is %s of %s, which was changed", f.Key.ID, f.Run, f.Note, f.Time)
		}
	}
}

// RunOldFeedback tests that a store finds feedback that was stored before it had an index
// of it. upgrade removes that index, and opens the store again.
func RunOldFeedback(t *testing.T, store session.Store, upgrade func() session.Store) {
	t.Helper()
	k := &kit{T: t, store: taker{store}}
	k.create(key("s"), nil, says("r1", event.User, "hello"), rates(1, "r1", "a", "up", ""))
	log := make([]*session.Entry, 150)
	for i := range log {
		log[i] = says(fmt.Sprint("r", i), "agent", "many")
	}
	k.create(key("long"), nil, append(log, rates(2, "r140", "b", "down", "late"))...)
	k.create(key("back"), nil, says("r1", event.User, "first"), rates(3, "r1", "c", "up", ""), says("r2", event.User, "gone"), rates(4, "r2", "c", "up", ""),
		entry(&event.Event{ID: "b", InvocationID: "i-b", Author: event.User, Actions: event.Actions{RewindBeforeInvocationID: "r2"}}))
	k.index()
	k.store = taker{upgrade()}
	k.index()
	k.opinions(ofApp, "back/r1 c up", "long/r140 b down late", "s/r1 a up")
	if found, _ := k.search("user", "many", session.Page{Size: 200}); len(found) != 150 {
		k.Errorf("%d texts are found, want 150", len(found))
	}
	if found, _ := k.search("user", "gone", session.Page{}); len(found) != 0 {
		k.Errorf("a text that was rewound is found: %+v", found)
	}
	k.patch(key("s"), rates(5, "r1", "a", "down", ""))
	k.index()
	k.opinions(ofApp, "s/r1 a down", "back/r1 c up", "long/r140 b down late")
}
