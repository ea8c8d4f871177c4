package session

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/parley-run/parley/event"
)

// ModelUsage is the usage of one model. Its cost is stored with it, so that it does not
// change with prices.
type ModelUsage struct {
	// Model is the version that the provider has named or else the name of the
	// model; empty if neither is known.
	Model  string
	Tokens event.Usage
	Cost
}

// Cost is what tokens have cost, as far as that is known.
type Cost struct {
	// Nanos are billionths of a US dollar.
	Nanos int64
	// Unpriced is the number of tokens whose cost is unknown. They are not in Nanos.
	Unpriced int64
}

// Add adds another cost.
func (c *Cost) Add(other Cost) {
	c.Nanos += other.Nanos
	c.Unpriced += other.Unpriced
}

// costOf returns the cost of tokens, of which list has those that were counted by model.
// Others are unpriced: they were used before costs were stored.
func costOf(tokens *event.Usage, list []ModelUsage) (sum Cost) {
	rest := tokens.Total
	for i := range list {
		sum.Add(list[i].Cost)
		rest -= list[i].Tokens.Total
	}
	sum.Unpriced += max(rest, 0)
	return sum
}

// Cost returns what the run has cost. It is zero until the run has ended.
func (r *Run) Cost() Cost { return costOf(&r.Usage, r.Models) }

// Cost returns what the usage has cost.
func (u *Usage) Cost() Cost { return costOf(&u.Tokens, u.Models) }

// Add adds other usage with the same key.
func (u *Usage) Add(other *Usage) {
	u.Runs += other.Runs
	u.Tokens.Add(&other.Tokens)
	u.Models = AddModels(u.Models, other.Models...)
}

// AddModels adds usage to a list with one item for each model, ordered by name, and returns
// the list. It may change the list.
func AddModels(list []ModelUsage, more ...ModelUsage) []ModelUsage {
	for _, one := range more {
		i, found := slices.BinarySearchFunc(list, one.Model, func(m ModelUsage, name string) int { return cmp.Compare(m.Model, name) })
		if !found {
			list = slices.Insert(list, i, ModelUsage{Model: one.Model})
		}
		list[i].Tokens.Add(&one.Tokens)
		list[i].Add(one.Cost)
	}
	return list
}

// modelUsage is the JSON of a ModelUsage in stores.
type modelUsage struct {
	Model      string `json:"model"`
	Prompt     int64  `json:"prompt"`
	Candidates int64  `json:"candidates"`
	Total      int64  `json:"total"`
	Cached     int64  `json:"cached"`
	Thoughts   int64  `json:"thoughts"`
	ToolPrompt int64  `json:"tool_prompt"`
	Nanos      int64  `json:"nanos"`
	Unpriced   int64  `json:"unpriced"`
}

// MarshalJSON implements json.Marshaler.
func (m ModelUsage) MarshalJSON() ([]byte, error) {
	t := &m.Tokens
	return json.Marshal(modelUsage{m.Model, t.Prompt, t.Candidates, t.Total, t.CachedContent, t.Thoughts, t.ToolUsePrompt, m.Nanos, m.Unpriced})
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *ModelUsage) UnmarshalJSON(text []byte) error {
	var u modelUsage
	if err := json.Unmarshal(text, &u); err != nil {
		return err
	}
	*m = ModelUsage{
		Model: u.Model, Cost: Cost{u.Nanos, u.Unpriced},
		Tokens: event.Usage{Prompt: u.Prompt, Candidates: u.Candidates, Total: u.Total, CachedContent: u.Cached, Thoughts: u.Thoughts, ToolUsePrompt: u.ToolPrompt},
	}
	return nil
}
