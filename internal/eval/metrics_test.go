package eval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
)

// The words and their stems are from the paper that the algorithm is from.
func TestStem(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat",
		"feed": "feed", "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
		"conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan", "falling": "fall",
		"hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "happy": "happi", "sky": "sky",
		"relational": "relat", "conditional": "condit", "rational": "ration", "valenci": "valenc", "digitizer": "digit",
		"conformabli": "conform", "radicalli": "radic", "differentli": "differ", "vileli": "vile", "analogousli": "analog",
		"vietnamization": "vietnam", "predication": "predic", "operator": "oper", "feudalism": "feudal", "decisiveness": "decis",
		"hopefulness": "hope", "callousness": "callous", "formaliti": "formal", "sensitiviti": "sensit", "sensibiliti": "sensibl",
		"triplicate": "triplic", "formative": "form", "formalize": "formal", "electriciti": "electr", "electrical": "electr", "goodness": "good",
		"revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin", "gyroscopic": "gyroscop", "adjustable": "adjust",
		"defensible": "defens", "irritant": "irrit", "replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt",
		"homologou": "homolog", "communism": "commun", "activate": "activ", "angulariti": "angular", "effective": "effect", "bowdlerize": "bowdler",
		"probate": "probat", "rate": "rate", "cease": "ceas", "roll": "roll",
	} {
		if got := stem(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

func TestRouge1(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, expected, actual string
		want                   float64
	}{
		{"the same", "The weather is sunny.", "the WEATHER is sunny!", 1},
		{"nothing shared", "yes", "no", 0},
		{"nothing expected", "", "no", 0},
		{"nothing said", "yes", "", 0},
		{"only signs", "...", "!", 0},
		// Of 6 words and 5 words, 5 are shared: 2·5/(6+5).
		{"shorter", "the cat sat on the mat", "the cat on the mat", 10. / 11},
		// A word counts as often as it is in both.
		{"repeated", "the cat", "the the the the", 2. / 6},
		{"another order", "a b c", "c b a", 1},
		// As the well-known implementation has it: precision 3/4, recall 3/9.
		{"the quick fox", "The quick brown fox jumps over the lazy dog", "The quick brown dog", 2 * 4. / 13},
		{"stems", "It was raining in the cities", "It was rains in the city", 1},
		{"short words are not stemmed", "gas", "ga", 0},
		{"other scripts", "天気 は 晴れ です", "天気 は 雨 です", 6. / 8},
		{"long", strings.Repeat("y", 1<<16), strings.Repeat("y", 1<<16), 1},
	} {
		if got := rouge1(test.expected, test.actual); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func calls(list ...string) []Call {
	var out []Call
	for _, one := range list {
		name, args, _ := strings.Cut(one, " ")
		out = append(out, Call{Name: name, Args: json.RawMessage(args)})
	}
	return out
}

func TestTrajectories(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		expected, actual []Call
		exact, in, any   bool
	}{
		{"the same", calls("a", "b"), calls("a", "b"), true, true, true},
		{"nothing", nil, nil, true, true, true},
		{"one more", calls("a", "b"), calls("a", "x", "b", "y"), false, true, true},
		{"another order", calls("a", "b"), calls("b", "a"), false, false, true},
		{"one less", calls("a", "b"), calls("a"), false, false, false},
		{"once for twice", calls("a", "a"), calls("a", "b"), false, false, false},
		{"not expected", nil, calls("a"), false, true, true},
		{"other arguments", calls(`a {"x":1}`), calls(`a {"x":2}`), false, false, false},
		{"arguments spelled differently", calls(`a {"x":1,"y":{"z":[1]}}`), calls(`a {"y":{"z":[1.0]},"x":1e0}`), true, true, true},
		{"no arguments", calls(`a {}`), calls(`a`), true, true, true},
	} {
		for how, want := range map[Match]bool{Exact: test.exact, InOrder: test.in, AnyOrder: test.any} {
			m := Metric{Criterion: &Criterion{MatchType: how}}
			if got := m.matches(test.expected, test.actual); got != want {
				t.Errorf("%s, %s: %v", test.name, matches[how], got)
			}
		}
	}
	loose := Metric{Criterion: &Criterion{IgnoreArgs: true}}
	if !loose.matches(calls(`a {"x":1}`), calls(`a {"x":2}`)) {
		t.Error("arguments are to be ignored")
	}
}

func TestReadConfig(t *testing.T) {
	t.Parallel()
	got, err := ReadConfig([]byte(`{"criteria": {"tool_trajectory_avg_score": {"threshold": 0.5, "match_type": "in_order", "ignoreArgs": true}, "response_match_score": 0.7}, "custom": 1}`))
	want := []Metric{
		{"tool_trajectory_avg_score", 0.5, &Criterion{Threshold: 0.5, MatchType: InOrder, IgnoreArgs: true}}, {Name: "response_match_score", Threshold: 0.7},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for doc, want := range map[string]string{
		`{"criteria": {"safety_v1": 0.5}}`: `criteria.safety_v1: the metric "safety_v1" is not supported, only final_response_match_v2, response_match_score, rubric_based_final_response_quality_v1, tool_trajectory_avg_score`,
		`{"criteria": {"final_response_match_v2": {"threshold": 1, "judge_model_options": {"num_samples": 21}}}}`:                                 "must be from 1 to 20",
		`{"criteria": {"rubric_based_final_response_quality_v1": {"threshold": 1, "rubrics": [{"rubric_content": {"text_property": "short"}}]}}}`: "rubricId: Field required",
		`{"criteria": {"response_match_score": 5}}`:                                            "from 0 to 1",
		`{"criteria": {"response_match_score": {}}}`:                                           "threshold: Field required",
		`{"criteria": {"response_match_score": "high"}}`:                                       "Input should be a number",
		`{"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "matchType": "RANDOM"}}}`: "must be one of EXACT, IN_ORDER, ANY_ORDER",
		`{"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "matchType": 9}}}`:        "must be one of EXACT, IN_ORDER, ANY_ORDER",
		`{}`: "criteria: Field required",
	} {
		if _, err := ReadConfig([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	turn := func(text string, did ...string) *Invocation {
		return &Invocation{User: event.Text("user", "?"), Final: event.Text("model", text), Intermediate: Intermediate{Calls: calls(did...)}}
	}
	silent := &Invocation{User: event.Text("user", "?")}
	for _, test := range []struct {
		name             string
		expected, actual []*Invocation
		err              string
		want             Status
		scores           string
	}{
		{"good", []*Invocation{turn("sunny", "look")}, []*Invocation{turn("sunny", "look")}, "", Passed, "1 1"},
		{"half", []*Invocation{turn("sunny", "look"), turn("rain")}, []*Invocation{turn("sunny", "look"), turn("rain", "look")}, "", Failed, "0.5 1"},
		{"other words", []*Invocation{turn("sunny", "look")}, []*Invocation{turn("rain", "look")}, "", Failed, "1 0"},
		{"silent as expected", []*Invocation{silent}, []*Invocation{silent}, "", Passed, "1 1"},
		{"broken off", []*Invocation{turn("sunny"), turn("rain")}, []*Invocation{turn("sunny")}, "no model", Failed, "none none"},
	} {
		c := &CaseResult{Error: test.err}
		c.judge(t.Context(), nil, DefaultMetrics(), &Case{Conversation: test.expected}, test.actual)
		var scores []string
		for _, s := range c.Scores {
			if s.Score == nil {
				scores = append(scores, "none")
			} else {
				text, _ := json.Marshal(*s.Score)
				scores = append(scores, string(text))
			}
		}
		if got := strings.Join(scores, " "); c.Status != test.want || got != test.scores || len(c.Turns) != len(test.actual) {
			t.Errorf("%s: %s, %s", test.name, c.Status, got)
		}
		for _, turn := range c.Turns {
			if turn.Actual.Final == nil || turn.Expected.Final == nil {
				t.Errorf("%s: there is no answer to look into", test.name)
			}
		}
	}
}
