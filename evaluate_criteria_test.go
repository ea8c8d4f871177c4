package parley_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// The developer UI and parley eval measure the same: what a file in the directory says.
func TestEvalCriteriaAreShared(t *testing.T) {
	b := newBench(t)
	const app = "/dev/apps/weather"
	const set = `{"eval_set_id": "smoke", "eval_cases": [{"eval_id": "one", "conversation": [{
		"user_content": {"parts": [{"text": "What is the weather in Paris?"}]}, "final_response": {"parts": [{"text": "Snow."}]},
		"intermediate_data": {"tool_uses": [{"name": "get_weather", "args": {"city": "Paris"}}]}}]}]}`
	if err := os.WriteFile(filepath.Join(b.dir, "smoke.evalset.json"), []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := parley.Config{Offline: true, Log: slog.New(slog.DiscardHandler)}
	cfg.Scripts.Dir = b.dir
	measured := func(e parley.Evaluation) (names string, passed bool) {
		t.Helper()
		result, err := parley.Evaluate(t.Context(), cfg, e)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range result.Sets[0].Cases[0].Scores {
			names += s.Metric + " "
		}
		return names, result.Sets[0].Cases[0].Passed
	}
	const standard = `{"evalMetrics":[{"metricName":"tool_trajectory_avg_score","threshold":1},{"metricName":"response_match_score","threshold":0.8}],"stored":false}`
	b.is(standard, "GET", app+"/eval_criteria", "")
	if names, passed := measured(parley.Evaluation{}); passed || names != "tool_trajectory_avg_score response_match_score " {
		t.Errorf("without a file: %s, passed: %v", names, passed)
	}

	file := filepath.Join(b.dir, "test_config.json")
	if err := os.WriteFile(file, []byte(`{"criteria": {"response_match_score": 1}, "note": "of another tool"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.is(`null`, "PUT", app+"/eval_criteria", `{"evalMetrics":[{"metricName":"tool_trajectory_avg_score","threshold":0.5,"criterion":{"threshold":0.5,"matchType":"ANY_ORDER","ignoreArgs":true}}]}`)
	if got := b.want(200, "GET", app+"/eval_criteria", ""); !strings.Contains(got, `"ignoreArgs":true`) || !strings.Contains(got, `"stored":true`) || strings.Contains(got, "response_match_score") {
		t.Error(got)
	}
	if names, passed := measured(parley.Evaluation{}); !passed || names != "tool_trajectory_avg_score " {
		t.Errorf("with the file: %s, passed: %v", names, passed)
	}
	if doc, err := os.ReadFile(file); err != nil || !strings.Contains(string(doc), "of another tool") {
		t.Errorf("other members are gone: %s, %v", doc, err)
	}
	// A file that is named comes first.
	other := filepath.Join(t.TempDir(), "criteria.json")
	if err := os.WriteFile(other, []byte(`{"criteria": {"response_match_score": 0.1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, _ := measured(parley.Evaluation{Config: other}); names != "response_match_score " {
		t.Errorf("with another file: %s", names)
	}

	b.want(422, "PUT", app+"/eval_criteria", `{}`)
	b.want(422, "PUT", app+"/eval_criteria", `{"evalMetrics":[{"metricName":"response_match_score","threshold":2}]}`)
	b.want(400, "PUT", app+"/eval_criteria", `{"evalMetrics":[{"metricName":"response_match_score","threshold":1},{"metricName":"response_match_score","threshold":0}]}`)
	b.want(400, "PUT", "/dev/apps/built_in/eval_criteria", `{"evalMetrics":[{"metricName":"response_match_score","threshold":1}]}`)
	b.is(standard, "GET", "/dev/apps/built_in/eval_criteria", "")
	if err := os.WriteFile(file, []byte(`{"criteria": {"vibes": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.want(400, "GET", app+"/eval_criteria", "")
	if err := os.WriteFile(file, []byte(`null`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.want(400, "PUT", app+"/eval_criteria", `{"evalMetrics":[{"metricName":"response_match_score","threshold":1}]}`)
	if err := os.WriteFile(file, []byte(`{"criteria": {"vibes": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := parley.Evaluate(t.Context(), cfg, parley.Evaluation{}); err == nil || !strings.Contains(err.Error(), "test_config.json") {
		t.Errorf("a file that cannot be read: %v", err)
	}
	b.is(`null`, "PUT", app+"/eval_criteria", `{"evalMetrics":[{"metricName":"response_match_score","threshold":1}]}`)
}
