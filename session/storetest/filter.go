package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

// finds wants the list of the user, filtered, to be just these sessions,
// whatever the size of the pages.
func (k *kit) finds(f session.Filter, want ...string) {
	k.Helper()
	for _, size := range []int{0, 1, 2, 3} {
		var got []string
		for page := (session.Page{Size: size, Filter: f}); ; {
			sessions, next := k.list("app", "user", page)
			if size > 0 && len(sessions) > size || next != "" && len(sessions) != size {
				k.Fatalf("a page of %d has %d sessions and the token %q", size, len(sessions), next)
			}
			if next == "" && len(sessions) == 0 && page.Token != "" {
				k.Errorf("%+v: the page before said that there was another, and this one is empty", f)
			}
			if got = append(got, ids(sessions)...); next == "" || len(got) > 1000 {
				break
			}
			page.Token = next
		}
		if !slices.Equal(got, want) {
			k.Errorf("%+v in pages of %d: %v, want %v", f, size, got, want)
		}
	}
}

// metadata is a state with a title and labels.
func metadata(text string) session.State { return state(session.MetadataKey, text) }

// A title is found by any part of it, in any case of letters, and by nothing
// that merely looks like a pattern.
func filterTitle(k *kit) {
	for i, title := range []string{"Weather in Paris", "weather", "100% sure", "100 percent", "a_b", "axb", `back\slash`, "ÉCOLE Ωmega", "it's", "", "tab\there", "[x]*"} {
		k.create(key(fmt.Sprint("s", i)), metadata(fmt.Sprintf(`{"displayName":%q}`, title)))
	}
	k.create(key("untitled"), state("displayName", `"weather"`, "title", `"weather"`))
	k.create(session.Key{App: "app", User: "other", ID: "foreign"}, metadata(`{"displayName":"weather"}`))
	for title, want := range map[string][]string{
		"weather":          {"s1", "s0"},
		"WEATHER":          {"s1", "s0"},
		"eather i":         {"s0"},
		"paris ":           nil,
		"100%":             {"s2"},
		"%":                {"s2"},
		"_":                {"s4"},
		"a_b":              {"s4"},
		`\`:                {"s6"},
		"école":            {"s7"},
		"ωMEGA":            {"s7"},
		"'":                {"s8"},
		"*":                {"s11"},
		"[x]":              {"s11"},
		"\t":               {"s10"},
		"displayName":      nil,
		"Weather in Paris": {"s0"},
		"e\u0301cole":      nil,
	} {
		k.finds(session.Filter{Title: title}, want...)
	}
	k.finds(session.Filter{}, "untitled", "s11", "s10", "s9", "s8", "s7", "s6", "s5", "s4", "s3", "s2", "s1", "s0")
}

// Labels are compared byte by byte, name and value, and all have to be there.
func filterLabels(k *kit) {
	for i, text := range []string{
		`{"labels":{"team":"red","stage":"1"}}`,
		`{"labels":{"team":"red"}}`,
		`{"labels":{"team":"Red","stage":"1"}}`,
		`{"labels":{"Team":"red"}}`,
		`{"labels":{"team":"","a.b":"x","a":"{\"b\":\"x\"}","$.a":"'","é":"%"}}`,
		`{"displayName":"red","labels":{}}`,
		`{"labels":{"team":"\u0072ed"}}`,
		`{"labels":{"":"nameless","team":"re"}}`,
	} {
		k.create(key(fmt.Sprint("s", i)), metadata(text))
	}
	k.create(key("none"), state("labels", `{"team":"red"}`, "team", `"red"`))
	for _, tt := range []struct {
		labels map[string]string
		want   []string
	}{
		{map[string]string{}, []string{"none", "s7", "s6", "s5", "s4", "s3", "s2", "s1", "s0"}},
		{map[string]string{"team": "red"}, []string{"s6", "s1", "s0"}},
		{map[string]string{"team": "red", "stage": "1"}, []string{"s0"}},
		{map[string]string{"stage": "1"}, []string{"s2", "s0"}},
		{map[string]string{"stage": "2"}, nil},
		{map[string]string{"team": "red", "never": "x"}, nil},
		{map[string]string{"team": ""}, []string{"s4"}},
		{map[string]string{"never": ""}, nil},
		{map[string]string{"a.b": "x"}, []string{"s4"}},
		{map[string]string{"$.a": "'"}, []string{"s4"}},
		{map[string]string{"é": "%"}, []string{"s4"}},
		{map[string]string{"": "nameless"}, []string{"s7"}},
		{map[string]string{"team": "r%"}, nil},
	} {
		k.finds(session.Filter{Labels: tt.labels}, tt.want...)
	}
}

// What clients have made of the metadata may be anything. What cannot be read is
// not there, and neither the session nor its list is the worse for it.
func filterOddMetadata(k *kit) {
	odd := []string{
		`null`, `0`, `"Tea"`, `[]`, `{}`, `[{"displayName":"Tea"}]`, `{"displayName":null,"labels":null}`, `{"displayName":7}`,
		`{"displayName":{"Tea":"Tea"},"labels":["Tea"]}`, `{"labels":{"l":1,"m":null,"n":["x"]}}`, `{"DisplayName":"Tea","Labels":{"l":"1"}}`,
		`{"display_name":"Tea"}`, `{"metadata":{"displayName":"Tea"}}`,
	}
	readable := []string{
		`{"displayName":"Tea","labels":[]}`,
		`{"displayName":"Tea","labels":{"l":1,"m":"x"}}`,
		`{"displayName":"Tea \u0000\ud83d","other":1e400}`,
		`{"displayName":"` + strings.Repeat("x", 10_000) + ` Tea"}`,
	}
	var all, found []string
	for i, text := range append(odd, readable...) {
		id := fmt.Sprint("s", i)
		if i == 0 {
			k.create(key(id), state("a", "1"))
			k.patch(key(id), set("e", session.MetadataKey, text)) // null deletes
		} else {
			k.create(key(id), metadata(text))
			k.hasState(k.get(key(id)), session.MetadataKey, text)
		}
		all = append(all, id)
		if i >= len(odd) {
			found = append(found, id)
		}
	}
	slices.Reverse(all)
	slices.Reverse(found)
	k.finds(session.Filter{}, all...)
	k.finds(session.Filter{Title: "tea"}, found...)
	k.finds(session.Filter{Labels: map[string]string{"m": "x"}}, fmt.Sprint("s", len(odd)+1))
	for _, labels := range []map[string]string{{"l": "1"}, {"l": ""}, {"m": ""}, {"n": ""}} {
		k.finds(session.Filter{Labels: labels})
	}
}

// The metadata is a part of the state, and follows it, however that is
// changed.
func filterFollows(k *kit) {
	tea, coffee := `{"displayName":"Tea","labels":{"hot":"yes","drink":"tea"}}`, `{"displayName":"Coffee","labels":{"hot":"no"}}`
	is := func(title string, labels ...string) {
		k.Helper()
		for _, name := range []string{"Tea", "Coffee"} {
			var want []string
			if name == title {
				want = []string{"s"}
			}
			k.finds(session.Filter{Title: name}, want...)
		}
		for _, label := range []string{"hot=yes", "hot=no", "drink=tea"} {
			var want []string
			if slices.Contains(labels, label) {
				want = []string{"s"}
			}
			name, value, _ := strings.Cut(label, "=")
			k.finds(session.Filter{Labels: map[string]string{name: value}}, want...)
		}
	}
	k.create(key("s"), metadata(tea))
	is("Tea", "hot=yes", "drink=tea")
	k.patch(key("s"), set("e0", session.MetadataKey, coffee))
	is("Coffee", "hot=no")
	req := asked("run", key("s"))
	req.Message = set("e1", session.MetadataKey, tea)
	epoch := k.begin(req).Run.Epoch
	is("Tea", "hot=yes", "drink=tea")
	k.append(key("s"), epoch, set("e2", session.MetadataKey, "null"))
	is("")
	k.append(key("s"), epoch, set("e3", session.MetadataKey, coffee), set("e4", "a", "1"))
	is("Coffee", "hot=no")
	k.end(key("s"), epoch, session.End{Status: session.Completed, Entries: []*session.Entry{set("e5", session.MetadataKey, tea)}})
	is("Tea", "hot=yes", "drink=tea")
	k.patch(key("s"), set("e6", "user:"+session.MetadataKey, coffee, "app:"+session.MetadataKey, coffee))
	is("Tea", "hot=yes", "drink=tea")
	k.delete(key("s"))
	is("")
	k.create(key("s"), nil, set("e", session.MetadataKey, tea), set("f", session.MetadataKey, coffee))
	is("Coffee", "hot=no")
}

// The bounds of the last change: the first counts, the second does not, so that
// one interval follows the other.
func filterTimes(k *kit) {
	var updated []time.Time
	for i := range 4 {
		s := key(fmt.Sprint("s", i))
		k.create(s, nil)
		// Until the clock has moved on.
		for n := 0; i > 0 && !k.read(s, session.Read{NoEvents: true}).Updated.After(updated[i-1]); n++ {
			if n == 10_000 {
				k.Fatal("the clock stands still")
			}
			k.patch(s, say(fmt.Sprint("e", n)))
		}
		updated = append(updated, k.get(s).Updated)
	}
	const tick = time.Microsecond
	for _, tt := range []struct {
		f    session.Filter
		want []string
	}{
		{session.Filter{Since: updated[0]}, []string{"s3", "s2", "s1", "s0"}},
		{session.Filter{Since: updated[2]}, []string{"s3", "s2"}},
		{session.Filter{Since: updated[3].Add(tick)}, nil},
		{session.Filter{Before: updated[0]}, nil},
		{session.Filter{Before: updated[2]}, []string{"s1", "s0"}},
		{session.Filter{Before: updated[3].Add(tick)}, []string{"s3", "s2", "s1", "s0"}},
		{session.Filter{Since: updated[1], Before: updated[3]}, []string{"s2", "s1"}},
		{session.Filter{Since: updated[3], Before: updated[1]}, nil},
		{session.Filter{Since: updated[1].In(time.FixedZone("", 7*3600)), Before: updated[2].UTC()}, []string{"s1"}},
		{session.Filter{Since: time.Unix(0, 0), Before: time.Now().AddDate(100, 0, 0)}, []string{"s3", "s2", "s1", "s0"}},
	} {
		k.finds(tt.f, tt.want...)
	}
	k.finds(session.Filter{Since: updated[1], Before: updated[3], Title: "x"})
}

// A filter leaves out what does not match and nothing else, whatever is made and
// deleted between two pages: what is not shown cannot be found again.
func filterBetweenPages(k *kit) {
	title := func(i int) session.State {
		return metadata(fmt.Sprintf(`{"displayName":"%s %d","labels":{"odd":"%v"}}`, []string{"tea", "coffee", "Tea"}[i%3], i, i%2 == 1))
	}
	var stays []string
	for i := range 30 {
		id := fmt.Sprintf("s%02d", i)
		k.create(key(id), title(i))
		if i%3 != 1 && i%2 == 1 {
			stays = append(stays, id)
		}
	}
	k.create(key("adk-eval-session-1"), title(3))
	slices.Reverse(stays)
	filter := session.Filter{Title: "TEA", Labels: map[string]string{"odd": "true"}}
	k.finds(filter, stays...)

	var got []string
	token := ""
	for page := 0; ; page++ {
		sessions, next := k.list("app", "user", session.Page{Size: 3, Token: token, Filter: filter})
		shown := ids(sessions)
		if got = append(got, shown...); next == "" || page > 20 {
			break
		}
		token = next
		k.create(key(fmt.Sprint("new", page)), title(3))
		k.patch(key("s00"), set(fmt.Sprint("e", page), "a", "1"))
		if page == 0 {
			k.delete(key(shown[2])) // the one that the token stands for
			k.create(key(shown[2]), title(3))
			k.patch(key(shown[1]), set("e", session.MetadataKey, "null")) // does not match any more
		}
	}
	if !slices.Equal(got, stays) {
		k.Errorf("shown were\n%v, want\n%v", got, stays)
	}
}
