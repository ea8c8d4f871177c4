package storetest

import (
	"cmp"
	"fmt"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// tokensOf is usage in which no two numbers are equal.
func tokensOf(n int64) event.Usage {
	return event.Usage{Prompt: n, Candidates: 2 * n, Total: 3 * n, CachedContent: 4 * n, Thoughts: 5 * n, ToolUsePrompt: 6 * n}
}

// pay ends a run that has used models. One without a price has no nanos.
func (k *kit) pay(key session.Key, models ...session.ModelUsage) (id string) {
	k.Helper()
	id = fmt.Sprint("pay-", runs.Add(1))
	epoch := k.begin(asked(id, key)).Run.Epoch
	end := session.End{Status: session.Completed, Models: models}
	for _, m := range models {
		end.Usage.Add(&m.Tokens)
	}
	k.end(key, epoch, end)
	return id
}

func paid(name string, tokens, nanos int64) session.ModelUsage {
	m := session.ModelUsage{Model: name, Tokens: tokensOf(tokens), Cost: session.Cost{Nanos: nanos}}
	if nanos == 0 {
		m.Unpriced = m.Tokens.Total
	}
	return m
}

// costs is the usage of all days around today, by model.
func (k *kit) costs(query session.UsageQuery, size int) (all session.Usage) {
	k.Helper()
	for page := (session.Page{Size: size}); ; {
		list, next, err := k.store.Usage(k.Context(), query, page)
		if err != nil {
			k.Fatal(err)
		}
		for _, u := range list {
			if !slices.IsSortedFunc(u.Models, func(a, b session.ModelUsage) int { return cmp.Compare(a.Model, b.Model) }) {
				k.Errorf("models are not ordered: %+v", u.Models)
			}
			all.Add(&u)
		}
		if next == "" {
			return all
		}
		page.Token = next
	}
}

func (k *kit) hasCosts(query session.UsageQuery, size int, want ...session.ModelUsage) {
	k.Helper()
	if diff := gocmp.Diff(want, k.costs(query, size).Models); diff != "" {
		k.Errorf("usage by model (-want +got):\n%s", diff)
	}
}

// Costs are stored as they were when the run ended: prices change.
func usageModels(k *kit) {
	k.create(key("s"), nil)
	k.create(session.Key{App: "app", User: "other", ID: "s"}, nil)
	first := k.pay(key("s"), paid("", 1, 0), paid("a-model", 10, 123_456_789_012), paid("é'\"", 100, 7))
	k.hasCosts(around(), 0, paid("", 1, 0), paid("a-model", 10, 123_456_789_012), paid("é'\"", 100, 7))
	k.pay(key("s"), paid("a-model", 1, 1))
	k.pay(key("s"), paid("a-model", 1, 0)) // the price was not known at this time
	k.pay(session.Key{App: "app", User: "other", ID: "s"}, paid("b-model", 1000, 5))
	mixed := paid("a-model", 12, 123_456_789_013)
	mixed.Unpriced = 3
	k.hasCosts(around(), 0, paid("", 1, 0), mixed, paid("b-model", 1000, 5), paid("é'\"", 100, 7))
	k.hasCosts(around(), 1, paid("", 1, 0), mixed, paid("b-model", 1000, 5), paid("é'\"", 100, 7))
	query := around()
	query.User = "other"
	k.hasCosts(query, 0, paid("b-model", 1000, 5))

	run, err := k.store.Run(k.Context(), key("s"), first)
	if err != nil {
		k.Fatal(err)
	}
	if diff := gocmp.Diff([]session.ModelUsage{paid("", 1, 0), paid("a-model", 10, 123_456_789_012), paid("é'\"", 100, 7)}, run.Models); diff != "" {
		k.Errorf("the run's (-want +got):\n%s", diff)
	}
	if got, want := run.Cost(), (session.Cost{Nanos: 123_456_789_019, Unpriced: 3}); got != want {
		k.Errorf("the run has cost %+v, want %+v", got, want)
	}
}

// What was used before costs were stored has no known cost.
func usageUnpriced(k *kit) {
	k.spend(key("s"), 7)
	k.pay(key("s"), paid("a-model", 1, 9))
	all := k.costs(around(), 0)
	if got, want := all.Cost(), (session.Cost{Nanos: 9, Unpriced: 21}); got != want {
		k.Errorf("cost: %+v, want %+v", got, want)
	}
}

// Runs that end together are counted, each with its models.
func usageModelsTogether(k *kit) {
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
		end := session.End{Status: session.Completed, Usage: tokensOf(1)}
		if i%2 == 0 {
			end.Models = []session.ModelUsage{paid("even", 1, 3)}
		} else if i%3 == 0 {
			end.Models = []session.ModelUsage{paid("third", 1, 0)}
		}
		_, err = k.store.End(k.Context(), at, begun.Run.Epoch, end)
		return err
	})
	k.hasCosts(around(), 0, paid("even", n/2, n/2*3), paid("third", 3, 0))
	all := k.costs(around(), 0)
	if got, want := all.Cost(), (session.Cost{Nanos: n / 2 * 3, Unpriced: n / 2 * 3}); got != want {
		k.Errorf("cost: %+v, want %+v", got, want)
	}
}

// Usage outside of runs counts like that of runs, and is not a run.
func usageSpend(k *kit) {
	if k.store.Spender == nil {
		k.Skip("the store does not count usage outside of runs")
	}
	k.create(key("s"), nil)
	k.pay(key("s"), paid("a-model", 10, 100))
	for range 2 {
		if err := k.store.Spender.Spend(k.Context(), key("s"), paid("a-model", 1, 5), paid("b-model", 2, 0)); err != nil {
			k.Fatal(err)
		}
	}
	k.hasCosts(around(), 0, paid("a-model", 12, 110), paid("b-model", 4, 0))
	all := k.costs(around(), 0)
	if want := tokensOf(16); all.Runs != 1 || all.Tokens.Total != want.Total || all.Tokens.Prompt != want.Prompt || all.Tokens.ToolUsePrompt != want.ToolUsePrompt {
		k.Errorf("%d runs have used %+v, want 1 and %+v", all.Runs, all.Tokens, want)
	}
}
