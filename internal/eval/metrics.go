package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// Status is how something was judged, as a number that tools agree about.
type Status int

// The statuses.
const (
	Passed       Status = 1
	Failed       Status = 2
	NotEvaluated Status = 3
)

func (s Status) String() string {
	switch s {
	case Passed:
		return "PASSED"
	case Failed:
		return "FAILED"
	default:
		return "NOT_EVALUATED"
	}
}

// Metric is what is measured, and what is good enough.
type Metric struct {
	Name      string     `json:"metricName"`
	Threshold float64    `json:"threshold"`
	Criterion *Criterion `json:"criterion,omitempty"`
}

// Criterion says more about how trajectories are compared, or about the model that
// judges.
type Criterion struct {
	Threshold  float64  `json:"threshold"`
	MatchType  Match    `json:"matchType"`
	IgnoreArgs bool     `json:"ignoreArgs"`
	Judge      *Judge   `json:"judgeModelOptions,omitempty"`
	Rubrics    []Rubric `json:"rubrics,omitempty"`
}

// Match is how alike two lists of calls have to be, as a number that tools agree
// about.
type Match int

// The ways to match.
const (
	Exact    Match = iota // the same calls in the same order, and no others
	InOrder               // the expected calls in their order, and any others
	AnyOrder              // the expected calls, and any others
)

var matches = []string{"EXACT", "IN_ORDER", "ANY_ORDER"}

// MetricNames are the names of the metrics that there are, sorted.
func MetricNames() []string { return slices.Sorted(maps.Keys(measures)) }

// Describe says what a metric tells.
func Describe(metric string) string { return measures[metric].description }

// Judged reports whether a model judges a metric.
func Judged(metric string) bool { return measures[metric].judged }

// DefaultMetrics returns the metrics of an evaluation that names none.
func DefaultMetrics() []Metric {
	return []Metric{{Name: "tool_trajectory_avg_score", Threshold: 1}, {Name: "response_match_score", Threshold: 0.8}}
}

// ReadConfig reads a file of criteria:
//
//	{"criteria": {"tool_trajectory_avg_score": 1, "response_match_score": {"threshold": 0.8}}}
func ReadConfig(doc []byte) ([]Metric, error) {
	var metrics []Metric
	err := wire.Decode(doc, func(r *wire.Reader) error {
		return r.Object(func(name string) error {
			if name != "criteria" {
				return r.Skip()
			}
			return r.Members(func(metric string) error {
				m := Metric{Name: metric}
				if err := m.readCriterion(r); err != nil {
					return err
				}
				metrics = append(metrics, m)
				return m.check(r)
			})
		})
	})
	if err == nil && len(metrics) == 0 {
		err = wire.Missing("criteria")
	}
	return metrics, err
}

// ReadMetric reads a metric as clients send it.
func ReadMetric(r *wire.Reader) (Metric, error) {
	var m Metric
	given := false
	err := r.Object(func(name string) error {
		switch name {
		case "metricName":
			return r.String(&m.Name)
		case "threshold":
			given = true
			return r.Float(&m.Threshold)
		case "criterion":
			return m.readCriterion(r)
		}
		return r.Skip()
	})
	switch {
	case err != nil:
		return m, err
	case m.Name == "":
		return m, r.Errorf("missing", "metricName: Field required")
	case !given && m.Criterion == nil:
		return m, r.Errorf("missing", "threshold: Field required")
	}
	return m, m.check(r)
}

// readCriterion reads a threshold, or an object with more.
func (m *Metric) readCriterion(r *wire.Reader) error {
	if r.Kind() != '{' {
		return r.Float(&m.Threshold)
	}
	c := &Criterion{Threshold: m.Threshold}
	given := m.Threshold != 0
	err := r.Object(func(name string) error {
		switch name {
		case "threshold":
			given = true
			return r.Float(&c.Threshold)
		case "matchType":
			return c.MatchType.read(r)
		case "ignoreArgs":
			return r.Bool(&c.IgnoreArgs)
		case "judgeModelOptions":
			c.Judge = &Judge{}
			return c.Judge.read(r)
		case "rubrics":
			return readRubrics(r, &c.Rubrics)
		}
		return r.Skip()
	})
	if err == nil && !given {
		return r.Errorf("missing", "threshold: Field required")
	}
	m.Threshold, m.Criterion = c.Threshold, c
	return err
}

