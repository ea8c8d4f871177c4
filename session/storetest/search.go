package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// RunSearch runs the tests for the Searcher of a store. open is like that of
// RunOutbox.
func RunSearch(t *testing.T, open func(t *testing.T) func(session.Options) session.Store) {
	t.Helper()
	runPlaces(t, open, []sharedTest{
		{"Words", searchWords},
		{"Syntax", searchSyntax},
		{"Texts", searchTexts},
		{"Users", searchUsers},
		{"Pages", searchPages},
		{"Many", searchMany},
		{"Old", searchOld},
		{"Deleted", searchDeleted},
		{"Expired", searchExpired},
		{"Rewound", searchRewound},
		{"Grows", searchGrows},
		{"Together", searchTogether},
	})
}

// talk is an entry with a text, at a second.
func talk(id string, at float64, text string) *session.Entry {
	return entry(&event.Event{ID: id, InvocationID: "i-" + id, Author: "agent", Timestamp: at, Content: event.Text(event.RoleModel, text)})
}

// index makes everything findable.
func (k *kit) index() {
	k.Helper()
	for calls := 0; ; calls++ {
		done, err := k.store.Searcher.Index(k.Context())
		if err != nil {
			k.Fatalf("Index: %v", err)
		}
		if done {
			return
		}
		if calls == 10_000 {
			k.Fatal("Index does not end")
		}
	}
}

func (k *kit) search(user, query string, page session.Page) ([]*session.Found, string) {
	k.Helper()
	found, next, err := k.store.Searcher.Search(k.Context(), "app", user, query, page)
	if err != nil {
		k.Fatalf("Search(%q, %q): %v", user, query, err)
	}
	return found, next
}

// searches wants the events that a query finds, in order.
func (k *kit) searches(user, query string, want ...string) {
	k.Helper()
	found, next := k.search(user, query, session.Page{})
	var got []string
	for _, f := range found {
		got = append(got, f.Session+"/"+f.Event)
	}
	if !slices.Equal(got, want) || next != "" {
		k.Errorf("%q of %s finds %q (next %q), want %q", query, user, got, next, want)
	}
}

