package cli

import (
	"net/url"

	"github.com/parley-run/parley"
)

// evalJSON is the result of an evaluation as programs get it.
type evalJSON struct {
	Passed int           `json:"passed"`
	Failed int           `json:"failed"`
	Sets   []evalSetJSON `json:"sets"`
}

type evalSetJSON struct {
	ID      string           `json:"id"`
	Variant *evalVariantJSON `json:"variant,omitempty"`
	Result  string           `json:"result,omitempty"`
	Code    string           `json:"code,omitempty"`
	evalUsageJSON
	Cases []evalCaseJSON `json:"cases"`
}

type evalVariantJSON struct {
	Model        string            `json:"model,omitempty"`
	Temperature  *float64          `json:"temperature,omitempty"`
	Instructions map[string]string `json:"instructions,omitempty"`
	Passed       int               `json:"passed"`
	Failed       int               `json:"failed"`
	// Scores are the averages of the cases, by metric.
	Scores map[string]float64 `json:"scores"`
}

type evalUsageJSON struct {
	Tokens   int64    `json:"tokens"`
	CostUSD  *float64 `json:"costUsd"` // null if it is unknown
	Unpriced int64    `json:"unpricedTokens,omitempty"`
	Seconds  float64  `json:"seconds"`
}

type evalCaseJSON struct {
	ID     string `json:"id"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
	evalUsageJSON
	Session string          `json:"session"`
	User    string          `json:"user"`
	Trace   string          `json:"trace,omitempty"` // the page in the developer UI
	Scores  []evalScoreJSON `json:"scores"`
}

type evalScoreJSON struct {
	Metric      string   `json:"metric"`
	Score       *float64 `json:"score"` // null if it could not be measured
	Threshold   float64  `json:"threshold"`
	Passed      bool     `json:"passed"`
	Explanation string   `json:"explanation,omitempty"`
}

func newEvalJSON(result *parley.EvaluationResult, server *url.URL) evalJSON {
	cases, failed := result.Count()
	out := evalJSON{Passed: cases - failed, Failed: failed, Sets: []evalSetJSON{}}
	for _, set := range result.Sets {
		sum := sumOf(&set)
		s := evalSetJSON{ID: set.ID, Result: set.Result, Code: set.Code, evalUsageJSON: sum.evalUsageJSON, Cases: []evalCaseJSON{}}
		if varied(result) {
			v := &set.Variant
			s.Variant = &evalVariantJSON{v.Model, v.Temperature, v.Instructions, sum.passed, len(set.Cases) - sum.passed, sum.scores}
		}
		for _, c := range set.Cases {
			one := evalCaseJSON{c.ID, c.Passed, c.Reason, evalUsageJSON{c.Tokens, c.CostUSD, c.Unpriced, c.Duration.Seconds()}, c.Session, c.User, pageOf(server, result.App, &c), []evalScoreJSON{}}
			for _, score := range c.Scores {
				of := evalScoreJSON{Metric: score.Metric, Threshold: score.Threshold, Passed: score.Passed, Explanation: score.Explanation}
				if score.Measured {
					of.Score = &score.Score
				}
				one.Scores = append(one.Scores, of)
			}
			s.Cases = append(s.Cases, one)
		}
		out.Sets = append(out.Sets, s)
	}
	return out
}
