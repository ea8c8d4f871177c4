package eval

import "encoding/json"

// Outcome is a result in short.
type Outcome struct {
	ID      string  `json:"evalSetResultId"`
	Set     string  `json:"evalSetId"`
	Created float64 `json:"creationTimestamp"`
	Code    string  `json:"code,omitempty"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	// Scores are the averages of the cases that were measured, by metric.
	Scores map[string]float64 `json:"scores"`
}

// History returns the latest results of an application in short, the newest first: of
// one set, or of all if its id is empty.
func (s *Service) History(app, set string) ([]Outcome, error) {
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
			Set     string  `json:"evalSetId"`
			Created float64 `json:"creationTimestamp"`
			Code    string  `json:"code"`
			Cases   []struct {
				Status Status `json:"finalEvalStatus"`
				Scores []struct {
					Name  string   `json:"metricName"`
					Score *float64 `json:"score"`
				} `json:"overallEvalMetricResults"`
			} `json:"evalCaseResults"`
		}
		if json.Unmarshal(doc, &result) != nil || set != "" && result.Set != set {
			continue
		}
		one := Outcome{ID: id, Set: result.Set, Created: result.Created, Code: result.Code, Scores: map[string]float64{}}
		counts := map[string]float64{}
		for _, c := range result.Cases {
			if c.Status == Passed {
				one.Passed++
			} else {
				one.Failed++
			}
			for _, score := range c.Scores {
				if score.Score != nil {
					counts[score.Name]++
					one.Scores[score.Name] += (*score.Score - one.Scores[score.Name]) / counts[score.Name]
				}
			}
		}
		list = append(list, one)
	}
	return list, nil
}