// marked is a snippet with its matches in brackets.
func marked(f *session.Found) string {
	var b strings.Builder
	for _, s := range f.Snippet {
		if s.Match {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// others adds newer texts, which stores may look at before they use an index.
func (k *kit) others() {
	k.Helper()
	log := make([]*session.Entry, 250)
	for i := range log {
		log[i] = talk(fmt.Sprint("other-", i), 1e6+float64(i), "zzz")
	}
	k.create(key("others"), nil, log...)
}

// A word that few of many texts have is found, and so are all texts with a word that most of them have, page by page and
// in order, among those of another user.
func searchMany(p *place) {
	k := p.as("a", time.Hour)
	const sessions, each = 24, 100
	var want []string
	at := 0
	for s := range sessions {
		of := key(fmt.Sprint("s", s))
		if s%3 == 0 {
			of.User = "another"
		}
		log := make([]*session.Entry, each)
		for i := range log {
			at++
			text := "common"
			switch {
			case at%10 == 0:
				text = "different"
			case s == 1 && i == 0 || s == 20 && i == 98:
				text = "common and rare"
			}
			log[i] = talk(fmt.Sprint("e", at), float64(at), text)
			if of.User != "another" && text != "different" {
				want = append(want, fmt.Sprint("e", at))
			}
		}
		k.create(of, nil, log...)
	}
	k.index()
	slices.Reverse(want)
	var got []string
	token := ""
	for range len(want) {
		found, next := k.search("user", "comm", session.Page{Size: 70, Token: token})
		for _, f := range found {
			got = append(got, f.Event)
		}
		if token = next; next == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		k.Errorf("found %d texts, want %d", len(got), len(want))
	}
	k.searches("user", "rare", "s20/e2099", "s1/e101")
	k.searches("user", `"and rare"`, "s20/e2099", "s1/e101")
	k.searches("another", "rare")
	first, next := k.search("user", "rar", session.Page{Size: 1})
	second, last := k.search("user", "rar", session.Page{Size: 1, Token: next})
	if len(first) != 1 || first[0].Event != "e2099" || len(second) != 1 || second[0].Event != "e101" || last != "" {
		k.Errorf("pages of one text are %v, %v, and then %q", first, second, last)
	}
}

func searchWords(p *place) {
	k := p.as("a", time.Hour)
	k.others()
	k.create(key("s"), nil,
		talk("1", 1, "The Eiffel Tower is in Paris."),
		talk("2", 2, "Straße in Zürich, ÉTÉ 2024"),
		talk("3", 3, "私の猫はかわいい"),
		talk("4", 4, "tower of Pisa, in the tower"),
		talk("5", 5, strings.Repeat("long ", 100)+"needle"+strings.Repeat(" tail", 100)),
		talk("6", 6, "version 10.5 of foo_bar-baz and don't"),
		talk("7", 7, strings.Repeat("x", 200)+" wide"),
	)
	k.index()
	for query, want := range map[string][]string{
		"paris":                 {"s/1"},
		"PARIS tower":           {"s/1"},
		"par":                   {"s/1"},
		"par tower":             nil, // only the last word may be incomplete
		"tower":                 {"s/4", "s/1"},
		"tow":                   {"s/4", "s/1"},
		`"eiffel tower"`:        {"s/1"},
		`"tower eiffel"`:        nil,
		`"tow"`:                 nil,
		`"eiffel tow`:           {"s/1"},
		`"in the" tower`:        {"s/4"},
		"in":                    {"s/4", "s/2", "s/1"},
		"strasse":               nil,
		"straße":                {"s/2"},
		"été":                   {"s/2"},
		"猫":                     {"s/3"},
		"の猫":                    {"s/3"},
		"猫の":                    nil,
		"needle":                {"s/5"},
		"10.5":                  {"s/6"},
		"5.10":                  nil,
		"foo bar":               {"s/6"},
		"don't":                 {"s/6"},
		"wide":                  {"s/7"},
		strings.Repeat("x", 64): {"s/7"},
		"none":                  nil,
	} {
		k.searches("user", query, want...)
	}
	for query, want := range map[string]string{
		"tower paris": "The Eiffel [Tower] is in [Paris].",
		"is in":       "The Eiffel Tower [is] [in] Paris.",
		`"is in"`:     "The Eiffel Tower [is in] Paris.",
		"needle":      "…long long long long long long long long long long long [needle]" + strings.Repeat(" tail", 35) + "…",
	} {
		found, _ := k.search("user", query, session.Page{})
		if len(found) != 1 || marked(found[0]) != want {
			k.Errorf("%q shows %q, want %q", query, marked(found[0]), want)
		}
	}
	found, _ := k.search("user", "paris", session.Page{})
	if f := found[0]; f.Author != "agent" || !f.Time.Equal(time.Unix(1, 0)) {
		k.Errorf("it found %+v", f)
	}
}

// searchSyntax checks that a query has no other syntax: what means something to a
// database is a word, or nothing.
func searchSyntax(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil, talk("1", 1, "cats or dogs"), talk("2", 2, "near not and"))
	k.index()
	for query, want := range map[string][]string{
		"cats OR near":     nil,
		"cats or":          {"s/1"},
		"near AND not":     {"s/2"},
		"cat* ":            {"s/1"},
		"words:cats":       nil,
		"^cats":            {"s/1"},
		"-cats":            {"s/1"},
		"!cats & dogs":     {"s/1"},
		"cats | near":      nil,
		"cats' & 'near":    nil,
		`cats\`:            {"s/1"},
		"cats:*":           {"s/1"},
		"cats <-> near":    nil,
		"NEAR(cats dogs)":  nil,
		"cats); DROP x --": nil,
		"{cats}":           {"s/1"},
		`""cats""`:         {"s/1"},
		"cats + dogs":      {"s/1"},
	} {
		k.searches("user", query, want...)
	}
	for _, query := range []string{"", " ", `""`, "!?* '", strings.Repeat("a ", 40), strings.Repeat("a", 2000)} {
		if _, _, err := k.store.Searcher.Search(k.Context(), "app", "user", query, session.Page{}); !errors.Is(err, session.ErrBadQuery) {
			k.Errorf("Search(%.20q): error %v, want ErrBadQuery", query, err)
		}
	}
	for _, token := range []string{"x", "-1", "1.2.3.4", "'"} {
		if _, _, err := k.store.Searcher.Search(k.Context(), "app", "user", "cats", session.Page{Token: token}); !errors.Is(err, session.ErrBadToken) {
			k.Errorf("Search with the token %q: error %v, want ErrBadToken", token, err)
		}
	}
}

// searchTexts checks which parts of events are found.
func searchTexts(p *place) {
	k := p.as("a", time.Hour)
	k.others()
	content := &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{Text: "secret thought", Thought: true},
		{Text: "first"},
		{FunctionCall: &event.FunctionCall{ID: "c", Name: "calling", Args: []byte(`{"a":"argument"}`)}},
		{Text: "second"},
	}}
	result := &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: "c", Name: "calling", Response: []byte(`{"a":"result"}`)}}}}
	k.create(key("s"), state("key", `"value"`),
		entry(&event.Event{ID: "1", InvocationID: "i", Author: "agent", Timestamp: 1, Content: content}),
		entry(&event.Event{ID: "2", InvocationID: "i", Author: "agent", Timestamp: 2, Content: result}),
		set("3", "key", `"changed"`),
		entry(&event.Event{ID: "4", InvocationID: "i", Author: "user", Timestamp: 4, Content: event.Text(event.RoleUser, "nul \x00 here")}),
		entry(&event.Event{ID: "5", InvocationID: "i", Author: "user", Timestamp: 5, Content: event.Text(event.RoleUser, strings.Repeat("filler ", 10_000)+"late")}),
	)
	k.create(session.Key{App: "app", User: "user", ID: "___eval___session___1"}, nil, talk("h", 1, "first"))
	k.index()
	for query, want := range map[string][]string{
		"first": {"s/1"}, "second": {"s/1"}, `"first second"`: {"s/1"}, "nul here": {"s/4"}, "filler": {"s/5"},
		"secret": nil, "calling": nil, "argument": nil, "result": nil, "value": nil, "changed": nil, "late": nil,
	} {
		k.searches("user", query, want...)
	}
}

// searchUsers checks that a search finds nothing of others.
func searchUsers(p *place) {
	k := p.as("a", time.Hour)
	for _, at := range []session.Key{
		{App: "app", User: "alice", ID: "s"}, {App: "app", User: "bob", ID: "s"}, {App: "other", User: "alice", ID: "s"}, {App: "app", User: "ali", ID: "ce"},
	} {
		k.create(at, nil, talk("of-"+at.App+"-"+at.User, 1, "shared words of "+at.User))
	}
	k.index()
	k.searches("alice", "shared", "s/of-app-alice")
	k.searches("alice", "bob")
	k.searches("bob", "shared", "s/of-app-bob")
	k.searches("eve", "shared")
	k.searches("", "shared")
}

func searchPages(p *place) {
	k := p.as("a", time.Hour)
	var want []string
	for s := range 5 {
		var log []*session.Entry
		for e := range 30 {
			n := s*30 + e
			log = append(log, talk(fmt.Sprintf("e%03d", n), float64(n), fmt.Sprintf("common word %d", n)))
			want = append(want, fmt.Sprintf("e%03d", n))
		}
		k.create(key(fmt.Sprint("s", s)), nil, log...)
	}
	slices.Reverse(want)
	k.index()
	for _, size := range []int{1, 7, 50, 150, 500} {
		var got []string
		page := session.Page{Size: size}
		for {
			found, next := k.search("user", "common wo", page)
			if len(found) > size {
				k.Fatalf("a page of %d has %d", size, len(found))
			}
			for _, f := range found {
				got = append(got, f.Event)
			}
			if next == "" {
				break
			}
			page.Token = next
			if len(got) > len(want) {
				break
			}
		}
		if !slices.Equal(got, want) {
			k.Errorf("pages of %d: %d events, want %d in order:\n%v", size, len(got), len(want), got)
		}
	}
	// Events of one moment are all found.
	var log []*session.Entry
	for e := range 700 {
		log = append(log, talk(fmt.Sprint(e), 9.5, "same moment"))
	}
	k.create(key("same"), nil, log...)
	k.index()
	seen := map[string]bool{}
	for page := (session.Page{Size: 90}); ; {
		found, next := k.search("user", "moment", page)
		for _, f := range found {
			seen[f.Event] = true
		}
		if page.Token = next; next == "" {
			break
		}
	}
	if len(seen) != len(log) {
		k.Errorf("%d events of one moment were found, want %d", len(seen), len(log))
	}
}

// A beginning that many different words of old texts have, and none of new ones.
func searchOld(p *place) {
	k := p.as("a", time.Hour)
	const old, more = 2100, 300
	var want []string
	var log []*session.Entry
	for i := range old + more {
		text := fmt.Sprintf("common zebra%d", i)
		if i >= old {
			text = fmt.Sprintf("common yak%d", i)
		} else {
			want = append(want, fmt.Sprint("e", i))
		}
		log = append(log, talk(fmt.Sprint("e", i), float64(i), text))
	}
	k.create(key("long"), nil, log...)
	other := key("other")
	other.User = "another"
	k.create(other, nil, talk("o", float64(old), "common zebra"))
	// Texts with many such words.
	log = nil
	var many []string
	for i := range 200 {
		var text strings.Builder
		for w := range 30 {
			fmt.Fprintf(&text, "quagga%dx%d ", i, w)
		}
		log = append(log, talk(fmt.Sprint("q", i), float64(i)/1000, text.String()), talk(fmt.Sprint("p", i), float64(i)/1000, "quaggy"))
		many = append(many, fmt.Sprint("many/q", i))
	}
	k.create(key("many"), nil, log...)
	k.index()
	slices.Reverse(many)
	slices.Reverse(want)
	for _, query := range []string{"zeb", "common z"} {
		var got []string
		token := ""
		for range len(want) {
			found, next := k.search("user", query, session.Page{Size: 500, Token: token})
			for _, f := range found {
				got = append(got, f.Event)
			}
			if token = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			k.Errorf("%q: found %d texts, want %d", query, len(got), len(want))
		}
	}
	k.searches("user", "zebra1999", "long/e1999")
	k.searches("user", "zebra209", "long/e2099", "long/e2098", "long/e2097", "long/e2096", "long/e2095", "long/e2094", "long/e2093", "long/e2092", "long/e2091", "long/e2090", "long/e209")
	k.searches("user", "zeal")
	found, next := k.search("user", "quagga", session.Page{Size: 200})
	var got []string
	for _, f := range found {
		got = append(got, f.Session+"/"+f.Event)
	}
	if !slices.Equal(got, many) || next != "" {
		k.Errorf("quagga: found %d texts (next %q), want %d", len(got), next, len(many))
	}
	k.searches("user", "quagga7x", "many/q7")
}

func searchDeleted(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil, talk("1", 1, "to be deleted"))
	k.create(key("t"), nil, talk("2", 2, "to be kept"))
	k.index()
	k.searches("user", "to be", "t/2", "s/1")
	k.delete(key("s"))
	k.searches("user", "to be", "t/2")
	k.searches("user", "deleted")
	k.create(key("s"), nil, talk("3", 3, "to be there again"))
	k.index()
	k.searches("user", "to be", "s/3", "t/2")
	k.delete(key("s"))
	k.index() // of a session that was deleted before it was indexed
	k.create(key("u"), nil, talk("4", 4, "short"))
	k.delete(key("u"))
	k.index()
	k.searches("user", "short")
}

func searchExpired(p *place) {
	k := p.as("a", time.Hour)
	if _, err := k.store.Sessions.Create(k.Context(), session.NewSession{Key: key("old"), Log: []*session.Entry{talk("1", 1, "soon over")}, TTL: time.Nanosecond}); err != nil {
		k.Fatal(err)
	}
	k.create(key("s"), nil, talk("2", 2, "over there"))
	k.index()
	k.searches("user", "over", "s/2", "old/1")
	for done := false; !done; {
		var err error
		if _, done, err = k.store.Sweep(k.Context(), 0); err != nil {
			k.Fatal(err)
		}
	}
	k.searches("user", "over", "s/2")
}

func searchRewound(p *place) {
	k := p.as("a", time.Hour)
	k.create(key("s"), nil, talk("1", 1, "stays here"), talk("2", 2, "goes away"), talk("3", 3, "goes too"))
	k.index()
	k.searches("user", "goes", "s/3", "s/2")
	k.patch(key("s"), entry(&event.Event{ID: "r", InvocationID: "i-r", Author: "user", Timestamp: 4, Actions: event.Actions{RewindBeforeInvocationID: "i-2"}}))
	k.searches("user", "goes") // even before it is indexed
	k.index()
	k.searches("user", "goes")
	k.searches("user", "stays", "s/1")
	k.patch(key("s"), talk("5", 5, "goes on"))
	k.index()
	k.searches("user", "goes", "s/5")
	// Of a log that was rewound before it is indexed, too.
	k.create(key("t"), nil, talk("a", 11, "goes"), talk("b", 12, "never indexed goes"),
		entry(&event.Event{ID: "r", InvocationID: "i-r", Author: "user", Timestamp: 13, Actions: event.Actions{RewindBeforeInvocationID: "i-b"}}))
	k.index()
	k.searches("user", "goes", "t/a", "s/5")
}

// searchGrows checks that what any process stores is found by all, also by one that is
// opened later.
func searchGrows(p *place) {
	a := p.as("a", time.Hour)
	a.create(key("s"), nil)
	a.index()
	for i := range 250 {
		a.patch(key("s"), talk(fmt.Sprint(i), float64(i), fmt.Sprintf("word%d of many", i)))
	}
	b := p.as("b", time.Hour)
	b.index()
	for _, k := range []*kit{a, b} {
		k.searches("user", "word249", "s/249")
		k.searches("user", `"word0 of"`, "s/0")
		if found, next := k.search("user", "many", session.Page{Size: 249}); len(found) != 249 || next == "" {
			k.Errorf("%d found, next %q", len(found), next)
		}
	}
}

// searchTogether checks that processes that index and write at the same time agree.
func searchTogether(p *place) {
	a, b := p.as("a", time.Hour), p.as("b", time.Hour)
	for s := range 4 {
		a.create(key(fmt.Sprint("s", s)), nil)
	}
	a.together(8, func(i int) error {
		k := []*kit{a, b}[i%2]
		for n := range 20 {
			if i < 4 {
				if err := k.store.Patch(k.Context(), key(fmt.Sprint("s", i)), talk(fmt.Sprintf("%d-%d", i, n), float64(n), fmt.Sprintf("text%dx%d", i, n))); err != nil {
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
	for i := range 4 {
		for n := range 20 {
			a.searches("user", fmt.Sprintf(`"text%dx%d"`, i, n), fmt.Sprintf("s%d/%d-%d", i, i, n))
		}
	}
}
