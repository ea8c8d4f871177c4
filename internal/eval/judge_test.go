package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

// judgeOf is a judge that gives answers one after the other, and counts them.
func judgeOf(t *testing.T, asked *int, answers ...string) asker {
	t.Helper()
	return func(_ context.Context, name, instruction, question string) (string, error) {
		if name != "stub" || instruction == "" || !strings.Contains(question, `"It is sunny."`) {
			t.Errorf("asked %s: %s", name, question)
		}
		*asked++
		if *asked > len(answers) {
			return "", errors.New("MISSING_API_KEY: there is no key")
		}
		return answers[*asked-1], nil
	}
}

func TestJudges(t *testing.T) {
	t.Parallel()
	const (
		yes, no = "Sure: ```json\n" + `{"valid": true, "why": "the same"}` + "\n```", `{"valid": false, "why": "it rains"}`
		both    = `[{"id":"short","met":true,"why":"three words"},{"id":"kind","met":false,"why":"not kind"}]`
		short   = `[{"id":"short","met":true,"why":"three words"}]`
	)
	rubrics := []Rubric{{ID: "short", Content: RubricContent{"It is short."}}}
	turn := &Invocation{User: event.Text("user", "Weather?"), Final: event.Text("model", "It is sunny.")}
	for _, test := range []struct {
		name, metric string
		samples      int
		answers      []string
		rubrics      []Rubric // of the case
		want         string
		asked        int
	}{
		{"the same", matchMetric, 1, []string{yes}, nil, "PASSED 1 the same", 1},
		{"not the same", matchMetric, 1, []string{no}, nil, "FAILED 0 it rains", 1},
		{"a majority is enough", matchMetric, 5, []string{yes, yes, yes, no, no}, nil, "PASSED 1 the same", 3},
		{"a majority of those that can be read", matchMetric, 3, []string{"hm", no, yes}, nil, "FAILED 0 it rains", 2},
		{"a tie is a no", matchMetric, 2, []string{yes, no}, nil, "FAILED 0 it rains", 2},
		{"no answer", matchMetric, 5, nil, nil, "NOT_EVALUATED none the judge stub did not answer: MISSING_API_KEY: there is no key", 1},
		{"nothing to read", matchMetric, 2, []string{"hm", "hm"}, nil, "NOT_EVALUATED none the answer of the judge stub cannot be read: there is no verdict in it: hm", 2},
		{"rubrics", rubricMetric, 1, []string{both}, []Rubric{{ID: "kind", Type: finalQuality}, {ID: "tools", Type: "TOOL_USE_QUALITY"}}, "FAILED 0.5 kind: not kind", 1},
		{"all rubrics", rubricMetric, 3, []string{both, both}, nil, "PASSED 1 short: three words", 2},
		{"a rubric without an opinion", rubricMetric, 1, []string{short}, []Rubric{{ID: "kind"}}, "NOT_EVALUATED none the judge stub has no opinion about kind", 1},
		{"a rubric twice", rubricMetric, 1, nil, rubrics, "NOT_EVALUATED none two rubrics have the id short", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := Metric{Name: test.metric, Threshold: 0.8, Criterion: &Criterion{Judge: &Judge{"stub", test.samples}}}
			if test.metric == rubricMetric {
				m.Criterion.Rubrics = rubrics
			}
			asked := 0
			c := &CaseResult{}
			c.judge(t.Context(), judgeOf(t, &asked, test.answers...), []Metric{m}, &Case{Conversation: []*Invocation{turn}, Rubrics: test.rubrics}, []*Invocation{turn})
			score := c.Scores[0]
			value := "none"
			if score.Score != nil {
				value = fmt.Sprint(*score.Score)
			}
			if got := fmt.Sprint(c.Status, " ", value, " ", score.Why()); got != test.want || asked != test.asked || score.Status != c.Status {
				t.Errorf("%s after %d questions; want %s after %d", got, asked, test.want, test.asked)
			}
			if c.Status != Passed && c.Why() == "" {
				t.Error("nothing says why")
			}
		})
	}
}

// A conversation that broke off is not judged, and another metric says why it failed.
func TestNothingToJudge(t *testing.T) {
	t.Parallel()
	turn := &Invocation{User: event.Text("user", "Weather?")}
	c := &CaseResult{Error: "no model"}
	c.judge(t.Context(), nil, []Metric{{Name: matchMetric}, {Name: rubricMetric}}, &Case{Conversation: []*Invocation{turn}}, []*Invocation{turn})
	if c.Status != Failed || c.Why() != "no model" {
		t.Errorf("%s: %s", c.Status, c.Why())
	}
}

func TestExplanations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		how              Match
		expected, actual string
		want             string
	}{
		{Exact, "", "", "no tool calls were expected"},
		{Exact, "a|b", "a|b", "all expected tool calls were made"},
		{Exact, "a|b", "a", "not called: b"},
		{Exact, `a {"x":1}`, `a {"x":2}`, `call 1 is a {"x":2}, expected a {"x":1}`},
		{Exact, "a", "a|b", "not expected: b"},
		{InOrder, "a|b", "b|a", "another order"},
		{AnyOrder, "a|c", "b|a", "not called: c"},
	} {
		m := Metric{Name: "tool_trajectory_avg_score", Criterion: &Criterion{MatchType: test.how}}
		expected, actual := split(test.expected), split(test.actual)
		if got := m.explain(expected, actual, m.matches(expected, actual)); !strings.Contains(got, test.want) {
			t.Errorf("%s for %s: %s, want %s", test.actual, test.expected, got, test.want)
		}
	}
	if got, want := explainWords("It is sunny in Paris", "it rains in Paris"), "3 of 5 expected words are in the answer, which has 4; it lacks: is, sunny"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func split(list string) []Call {
	if list == "" {
		return nil
	}
	return calls(strings.Split(list, "|")...)
}
