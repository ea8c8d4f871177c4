package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// spend ends a run of a session, which is made if necessary, that has used so many
// tokens.
func (k *kit) spend(key session.Key, tokens int64) {
	k.Helper()
	if _, err := k.store.Get(k.Context(), key, session.Read{NoEvents: true}); errors.Is(err, session.ErrNotFound) {
		k.create(key, nil)
	}
	run := asked(fmt.Sprint("spend-", runs.Add(1)), key)
	epoch := k.begin(run).Run.Epoch
	k.end(key, epoch, session.End{Status: session.Completed, Usage: event.Usage{
		Prompt: tokens, Candidates: 2 * tokens, Total: 3 * tokens, CachedContent: 4 * tokens, Thoughts: 5 * tokens, ToolUsePrompt: 6 * tokens,
	}})
}

// around is the days around today: the tests may run at midnight.
func around() session.UsageQuery {
	return session.UsageQuery{From: session.DayOf(time.Now().AddDate(0, 0, -1)), To: session.DayOf(time.Now().AddDate(0, 0, 1))}
}

// used is what the query finds, size at a time: runs and tokens of the prompt by
// app/user.
func (k *kit) used(query session.UsageQuery, size int) map[string][2]int64 {
	k.Helper()
	found := map[string][2]int64{}
	last := session.UsageKey{}
	for page := (session.Page{Size: size}); ; {
		list, next, err := k.store.Usage(k.Context(), query, page)
		if err != nil || list == nil || size > 0 && len(list) > size {
			k.Fatalf("Usage(%+v, %+v): %v, %v", query, page, list, err)
		}
		for _, u := range list {
			if p := u.Tokens.Prompt; u.Tokens.Candidates != 2*p || u.Tokens.Total != 3*p || u.Tokens.CachedContent != 4*p || u.Tokens.Thoughts != 5*p || u.Tokens.ToolUsePrompt != 6*p {
				k.Errorf("the tokens of %v are mixed up: %+v", u.UsageKey, u.Tokens)
			}
			if u.Day < query.From || u.Day > query.To || fmt.Sprint(u.UsageKey) <= fmt.Sprint(last) {
				k.Errorf("%v came after %v", u.UsageKey, last)
			}
			last = u.UsageKey
			sum := found[u.App+"/"+u.User]
			found[u.App+"/"+u.User] = [2]int64{sum[0] + u.Runs, sum[1] + u.Tokens.Prompt}
		}
		if next == "" {
			return found
		}
		page.Token = next
	}
}

func (k *kit) hasUsed(query session.UsageQuery, size int, want map[string][2]int64) {
	k.Helper()
	if diff := cmp.Diff(want, k.used(query, size)); diff != "" {
		k.Errorf("Usage(%+v) (-want +got):\n%s", query, diff)
	}
}

// Usage is summed by application and user, to tell who has used the tokens.
func usageSums(k *kit) {
	k.hasUsed(around(), 0, map[string][2]int64{})
	k.spend(key("s"), 1)
	k.spend(key("s"), 10)
	k.spend(key("r"), 100)
	k.spend(session.Key{App: "app", User: "other", ID: "s"}, 1000)
	k.spend(session.Key{App: "app", User: "other", ID: "s"}, 0)
	k.hasUsed(around(), 0, map[string][2]int64{"app/user": {3, 111}, "app/other": {2, 1000}})

	// A run that is forgotten has used nothing.
	epoch := k.start("discarded", key("s"))
	k.end(key("s"), epoch, session.End{Discard: true, Usage: event.Usage{Prompt: 5}})
	k.hasUsed(around(), 0, map[string][2]int64{"app/user": {3, 111}, "app/other": {2, 1000}})
}

func usageFilter(k *kit) {
	for i, one := range []session.Key{{App: "a", User: "u"}, {App: "a", User: "é😀"}, {App: "b", User: "u"}} {
		one.ID = "s"
		k.spend(one, int64(i+1))
	}
	with := func(change func(*session.UsageQuery)) session.UsageQuery {
		q := around()
		change(&q)
		return q
	}
	k.hasUsed(with(func(q *session.UsageQuery) { q.App = "a" }), 0, map[string][2]int64{"a/u": {1, 1}, "a/é😀": {1, 2}})
	k.hasUsed(with(func(q *session.UsageQuery) { q.User = "u" }), 0, map[string][2]int64{"a/u": {1, 1}, "b/u": {1, 3}})
	k.hasUsed(with(func(q *session.UsageQuery) { q.App, q.User = "a", "é😀" }), 0, map[string][2]int64{"a/é😀": {1, 2}})
	k.hasUsed(with(func(q *session.UsageQuery) { q.User = "unknown" }), 0, map[string][2]int64{})
	k.hasUsed(with(func(q *session.UsageQuery) { q.To = "2000-01-01"; q.From = "1999-01-01" }), 0, map[string][2]int64{})
	one := map[string][2]int64{}
	for day := -1; day <= 1; day++ { // the day is one of these, and the question is that of limits
		at := session.DayOf(time.Now().AddDate(0, 0, day))
		maps.Copy(one, k.used(session.UsageQuery{App: "b", User: "u", From: at, To: at}, 0))
	}
	if diff := cmp.Diff(map[string][2]int64{"b/u": {1, 3}}, one); diff != "" {
		k.Errorf("day by day (-want +got):\n%s", diff)
	}
}

