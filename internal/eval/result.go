package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	// Code identifies the code of the application, empty if it is unknown.
	Code string `json:"code,omitempty"`
	// Variant is what was different for models, and Group identifies the results of the
	// variants that were run together.
	Variant *Variant `json:"variant,omitempty"`
	Group   string   `json:"variantsId,omitempty"`
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
	Usage *Usage `json:"usage,omitempty"`
	// JudgeUsage is what the models that judge have used; nil if there is none.
	JudgeUsage *Usage `json:"judgeUsage,omitempty"`

	Took time.Duration `json:"-"`

	spans []json.RawMessage
}

// Turn is how a turn went.
type Turn struct {
	Actual   *Invocation `json:"actualInvocation"`
	Expected *Invocation `json:"expectedInvocation"`
	Scores   []Score     `json:"evalMetricResults"`
}

// judge compares what the agent did with what was expected. A conversation that
// broke off has failed, whatever its turns were like. So has a case with a metric that
// could not be measured, unless another one says so.
func (c *CaseResult) judge(ctx context.Context, ask asker, metrics []Metric, of *Case, actual []*Invocation) {
	overall := make([]overall, len(metrics))
	for i, did := range actual {
		expected := of.Conversation[i]
		turn := Turn{Actual: did.answered(), Expected: expected.answered(), Scores: []Score{}}
		for j := range metrics {
			score, reasons := measures[metrics[j].Name].score(&measurement{ctx, ask, &metrics[j], of, expected, did, c.Error != ""})
			overall[j].add(i, score, reasons)
			turn.Scores = append(turn.Scores, metrics[j].judged(score, reasons))
		}
		c.Turns = append(c.Turns, turn)
	}
	c.Status = Passed
	for j := range metrics {
		score := Score{Metric: metrics[j], Status: NotEvaluated}
		if c.Error == "" {
			score = overall[j].of(&metrics[j], len(actual))
		}
		c.Scores = append(c.Scores, score)
		if score.Status == Failed || score.Status == NotEvaluated && c.Status == Passed {
			c.Status = score.Status
		}
	}
	if len(metrics) == 0 {
		c.Status = NotEvaluated
	}
	if c.Error != "" {
		c.Status = Failed
	}
}

// overall gathers the scores of turns for one metric.
type overall struct {
	sum     float64
	n       int
	reasons []Reason
}

func (o *overall) add(turn int, score *float64, reasons []Reason) {
	if score != nil {
		o.sum, o.n = o.sum+*score, o.n+1
	}
	for _, one := range reasons {
		one.Why = fmt.Sprintf("turn %d: %s", turn+1, one.Why)
		o.reasons = append(o.reasons, one)
	}
}

// of is the average of the turns that could be measured. The reasons are those of the
// turns that are not as expected, or all.
func (o *overall) of(m *Metric, turns int) Score {
	var score *float64
	if o.n > 0 {
		average := o.sum / float64(o.n)
		score = &average
	}
	reasons := slices.DeleteFunc(slices.Clone(o.reasons), func(r Reason) bool { return r.Score != nil && *r.Score == 1 })
	if len(reasons) == 0 {
		reasons = o.reasons
	}
	if turns == 1 {
		reasons = slices.Clone(reasons)
		for i := range reasons {
			reasons[i].Why = strings.TrimPrefix(reasons[i].Why, "turn 1: ")
		}
	}
	return m.judged(score, reasons)
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
