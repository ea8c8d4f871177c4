package eval

import (
	"encoding/json"
	"time"

	"github.com/parley-run/parley/event"
)

// SetResult is how the cases of a set went.
type SetResult struct {
	ID      string        `json:"evalSetResultId"`
	Name    string        `json:"evalSetResultName"`
	Set     string        `json:"evalSetId"`
	Cases   []*CaseResult `json:"evalCaseResults"`
	Created float64       `json:"creationTimestamp"`
}

// CaseResult is how a case went.
type CaseResult struct {
	File   string  `json:"evalSetFile"`
	Set    string  `json:"evalSetId"`
	ID     string  `json:"evalId"`
	Status Status  `json:"finalEvalStatus"`
	Old    []Score `json:"evalMetricResults"` // where older tools expect scores: empty
	Scores []Score `json:"overallEvalMetricResults"`
	Turns  []Turn  `json:"evalMetricResultPerInvocation"`
	// The session was one of its own, and is gone but for Details.
	Session string          `json:"sessionId"`
	User    string          `json:"userId"`
	Details json.RawMessage `json:"sessionDetails,omitempty"`
	// Error is why the conversation could not be completed.
	Error string `json:"errorMessage,omitempty"`

	Took time.Duration `json:"-"`
}

// Turn is how a turn went.
type Turn struct {
	Actual   *Invocation `json:"actualInvocation"`
	Expected *Invocation `json:"expectedInvocation"`
	Scores   []Score     `json:"evalMetricResults"`
}

// judge compares what the agent did with what was expected. A conversation that
// broke off has failed, whatever its turns were like.
func (c *CaseResult) judge(metrics []Metric, expected, actual []*Invocation) {
	sums := make([]float64, len(metrics))
	for i, did := range actual {
		turn := Turn{Actual: did.answered(), Expected: expected[i].answered(), Scores: []Score{}}
		for j := range metrics {
			score := measures[metrics[j].Name].score(&metrics[j], expected[i], did)
			sums[j] += score
			turn.Scores = append(turn.Scores, metrics[j].judged(score))
		}
		c.Turns = append(c.Turns, turn)
	}
	c.Status = NotEvaluated
	for j := range metrics {
		if c.Error != "" || len(actual) == 0 {
			c.Scores = append(c.Scores, Score{Metric: metrics[j], Status: NotEvaluated})
			continue
		}
		score := metrics[j].judged(sums[j] / float64(len(actual)))
		c.Scores = append(c.Scores, score)
		if c.Status != Failed {
			c.Status = score.Status
		}
	}
	if c.Error != "" {
		c.Status = Failed
	}
}

// answered is a turn with an answer, if only an empty one: tools look into it.
func (i *Invocation) answered() *Invocation {
	if i.Final != nil {
		return i
	}
	with := *i
	with.Final = event.Text(event.RoleModel, "")
	return &with
}