// Usage can be grouped by less than it is stored by, so that a sum over all users does not
// need all users.
func usageGroups(k *kit) {
	prompts := map[session.UsageKey]int64{}
	n := int64(0)
	for _, one := range []session.Key{{App: "a", User: "u"}, {App: "a", User: "é😀"}, {App: "b", User: "u"}, {App: "b", User: "v"}, {App: "c", User: "w"}} {
		one.ID = "s"
		k.create(one, nil)
		for _, m := range []session.ModelUsage{paid("m", 1, 5), paid("n", 10, 0)} {
			n++
			m.Tokens = tokensOf(m.Tokens.Prompt * n)
			if m.Nanos == 0 {
				m.Unpriced = m.Tokens.Total
			}
			k.pay(one, m)
			prompts[session.UsageKey{App: one.App, User: one.User}] += m.Tokens.Prompt
		}
	}
	all, _, err := k.store.Usage(k.Context(), around(), session.Page{})
	if err != nil {
		k.Fatal(err)
	}
	if all[len(all)-1].Day != all[0].Day {
		k.Skip("it was midnight")
	}
	const byAll = session.ByDay | session.ByApp | session.ByUser
	for by := range byAll + 1 {
		for _, only := range []session.UsageQuery{{}, {App: "b"}, {User: "u"}, {App: "a", User: "u"}, {App: "d"}} {
			query := around()
			query.App, query.User, query.By = only.App, only.User, by
			want := map[session.UsageKey]*session.Usage{}
			for _, u := range all { // what is not grouped is right, as other tests say
				if query.App != "" && u.App != query.App || query.User != "" && u.User != query.User {
					continue
				}
				key := u.UsageKey
				if by != 0 && by&session.ByDay == 0 {
					key.Day = ""
				}
				if by != 0 && by&session.ByApp == 0 {
					key.App = ""
				}
				if by != 0 && by&session.ByUser == 0 {
					key.User = ""
				}
				if want[key] == nil {
					want[key] = &session.Usage{UsageKey: key}
				}
				want[key].Add(&u)
			}
			for _, size := range []int{0, 1, 2} {
				got := map[session.UsageKey]*session.Usage{}
				last := session.UsageKey{}
				for page := (session.Page{Size: size}); ; {
					list, next, err := k.store.Usage(k.Context(), query, page)
					if err != nil || list == nil || size > 0 && len(list) > size {
						k.Fatalf("Usage(%+v, %+v): %v, %v", query, page, list, err)
					}
					for _, u := range list {
						if len(got) > 0 && slices.Compare([]string{u.Day, u.App, u.User}, []string{last.Day, last.App, last.User}) <= 0 {
							k.Errorf("Usage(%+v): %v came after %v", query, u.UsageKey, last)
						}
						last = u.UsageKey
						got[u.UsageKey] = &u
					}
					if next == "" {
						break
					}
					page.Token = next
				}
				if diff := cmp.Diff(want, got); diff != "" {
					k.Errorf("Usage(%+v), %d at a time (-want +got):\n%s", query, size, diff)
				}
			}
		}
	}
	total := int64(0)
	for _, sum := range prompts {
		total += sum
	}
	query := around()
	query.By = session.ByDay
	if days, _, err := k.store.Usage(k.Context(), query, session.Page{}); err != nil || len(days) != 1 || days[0].Runs != n || days[0].Tokens.Prompt != total || len(days[0].Models) != 2 {
		k.Errorf("by day: %+v, %v; want %d runs with %d tokens of the prompt", days, err, n, total)
	}
	query.By = session.ByUser
	foreign := all[0].Token()
	if _, _, err := k.store.Usage(k.Context(), query, session.Page{Size: 1, Token: foreign}); !errors.Is(err, session.ErrBadToken) {
		k.Errorf("the token of other groups: %v, want ErrBadToken", err)
	}
}

func usagePages(k *kit) {
	want := map[string][2]int64{}
	for i := range 7 {
		one := session.Key{App: fmt.Sprint("a", i%2), User: fmt.Sprint("u", i), ID: "s"}
		k.spend(one, 1)
		want[one.App+"/"+one.User] = [2]int64{1, 1}
	}
	for _, size := range []int{1, 2, 3, 7, 8} {
		k.hasUsed(around(), size, want)
	}
	for _, token := range []string{"x", "e30", "WyJhIl0"} {
		if _, _, err := k.store.Usage(k.Context(), around(), session.Page{Size: 1, Token: token}); !errors.Is(err, session.ErrBadToken) {
			k.Errorf("the token %q: %v, want ErrBadToken", token, err)
		}
	}
}