func (m *Match) read(r *wire.Reader) error {
	var number int64 = -1
	if r.Kind() == '"' {
		var name string
		if err := r.String(&name); err != nil {
			return err
		}
		number = int64(slices.Index(matches, strings.ToUpper(name)))
	} else if err := r.Int(&number); err != nil {
		return err
	}
	if number < 0 || number >= int64(len(matches)) {
		return r.Errorf("value_error", "must be one of %s", strings.Join(matches, ", "))
	}
	*m = Match(number)
	return nil
}

// check refuses what cannot be measured here, rather than to pass it over.
func (m *Metric) check(r *wire.Reader) error {
	if _, ok := measures[m.Name]; !ok {
		return r.Errorf("value_error", "the metric %q is not supported, only %s", m.Name, strings.Join(MetricNames(), ", "))
	}
	if m.Threshold < 0 || m.Threshold > 1 {
		return r.Errorf("value_error", "the threshold of %s must be from 0 to 1", m.Name)
	}
	return nil
}

// Score is a metric and what was measured.
type Score struct {
	Metric
	Score   *float64 `json:"score,omitempty"` // nil if nothing was
	Status  Status   `json:"evalStatus"`
	Details *Reasons `json:"details,omitempty"`
}

// Reasons say why a score is what it is. The names are those of other tools, which
// have them for rubrics only.
type Reasons struct {
	List []Reason `json:"rubricScores"`
}

// Reason is a part of a score: of a rubric, or of the metric as a whole.
type Reason struct {
	ID    string   `json:"rubricId"`
	Why   string   `json:"rationale"`
	Score *float64 `json:"score,omitempty"`
}

// judged is what a measured value means; nil means that it could not be measured.
func (m *Metric) judged(score *float64, reasons []Reason) Score {
	out := Score{Metric: *m, Score: score, Status: NotEvaluated}
	if score != nil && *score >= m.Threshold {
		out.Status = Passed
	} else if score != nil {
		out.Status = Failed
	}
	if len(reasons) > 0 {
		out.Details = &Reasons{reasons}
	}
	return out
}

// Why is the reasons of a score in a line.
func (s *Score) Why() string {
	if s.Details == nil {
		return ""
	}
	var list []string
	for _, one := range s.Details.List {
		switch {
		case one.Why == "":
		case one.ID == s.Name:
			list = append(list, one.Why)
		default:
			list = append(list, one.ID+": "+one.Why)
		}
	}
	return strings.Join(list, "; ")
}

// matches compares calls.
func (m *Metric) matches(expected, actual []Call) bool {
	var how Criterion
	if m.Criterion != nil {
		how = *m.Criterion
	}
	same := func(a, b Call) bool { return a.Name == b.Name && (how.IgnoreArgs || sameJSON(a.Args, b.Args)) }
	switch how.MatchType {
	case InOrder:
		for _, call := range actual {
			if len(expected) > 0 && same(expected[0], call) {
				expected = expected[1:]
			}
		}
		return len(expected) == 0
	case AnyOrder:
		left := slices.Clone(actual)
		for _, call := range expected {
			i := slices.IndexFunc(left, func(other Call) bool { return same(call, other) })
			if i < 0 {
				return false
			}
			left = slices.Delete(left, i, i+1)
		}
		return true
	default:
		return slices.EqualFunc(expected, actual, same)
	}
}

// sameJSON compares arguments as values: the order of names and the spelling of
// numbers do not matter, and none are as good as {}.
func sameJSON(a, b json.RawMessage) bool {
	x, y := map[string]any{}, map[string]any{}
	for doc, into := range map[*json.RawMessage]*map[string]any{&a: &x, &b: &y} {
		if len(*doc) > 0 && json.Unmarshal(*doc, into) != nil {
			return false
		}
	}
	return len(x) == 0 && len(y) == 0 || reflect.DeepEqual(x, y)
}

// String is a metric in a line.
func (s Score) String() string {
	score := "none"
	if s.Score != nil {
		score = fmt.Sprintf("%.4g", *s.Score)
	}
	return fmt.Sprintf("Metric: %s, Status: %s, Score: %s, Threshold: %.4g", s.Name, s.Status, score, s.Threshold)
}
