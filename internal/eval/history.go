package eval

import (
	"encoding/json"
	"maps"
	"slices"
)

// Outcome is a result in short, or how far one is.
type Outcome struct {
	ID      string  `json:"evalSetResultId"` // empty if it is not stored
	Set     string  `json:"evalSetId"`
	Created float64 `json:"creationTimestamp"`
	Code    string  `json:"code,omitempty"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	// Scores are the averages of the cases that were measured, by metric.
	Scores map[string]float64 `json:"scores"`
	Usage  *Usage             `json:"usage,omitempty"` // nil if it was not counted
	// JudgeUsage is that of the models that judge, which Usage has not; nil if there is none.
	JudgeUsage *Usage `json:"judgeUsage,omitempty"`
	// Variant and Group are those of the result. Cases are only there with a group.
	Variant *Variant      `json:"variant,omitempty"`
	Group   string        `json:"variantsId,omitempty"`
	Cases   []CaseOutcome `json:"cases,omitempty"`
	// Status is queued, running, completed or cancelled in a Progress.
	Status string `json:"status,omitempty"`

	measured map[string]float64 // how many cases have a score
}

// CaseOutcome is how a case went, and where its session is.
type CaseOutcome struct {
	ID      string `json:"evalId"`
	Status  Status `json:"finalEvalStatus"`
	Session string `json:"sessionId"`
	User    string `json:"userId"`
}

// briefCase is what a stored result has of a case that is needed here.
type briefCase struct {
	CaseOutcome
	Scores []briefScore `json:"overallEvalMetricResults"`
	Usage  *Usage       `json:"usage"`
	Judges *Usage       `json:"judgeUsage"`
}

type briefScore struct {
	Name  string   `json:"metricName"`
	Score *float64 `json:"score"`
}

func (c *CaseResult) brief() *briefCase {
	b := &briefCase{CaseOutcome: CaseOutcome{c.ID, c.Status, c.Session, c.User}, Usage: c.Usage, Judges: c.JudgeUsage}
	for i := range c.Scores {
		b.Scores = append(b.Scores, briefScore{c.Scores[i].Name, c.Scores[i].Score})
	}
	return b
}

// add counts a case.
func (o *Outcome) add(c *briefCase) {
	if c.Status == Passed {
		o.Passed++
	} else {
		o.Failed++
	}
	for _, score := range c.Scores {
		if score.Score == nil {
			continue
		}
		if o.measured == nil {
			o.measured = map[string]float64{}
		}
		o.measured[score.Name]++
		o.Scores[score.Name] += (*score.Score - o.Scores[score.Name]) / o.measured[score.Name]
	}
	c.Usage.addTo(&o.Usage)
	c.Judges.addTo(&o.JudgeUsage)
	if o.Group != "" {
		o.Cases = append(o.Cases, c.CaseOutcome)
	}
}

// clone returns a copy that does not change with the original.
func (o Outcome) clone() Outcome {
	o.Scores, o.Cases = maps.Clone(o.Scores), slices.Clone(o.Cases)
	o.Usage, o.JudgeUsage = o.Usage.clone(), o.JudgeUsage.clone()
	return o
}

// History returns the latest results of an application in short, the newest first: of
// one set, or of all if its id is empty; with a group, only those of its variants.
func (s *Service) History(app, set, group string) ([]Outcome, error) {
	list := []Outcome{}
	f, ok := s.files(app)
	if !ok {
		return list, nil
	}
	ids, err := f.latest()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		doc, err := f.result(id)
		if err != nil {
			continue // what other tools have left there
		}
		var result struct {
			Set     string      `json:"evalSetId"`
			Created float64     `json:"creationTimestamp"`
			Code    string      `json:"code"`
			Variant *Variant    `json:"variant"`
			Group   string      `json:"variantsId"`
			Cases   []briefCase `json:"evalCaseResults"`
		}
		if json.Unmarshal(doc, &result) != nil || set != "" && result.Set != set || group != "" && result.Group != group {
			continue
		}
		one := Outcome{ID: id, Set: result.Set, Created: result.Created, Code: result.Code, Variant: result.Variant, Group: result.Group, Scores: map[string]float64{}}
		for i := range result.Cases {
			one.add(&result.Cases[i])
		}
		if group == "" {
			one.Cases = nil // they may be many
		}
		list = append(list, one)
	}
	return list, nil
}
