package parley_test

import (
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// The server answers, of a stored result, what the command writes.
func TestEvalResultAsReport(t *testing.T) {
	b := newBench(t)
	const set = `{"eval_set_id": "smoke", "eval_cases": [
		{"eval_id": "good", "conversation": [{"user_content": {"parts": [{"text": "What is the weather in Oslo?"}]}, "final_response": {"parts": [{"text": "The weather in Oslo is sunny with a temperature of 25 degrees Celsius."}]},
			"intermediate_data": {"tool_uses": [{"name": "get_weather", "args": {"city": "Oslo"}}]}}]},
		{"eval_id": "bad", "conversation": [{"user_content": {"parts": [{"text": "What is the weather in Paris?"}]}, "final_response": {"parts": [{"text": "<Snow> & \u001b ice."}]},
			"intermediate_data": {"tool_uses": [{"name": "get_weather", "args": {"city": "Paris"}}]}}]}]}`
	if err := os.WriteFile(filepath.Join(b.dir, "smoke.evalset.json"), []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := parley.Config{Offline: true, Log: slog.New(slog.DiscardHandler)}
	cfg.Scripts.Dir = b.dir
	warm := 0.5
	for name, variants := range map[string][]parley.EvaluationVariant{"as it is": nil, "a variant": {{Model: "gpt-5", Temperature: &warm}}} {
		result, err := parley.Evaluate(t.Context(), cfg, parley.Evaluation{Variants: variants})
		if err != nil {
			t.Fatal(err)
		}
		at := "/dev/apps/weather/eval_results/" + result.Sets[0].Result
		server := &url.URL{Scheme: "http", Host: "example.com"} // that of requests in tests
		junit := result.JUnit(server)
		doc, err := result.JSON(server)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.want(200, "GET", at+"?format=junit", ""); got != string(junit) {
			t.Errorf("%s: %s\nwant %s", name, got, junit)
		}
		if got := b.want(200, "GET", at+"?format=json", ""); got != string(doc) {
			t.Errorf("%s: %s\nwant %s", name, got, doc)
		}
		for _, want := range []string{`tests="2" failures="1"`, `message="response_match_score is 0, less than 0.8`, "&lt;Snow&gt; &amp;", `value="http://example.com/ui/apps/weather/users/`} {
			if !strings.Contains(string(junit), want) {
				t.Errorf("%s: %s is not in %s", name, want, junit)
			}
		}
		if got := b.want(400, "GET", at+"?format=pdf", ""); !strings.Contains(got, "use junit or json") {
			t.Errorf("%s", got)
		}
	}
	b.want(404, "GET", "/dev/apps/weather/eval_results/missing?format=junit", "")

	// Other tools have other things in results, and less.
	foreign := filepath.Join(b.dir, ".adk", "eval_history", "theirs.evalset_result.json")
	for doc, status := range map[string]int{
		`{"eval_set_id": "s", "eval_case_results": [{"eval_id": "c", "final_eval_status": 2, "session_id": "x", "user_id": "u", "overall_eval_metric_results": [
			{"metric_name": "m", "threshold": 0.5, "score": 0.25, "eval_status": 2, "criterion": {"threshold": 0.5, "match_type": "EXACT", "judge_model_options": {"judge_model_config": {"a": 1}}}}],
			"eval_metric_result_per_invocation": [{"actual_invocation": {"user_content": {"parts": [{"text": "Hello"}]}}, "expected_invocation": null}]}]}`: 200,
		`{"eval_set_id": "s"}`: 200,
		`{"eval_set_id": 5}`:   400,
		`{"eval_set_id": "s", "eval_case_results": [{"eval_metric_result_per_invocation": [{"actual_invocation": {}}]}]}`: 400,
	} {
		if err := os.WriteFile(foreign, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		got := b.want(status, "GET", "/dev/apps/weather/eval_results/theirs?format=junit", "")
		if strings.Contains(doc, "Hello") && !strings.Contains(got, "m is 0.25, less than 0.5") {
			t.Errorf("%s", got)
		}
	}
}
