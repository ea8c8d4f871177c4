package eval

import (
	"math"
	"strconv"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/session"
)

// Usage is what models have used: those of the conversations of cases, or those that judge.
type Usage struct {
	Tokens int64 `json:"totalTokens"`
	// CostUSD is what is known of the cost, in US dollars; nil if nothing is.
	CostUSD  *float64 `json:"costUsd,omitempty"`
	Unpriced int64    `json:"unpricedTokens,omitempty"` // not in CostUSD
	Seconds  float64  `json:"seconds"`
}

// count adds the usage of a run.
func (u *Usage) count(r *session.Run) { u.addTokens(r.Usage.Total, r.Cost()) }

// countJudge adds the usage of an answer of a model that judges.
func (c *CaseResult) countJudge(prices *price.Table, version string, used *event.Usage) {
	if c.JudgeUsage == nil {
		c.JudgeUsage = &Usage{}
	}
	nanos, known := prices.Cost(version, used)
	cost := session.Cost{Nanos: nanos}
	if !known {
		cost.Unpriced = max(used.Total, 0)
	}
	c.JudgeUsage.addTokens(used.Total, cost)
}

func (u *Usage) addTokens(total int64, cost session.Cost) {
	one := Usage{Tokens: total, Unpriced: cost.Unpriced}
	if cost.Unpriced < total {
		usd := float64(cost.Nanos) / 1e9
		one.CostUSD = &usd
	}
	u.add(&one)
}

func (u *Usage) add(other *Usage) {
	u.Tokens += other.Tokens
	u.Unpriced += other.Unpriced
	u.Seconds += other.Seconds
	if other.CostUSD != nil {
		sum := *other.CostUSD
		if u.CostUSD != nil {
			sum = math.Round((*u.CostUSD+sum)*1e9) / 1e9
		}
		u.CostUSD = &sum
	}
}

// addTo adds usage, which may be nil, to a sum, which is nil as long as there is none.
func (u *Usage) addTo(sum **Usage) {
	if u == nil {
		return
	}
	if *sum == nil {
		*sum = &Usage{}
	}
	(*sum).add(u)
}

// clone returns a copy that does not change with the original; nil of nil.
func (u *Usage) clone() *Usage {
	if u == nil {
		return nil
	}
	other := *u
	return &other
}

// CostText is what is known of a cost in US dollars, and whether there are tokens that are not in it.
func CostText(usd *float64, unpriced int64) string {
	if usd == nil {
		return "unknown"
	}
	text := "$" + strconv.FormatFloat(*usd, 'f', -1, 64)
	if unpriced > 0 {
		text += " + unknown"
	}
	return text
}
