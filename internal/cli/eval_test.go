package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// weather is a copy of the example, in a directory with room for more.
func weather(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "weather"), os.DirFS("../../examples/weather")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// evaluate runs parley eval in a directory.
func evaluate(t *testing.T, dir string, terminal bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(t.Context(), &Env{
		Args: append([]string{"eval"}, args...), Dir: dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, StdoutTerminal: terminal,
	})
	return code, out.String(), errs.String()
}

// wrong is a set in which one of two cases expects what does not happen, and in
// which the text tries to move the cursor.
const wrong = `{"evalSetId": "wrong", "evalCases": [
	{"evalId": "right", "conversation": [{"userContent": {"parts": [{"text": "What is the weather in Oslo?"}]},
		"finalResponse": {"parts": [{"text": "The weather in Oslo is sunny with a temperature of 25 degrees Celsius."}]}, "intermediateData": {"toolUses": [{"name": "get_weather", "args": {"city": "Oslo"}}]}}]},
	{"evalId": "wrong", "conversation": [{"userContent": {"parts": [{"text": "What is the weather in Oslo?"}]},
		"finalResponse": {"parts": [{"text": "It \u001b[2J <rains> & pours."}]}, "intermediateData": {"toolUses": [{"name": "get_weather", "args": {"city": "Oslo"}}]}}]}]}`

// why is what is told about its case.
const why = "  wrong: response_match_score is 0, less than 0.8 (0 of 4 expected words are in the answer, which has 16; it lacks: it, 2j, rains, pours)\n" +
	"    session S of user test_user_id, in the result R\n"

// ids are those that differ from one evaluation to the next.
var ids = regexp.MustCompile(`session \S+ of user (\S+), in the result \S+`)

