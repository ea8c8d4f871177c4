package eval

import (
	"context"
	"fmt"
	"strings"
)

// measurement is one turn that is measured by one metric.
type measurement struct {
	ctx              context.Context //nolint:containedctx // it ends with the call that it is made for
	ask              asker
	metric           *Metric
	of               *Case
	expected, actual *Invocation
	broken           bool // the conversation broke off
}

// measures are the metrics that there are. A score of nil means that there is none.
var measures = map[string]struct {
	description string
	judged      bool // by a model
	score       func(*measurement) (*float64, []Reason)
}{
	"tool_trajectory_avg_score": {
		"How many turns have the expected tool calls, by name and arguments: 1 for all of them, 0 for none.", false,
		func(m *measurement) (*float64, []Reason) {
			score := 0.0
			if m.metric.matches(m.expected.Intermediate.Calls, m.actual.Intermediate.Calls) {
				score = 1
			}
			return m.whole(score, m.metric.explain(m.expected.Intermediate.Calls, m.actual.Intermediate.Calls, score == 1))
		},
	},
	"response_match_score": {
		"How many words the answer shares with the expected one (ROUGE-1, F-measure): 1 for all of them, 0 for none.", false,
		func(m *measurement) (*float64, []Reason) {
			want, got := m.expected.Final.Text(), m.actual.Final.Text()
			if want == "" && got == "" { // it was to say nothing, and has not
				return m.whole(1, "no answer was expected, and there is none")
			}
			return m.whole(rouge1(want, got), explainWords(want, got))
		},
	},
	matchMetric: {
		"Whether a model considers the answer to mean the same as the expected one: the share of turns.", true, judgeMatch,
	},
	rubricMetric: {
		"How many of the given rubrics the answer meets, in the opinion of a model.", true, judgeRubrics,
	},
}

// whole is a score with the only reason for it.
func (m *measurement) whole(score float64, why string) (*float64, []Reason) {
	return &score, []Reason{{m.metric.Name, why, &score}}
}

// explain says in a line how two lists of calls differ.
func (m *Metric) explain(expected, actual []Call, same bool) string {
	if same {
		if len(expected) == 0 {
			return "no tool calls were expected"
		}
		return "all expected tool calls were made"
	}
	one := func(c Call) string { return short(c.Name + " " + string(c.Args)) }
	var how Criterion
	if m.Criterion != nil {
		how = *m.Criterion
	}
	if how.MatchType == Exact {
		for i, want := range expected {
			switch {
			case i >= len(actual):
				return "not called: " + one(want)
			case want.Name != actual[i].Name || !how.IgnoreArgs && !sameJSON(want.Args, actual[i].Args):
				return fmt.Sprintf("call %d is %s, expected %s", i+1, one(actual[i]), one(want))
			}
		}
		if len(actual) > len(expected) {
			return "not expected: " + one(actual[len(expected)])
		}
	}
	for _, want := range expected {
		if !m.matches([]Call{want}, actual) {
			return "not called: " + one(want)
		}
	}
	return "the expected tool calls were made in another order, or not often enough"
}

// explainWords says which of the expected words an answer lacks.
func explainWords(expected, actual string) string {
	left := map[string]int{}
	for _, word := range words(actual) {
		left[word]++
	}
	all, as := words(expected), spoken(expected)
	var missing []string
	for i, word := range all {
		if left[word]--; left[word] < 0 {
			missing = append(missing, as[i])
		}
	}
	text := fmt.Sprintf("%d of %d expected words are in the answer, which has %d", len(all)-len(missing), len(all), len(words(actual)))
	if len(missing) > 0 {
		const most = 10
		list := strings.Join(missing[:min(len(missing), most)], ", ")
		if len(missing) > most {
			list += ", …"
		}
		text += "; it lacks: " + short(list)
	}
	return text
}

// short cuts a text that is too long for a line.
func short(text string) string {
	const most = 300
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
