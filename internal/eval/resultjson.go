package eval

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/parley-run/parley/internal/wire"
)

// resultsJSON are results as programs get them: what counts, without the conversations.
type resultsJSON struct {
	Passed int             `json:"passed"`
	Failed int             `json:"failed"`
	Sets   []setResultJSON `json:"sets"`
}

type setResultJSON struct {
	ID      string             `json:"id"`
	Variant *variantResultJSON `json:"variant,omitempty"`
	Result  string             `json:"result,omitempty"`
	Code    string             `json:"code,omitempty"`
	usageJSON
	Judges *usageJSON       `json:"judges,omitempty"` // what the models that judge have used
	Cases  []caseResultJSON `json:"cases"`
}

type variantResultJSON struct {
	Model        string            `json:"model,omitempty"`
	Temperature  *float64          `json:"temperature,omitempty"`
	Instructions map[string]string `json:"instructions,omitempty"`
	Passed       int               `json:"passed"`
	Failed       int               `json:"failed"`
	// Scores are the averages of the cases, by metric.
	Scores map[string]float64 `json:"scores"`
}

type usageJSON struct {
	Tokens   int64    `json:"tokens"`
	CostUSD  *float64 `json:"costUsd"` // null if it is unknown
	Unpriced int64    `json:"unpricedTokens,omitempty"`
	Seconds  float64  `json:"seconds"`
}

func newUsageJSON(u *Usage) usageJSON {
	if u == nil {
		return usageJSON{}
	}
	return usageJSON{u.Tokens, u.CostUSD, u.Unpriced, u.Seconds}
}

// judgesJSON is what models that judge have used; nil if there is none.
func judgesJSON(u *Usage) *usageJSON {
	if u == nil {
		return nil
	}
	out := newUsageJSON(u)
	return &out
}