func TestEval(t *testing.T) {
	dir := weather(t)
	for name, text := range map[string]string{
		"wrong.json": wrong, "loose.json": `{"criteria": {"tool_trajectory_avg_score": 1}}`, "judge.json": `{"criteria": {"safety_v1": 0.5}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, args     string
		terminal       bool
		code           int
		stdout, stderr string
	}{
		{
			"all sets of the directory", "weather --offline", false, ExitOK,
			"PASSED smoke:paris\nPASSED smoke:two_turns\nEval Run Summary\nsmoke:\n  Tests passed: 2\n  Tests failed: 0\n", "",
		},
		{
			"one case", "weather smoke:two_turns --offline", false, ExitOK,
			"PASSED smoke:two_turns\nEval Run Summary\nsmoke:\n  Tests passed: 1\n  Tests failed: 0\n", "",
		},
		{
			"a case that fails", "weather wrong.json smoke:paris --offline", false, ExitFailure,
			"PASSED wrong:right\nFAILED wrong:wrong\nPASSED smoke:paris\nEval Run Summary\nwrong:\n  Tests passed: 1\n  Tests failed: 1\n" + why + "smoke:\n  Tests passed: 1\n  Tests failed: 0\n",
			"parley: 1 of 3 cases failed: --print_detailed_results shows where\n",
		},
		{
			"other criteria", "weather wrong.json --offline --config_file_path loose.json", false, ExitOK,
			"PASSED wrong:right\nPASSED wrong:wrong\nEval Run Summary\nwrong:\n  Tests passed: 2\n  Tests failed: 0\n", "",
		},
		{
			"a terminal", "weather wrong.json --offline", true, ExitFailure,
			"\r\x1b[K[###############---------------] 1/2, 0 failed\r\x1b[K\x1b[31mFAILED\x1b[0m wrong:wrong\n\r\x1b[K[##############################] 2/2, 1 failed\n" +
				"Eval Run Summary\nwrong:\n  Tests passed: 1\n  Tests failed: 1\n" + why, "parley: 1 of 2 cases failed: --print_detailed_results shows where\n",
		},
		{"no such set", "weather nothing --offline", false, ExitFailure, "", "parley: Eval set not found: nothing\n"},
		{"no such case", "weather smoke:paris,rome --offline", false, ExitFailure, "", "parley: smoke: Eval case not found: rome\n"},
		{
			"an unknown metric", "weather --offline --config_file_path judge.json", false, ExitFailure, "",
			`parley: read the criteria in judge.json: criteria.safety_v1: the metric "safety_v1" is not supported, ` +
				"only final_response_match_v2, response_match_score, rubric_based_final_response_quality_v1, tool_trajectory_avg_score\n",
		},
		{"nothing to evaluate", "--offline", false, ExitUsage, "", "parley: the directory of the agent must be given\nSee 'parley eval --help'.\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := evaluate(t, dir, test.terminal, strings.Fields(test.args)...)
			stdout = ids.ReplaceAllString(stdout, "session S of user $1, in the result R")
			if diff := cmp.Diff(test.stdout, stdout); code != test.code || diff != "" || stderr != test.stderr {
				t.Errorf("exit code %d, %s\n%s", code, stderr, diff)
			}
		})
	}
}

// A conversation that could not be held says why, without being asked.
func TestEvalWithoutAKey(t *testing.T) {
	code, stdout, stderr := evaluate(t, weather(t), false, "weather", "smoke:paris")
	if code != ExitFailure || !strings.Contains(stdout, "  paris could not be completed: ") || !strings.Contains(stdout, "API key") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}

// Programs get the scores and what explains them, and only that.
func TestEvalJSON(t *testing.T) {
	t.Parallel()
	dir := weather(t)
	if err := os.WriteFile(filepath.Join(dir, "wrong.json"), []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := evaluate(t, dir, false, "weather", "wrong.json", "--offline", "--json")
	var got struct {
		Passed, Failed int
		Sets           []struct {
			ID, Result, Code string
			Cases            []struct {
				Passed        bool
				Session, User string
				Scores        []struct {
					Score       *float64
					Threshold   float64
					Explanation string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != ExitFailure || stderr != "parley: 1 of 2 cases failed\n" {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	set := got.Sets[0]
	if got.Passed != 1 || got.Failed != 1 || set.ID != "wrong" || set.Result == "" || set.Code == "" || !set.Cases[0].Passed {
		t.Errorf("%s", stdout)
	}
	bad := set.Cases[1]
	if bad.Passed || bad.Session == "" || bad.User == "" || len(bad.Scores) != 2 || bad.Scores[1].Score == nil || *bad.Scores[1].Score != 0 || bad.Scores[1].Threshold != 0.8 || bad.Scores[1].Explanation == "" {
		t.Errorf("%s", stdout)
	}
}

func TestEvalDetails(t *testing.T) {
	t.Parallel()
	dir := weather(t)
	if err := os.WriteFile(filepath.Join(dir, "wrong.json"), []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := evaluate(t, dir, false, "weather", "wrong.json:wrong", "--offline", "--print_detailed_results", "--junit", "results.xml", "--server", "http://ci.example:8000/")
	if code != ExitFailure {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{
		"Eval Set Id: wrong\nEval Id: wrong\nOverall Eval Status: FAILED\n", "Metric: response_match_score, Status: FAILED, Score: 0, Threshold: 0.8\n",
		"  Prompt:              What is the weather in Oslo?\n", "  Expected response:   It [2J <rains> & pours.\n", "  Actual response:     The weather in Oslo is sunny",
		"  Actual tool calls:   get_weather {\"city\":\"Oslo\"}\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}
	doc, err := os.ReadFile(filepath.Join(dir, "results.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests, Failures int `xml:",attr"`
		Suite           struct {
			Name string `xml:"name,attr"`
			Case struct {
				Name       string `xml:"name,attr"`
				Properties []struct {
					Name  string `xml:"name,attr"`
					Value string `xml:"value,attr"`
				} `xml:"properties>property"`
				Failure struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.NewDecoder(bytes.NewReader(doc)).Decode(&suites); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	failure := suites.Suite.Case.Failure
	if suites.Suite.Name != "wrong" || suites.Suite.Case.Name != "wrong" || !strings.HasPrefix(failure.Message, "response_match_score is 0, less than 0.8 (0 of 4 expected words are in the answer") || !strings.Contains(failure.Text, "<rains> & pours") {
		t.Errorf("%+v", suites)
	}
	has := map[string]string{}
	for _, p := range suites.Suite.Case.Properties {
		has[p.Name] = p.Value
	}
	page := "http://ci.example:8000/ui/apps/weather/users/" + has["user"] + "/sessions/" + has["session"]
	if has["user"] == "" || has["session"] == "" || has["trace"] != page || !strings.HasSuffix(failure.Text, "Trace: "+page+"\n") {
		t.Errorf("properties: %v, failure: %s", has, failure.Text)
	}
	if code, _, stderr := evaluate(t, dir, false, "weather", "--offline", "--server", "ci.example"); code != ExitUsage || !strings.Contains(stderr, `--server: "ci.example" is not like http`) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestDocumentedEvaluation runs the commands of the page about evaluation, in the
// directory of the examples, and compares what they print.
func TestDocumentedEvaluation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/evaluation.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples", "weather"), os.DirFS("../../examples/weather")); err != nil {
		t.Fatal(err)
	}
	ran, sets, said, file := 0, 0, "", ""
	for _, block := range strings.Split(string(page), "\n```")[1:] {
		kind, text, _ := strings.Cut(block, "\n")
		switch {
		case kind == "json" && strings.Contains(text, `"criteria"`):
			file = text
			if err := os.WriteFile(filepath.Join(dir, "criteria.json"), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
		case kind == "json":
			if err := os.WriteFile(filepath.Join(dir, "shown.evalset.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, stdout, stderr := evaluate(t, dir, false, "examples/weather", "shown.evalset.json", "--offline"); code != ExitOK {
				t.Errorf("the set that is shown: exit code %d: %s%s", code, stdout, stderr)
			}
			sets++
		case kind == "sh":
			for line := range strings.Lines(text + "\n") {
				if args, ok := strings.CutPrefix(strings.TrimSpace(line), "parley eval "); ok {
					code, stdout, stderr := evaluate(t, dir, false, strings.Fields(args)...)
					if code != ExitOK {
						t.Errorf("%s: exit code %d: %s", line, code, stderr)
					}
					said = stdout
					ran++
				}
			}
		case kind == "text":
			if diff := cmp.Diff(strings.TrimSpace(text), strings.TrimSpace(said)); diff != "" {
				t.Errorf("it does not print what is shown (-shown +got):\n%s", diff)
			}
		}
	}
	if ran < 3 || sets == 0 || file == "" {
		t.Errorf("only %d commands and %d sets were found", ran, sets)
	}
}

// Variants of a set are a table, or JSON, with unknown costs as such.
func TestEvalVariants(t *testing.T) {
	t.Parallel()
	dir := weather(t)
	args := []string{"weather", "smoke:paris", "--offline", "--model", "gemini-2.5-pro", "--model", "gpt-5", "--temperature", "0", "--instruction", "weather_agent=Be brief."}
	code, stdout, stderr := evaluate(t, dir, false, args...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != ExitOK || len(lines) != 4+1+4 { // a line for each case, and the table
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	table := regexp.MustCompile(` {2,}`).ReplaceAllString(strings.Join(lines[4:6], "\n"), "|")
	if want := regexp.MustCompile(`^SET\|VARIANT\|PASSED\|FAILED\|RESPONSE_MATCH_SCORE\|TOOL_TRAJECTORY_AVG_SCORE\|TOKENS\|COST\|SECONDS\|RESULT
smoke\|gemini-2.5-pro, temperature 0\|1\|0\|0\.897\|1\|\d+\|unknown\|\d+\.\d\|weather_smoke_\S+$`); !want.MatchString(table) {
		t.Errorf("%s", table)
	}
	if !strings.Contains(stdout, "PASSED smoke (gpt-5, temperature 0, weather_agent: Be brief.):paris\n") {
		t.Errorf("%s", stdout)
	}

	code, stdout, stderr = evaluate(t, dir, false, append(args, "--json", "--junit", "results.xml")...)
	var got struct {
		Passed int
		Sets   []struct {
			ID, Result string
			Variant    *struct {
				Model        string
				Temperature  *float64
				Instructions map[string]string
				Scores       map[string]float64
			}
			CostUSD *float64
			Tokens  *int64
			Seconds *float64
			Cases   []struct{ Session string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != ExitOK || got.Passed != 4 || len(got.Sets) != 4 {
		t.Fatalf("exit code %d, %v, %s%s", code, err, stdout, stderr)
	}
	last := got.Sets[3]
	if v := last.Variant; v == nil || v.Model != "gpt-5" || *v.Temperature != 0 || v.Instructions["weather_agent"] != "Be brief." || v.Scores["tool_trajectory_avg_score"] != 1 ||
		last.CostUSD != nil || last.Tokens == nil || last.Seconds == nil || last.Result == "" || last.Cases[0].Session == "" {
		t.Errorf("%+v", last)
	}
	doc, err := os.ReadFile(filepath.Join(dir, "results.xml"))
	if err != nil || !strings.Contains(string(doc), `<testsuite name="smoke (gemini-2.5-pro, temperature 0)"`) {
		t.Errorf("%s, %v", doc, err)
	}
	if code, _, stderr = evaluate(t, dir, false, "weather", "--offline", "--instruction", "brief"); code != ExitUsage || !strings.Contains(stderr, `"brief" is not like agent=text`) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