// A run that is not counted is one that a limit does not hold.
func usageTogether(k *kit) {
	const n = 20
	for i := range n {
		k.create(key(fmt.Sprint(i)), nil)
	}
	k.together(n, func(i int) error {
		at := key(fmt.Sprint(i))
		begun, err := k.store.Begin(k.Context(), asked("run", at))
		if err != nil {
			return err
		}
		_, err = k.store.End(k.Context(), at, begun.Run.Epoch, session.End{Status: session.Failed, Usage: event.Usage{
			Prompt: 1, Candidates: 2, Total: 3, CachedContent: 4, Thoughts: 5, ToolUsePrompt: 6,
		}})
		return err
	})
	k.hasUsed(around(), 0, map[string][2]int64{"app/user": {n, n}})
}

// Deleting a session must not be a way to get more tokens.
func usageStays(k *kit) {
	k.spend(key("s"), 7)
	k.delete(key("s"))
	k.hasUsed(around(), 0, map[string][2]int64{"app/user": {1, 7}})
}

// A line without an end is memory that anyone can fill.
func busyMaxQueue(k *kit) {
	k.create(key("s"), nil)
	limited := func(id string) session.NewRun {
		run := asked(id, key("s"))
		run.MaxQueue = 2
		return run
	}
	epoch := k.begin(limited("0")).Run.Epoch
	k.queued(k.begin(limited("1")))
	k.queued(k.begin(limited("2")))
	if found, err := k.store.Look(k.Context(), limited("3")); !errors.Is(err, session.ErrQueueFull) || found != nil {
		k.Errorf("Look at a full line: %+v, error %v", found, err)
	}
	if begun, err := k.store.Begin(k.Context(), limited("3")); !errors.Is(err, session.ErrQueueFull) || begun != nil {
		k.Fatalf("a third queued one: %+v, %v", begun, err)
	}
	k.hasRuns(key("s"), "2", "1", "0")
	again := limited("4")
	again.Busy = session.Interrupt // which empties the queue
	k.queued(k.begin(again))
	k.complete(key("s"), epoch)
	k.complete(key("s"), k.claims(key("s"), "4"))
	if begun := k.begin(limited("5")); begun.Session == nil {
		k.Error("a run was queued in a free session")
	}
}

// RunAPIKeys runs the tests for session.APIKeys. open returns an empty store, and
// closes it with t.Cleanup.
func RunAPIKeys(t *testing.T, open func(t *testing.T) session.APIKeys) {
	t.Helper()
	store, ctx := open(t), t.Context()
	at := time.Unix(1_700_000_000, 123_456_000)
	first := &session.APIKey{ID: "k1", Hash: []byte{0, 1, 0xff}, Name: "é 'x'", User: "alice", Scopes: []string{"read", "run"}, Created: at}
	second := &session.APIKey{ID: "k0", Hash: []byte{2}, Scopes: []string{"admin"}, Created: at.Add(time.Second), Expires: at.Add(time.Hour)}
	for _, key := range []*session.APIKey{first, second} {
		if _, err := store.APIKey(ctx, key.ID); !errors.Is(err, session.ErrNoAPIKey) {
			t.Errorf("before it is there: %v", err)
		}
		if err := store.PutAPIKey(ctx, key); err != nil {
			t.Fatal(err)
		}
		if err := store.PutAPIKey(ctx, &session.APIKey{ID: key.ID, Hash: []byte("other"), Created: at}); !errors.Is(err, session.ErrExists) {
			t.Errorf("an id twice: %v, want ErrExists", err)
		}
	}
	same := func(what string, want, got *session.APIKey) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" { // times are compared as moments
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	find := func(id string) *session.APIKey {
		t.Helper()
		key, err := store.APIKey(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	same("first", first, find("k1"))
	same("second", second, find("k0"))
	for _, used := range []time.Time{at.Add(time.Minute), at, at.Add(2 * time.Minute)} {
		if err := store.UseAPIKey(ctx, "k1", used); err != nil {
			t.Fatal(err)
		}
		if first.Used.Before(used) {
			first.Used = used
		}
		same("after it was used", first, find("k1"))
	}
	list, err := store.ListAPIKeys(ctx)
	if err != nil || len(list) != 2 {
		t.Fatalf("ListAPIKeys: %v, %v", list, err)
	}
	same("listed first", first, list[0])
	same("listed second", second, list[1])
	if err := store.DeleteAPIKey(ctx, "k1"); err != nil {
		t.Fatal(err)
	}
	if err := store.DeleteAPIKey(ctx, "k1"); !errors.Is(err, session.ErrNoAPIKey) {
		t.Errorf("deleted twice: %v", err)
	}
	if err := store.UseAPIKey(ctx, "k1", at); err != nil {
		t.Errorf("the use of one that is gone: %v", err)
	}
	if _, err := store.APIKey(ctx, "k1"); !errors.Is(err, session.ErrNoAPIKey) {
		t.Errorf("after it was deleted: %v", err)
	}
	same("the other", second, find("k0"))
}
