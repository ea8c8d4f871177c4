package cli

import "github.com/parley-run/parley"

// evalJSON is the result of an evaluation as programs get it.
type evalJSON struct {
	Passed int           `json:"passed"`
	Failed int           `json:"failed"`
	Sets   []evalSetJSON `json:"sets"`
}

type evalSetJSON struct {
	ID     string         `json:"id"`
	Result string         `json:"result,omitempty"`
	Code   string         `json:"code,omitempty"`
	Cases  []evalCaseJSON `json:"cases"`
}

type evalCaseJSON struct {
	ID      string          `json:"id"`
	Passed  bool            `json:"passed"`
	Reason  string          `json:"reason,omitempty"`
	Seconds float64         `json:"seconds"`
	Session string          `json:"session"`
	User    string          `json:"user"`
	Scores  []evalScoreJSON `json:"scores"`
}

type evalScoreJSON struct {
	Metric      string   `json:"metric"`
	Score       *float64 `json:"score"` // null if it could not be measured
	Threshold   float64  `json:"threshold"`
	Passed      bool     `json:"passed"`
	Explanation string   `json:"explanation,omitempty"`
}

func newEvalJSON(result *parley.EvaluationResult) evalJSON {
	cases, failed := result.Count()
	out := evalJSON{Passed: cases - failed, Failed: failed, Sets: []evalSetJSON{}}
	for _, set := range result.Sets {
		s := evalSetJSON{ID: set.ID, Result: set.Result, Code: set.Code, Cases: []evalCaseJSON{}}
		for _, c := range set.Cases {
			one := evalCaseJSON{c.ID, c.Passed, c.Reason, c.Duration.Seconds(), c.Session, c.User, []evalScoreJSON{}}
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