type caseResultJSON struct {
	ID     string `json:"id"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
	usageJSON
	Judges  *usageJSON  `json:"judges,omitempty"`
	Session string      `json:"session"`
	User    string      `json:"user"`
	Trace   string      `json:"trace,omitempty"` // the page in the developer UI
	Scores  []scoreJSON `json:"scores"`
}

type scoreJSON struct {
	Metric      string   `json:"metric"`
	Score       *float64 `json:"score"` // null if it could not be measured
	Threshold   float64  `json:"threshold"`
	Passed      bool     `json:"passed"`
	Explanation string   `json:"explanation,omitempty"`
}

// JSON returns results as a JSON document for programs, with links to a server unless
// that is nil.
func JSON(app string, results []*SetResult, server *url.URL) ([]byte, error) {
	out := resultsJSON{Sets: []setResultJSON{}}
	several := varied(results)
	for _, set := range results {
		sum := Outcome{Scores: map[string]float64{}}
		list := []caseResultJSON{}
		for _, c := range set.Cases {
			sum.add(c.brief())
			one := caseResultJSON{
				ID: c.ID, Passed: c.Status == Passed, Reason: c.Why(), usageJSON: newUsageJSON(c.Usage), Judges: judgesJSON(c.JudgeUsage),
				Session: c.Session, User: c.User, Trace: pageOf(server, app, c), Scores: []scoreJSON{},
			}
			for i := range c.Scores {
				s := &c.Scores[i]
				one.Scores = append(one.Scores, scoreJSON{s.Name, s.Score, s.Threshold, s.Status == Passed, s.Why()})
			}
			list = append(list, one)
		}
		s := setResultJSON{ID: set.Set, Result: set.ID, Code: set.Code, usageJSON: newUsageJSON(sum.Usage), Judges: judgesJSON(sum.JudgeUsage), Cases: list}
		if several {
			v := set.variant()
			s.Variant = &variantResultJSON{v.Model, v.Temperature, v.Instructions, sum.Passed, sum.Failed, sum.Scores}
		}
		out.Passed, out.Failed = out.Passed+sum.Passed, out.Failed+sum.Failed
		out.Sets = append(out.Sets, s)
	}
	doc, err := json.MarshalIndent(out, "", "  ")
	return append(doc, '\n'), err
}

// varied reports whether a set was run more than once.
func varied(results []*SetResult) bool {
	seen := map[string]bool{}
	for _, set := range results {
		v := set.variant()
		if seen[set.Set] || v.Model != "" || v.Temperature != nil || len(v.Instructions) > 0 {
			return true
		}
		seen[set.Set] = true
	}
	return false
}

// variant is what the cases were run with.
func (r *SetResult) variant() *Variant {
	if r.Variant == nil {
		return &Variant{}
	}
	return r.Variant
}

func (c *CaseResult) usage() *Usage {
	if c.Usage == nil { // results of other tools have none
		return &Usage{}
	}
	return c.Usage
}

// StoredResult returns a result that was stored. It has what is needed to tell how the
// cases went: not their sessions, and of metrics not the criteria.
func (s *Service) StoredResult(app, id string) (*SetResult, error) {
	doc, err := s.Result(app, id)
	if err != nil {
		return nil, err
	}
	result, err := readResult(doc)
	if err != nil {
		return nil, invalid("The eval result %s cannot be read: %v", id, err)
	}
	result.ID = id // the file is what it is found by
	return result, nil
}

// storedScore is what a stored result has of a score that is needed here. Other tools
// have other things in criteria.
type storedScore struct {
	Name      string   `json:"metricName"`
	Threshold float64  `json:"threshold"`
	Score     *float64 `json:"score"`
	Status    Status   `json:"evalStatus"`
	Details   *Reasons `json:"details"`
}

func scoresOf(stored []storedScore) []Score {
	list := []Score{}
	for _, s := range stored {
		list = append(list, Score{Metric: Metric{Name: s.Name, Threshold: s.Threshold}, Score: s.Score, Status: s.Status, Details: s.Details})
	}
	return list
}

// readResult reads a result in camelCase.
func readResult(doc []byte) (*SetResult, error) {
	var stored struct {
		Set     string   `json:"evalSetId"`
		Created float64  `json:"creationTimestamp"`
		Code    string   `json:"code"`
		Variant *Variant `json:"variant"`
		Group   string   `json:"variantsId"`
		Cases   []struct {
			CaseOutcome
			Set    string        `json:"evalSetId"`
			Error  string        `json:"errorMessage"`
			Usage  *Usage        `json:"usage"`
			Judges *Usage        `json:"judgeUsage"`
			Scores []storedScore `json:"overallEvalMetricResults"`
			Turns  []struct {
				Actual   json.RawMessage `json:"actualInvocation"`
				Expected json.RawMessage `json:"expectedInvocation"`
				Scores   []storedScore   `json:"evalMetricResults"`
			} `json:"evalMetricResultPerInvocation"`
		} `json:"evalCaseResults"`
	}
	if err := json.Unmarshal(doc, &stored); err != nil {
		return nil, err
	}
	result := &SetResult{Set: stored.Set, Created: stored.Created, Code: stored.Code, Variant: stored.Variant, Group: stored.Group}
	for _, c := range stored.Cases {
		one := &CaseResult{Set: c.Set, ID: c.ID, Status: c.Status, Session: c.Session, User: c.User, Error: c.Error, Usage: c.Usage, JudgeUsage: c.Judges, Scores: scoresOf(c.Scores)}
		for i, t := range c.Turns {
			turn := Turn{Actual: &Invocation{}, Expected: &Invocation{}, Scores: scoresOf(t.Scores)}
			for into, from := range map[*Invocation]json.RawMessage{turn.Actual: t.Actual, turn.Expected: t.Expected} {
				if len(from) == 0 { // other tools may expect nothing
					continue
				}
				if err := wire.Decode(from, into.read); err != nil {
					return nil, fmt.Errorf("turn %d of the case %s: %w", i+1, c.ID, err)
				}
			}
			one.Turns = append(one.Turns, turn)
		}
		result.Cases = append(result.Cases, one)
	}
	return result, nil
}
