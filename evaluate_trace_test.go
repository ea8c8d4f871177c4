package parley_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// The sessions of an evaluation have traces on a server that was not there: what models
// were sent, as variants have changed it, and what tools have answered.
func TestTracesOfEvaluations(t *testing.T) {
	b := newBench(t)
	const set = `{"eval_set_id": "smoke", "eval_cases": [{"eval_id": "one", "conversation": [{
		"user_content": {"parts": [{"text": "What is the weather in Paris?"}]},
		"final_response": {"parts": [{"text": "Snow."}]},
		"intermediate_data": {
			"tool_uses": [{"name": "get_weather", "args": {"city": "Paris"}}],
			"tool_responses": [{"name": "get_weather", "response": {"report": "as the case has it"}}]
		}
	}]}]}`
	if err := os.WriteFile(filepath.Join(b.dir, "smoke.evalset.json"), []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		share  float64
		of     parley.Evaluation
		wanted []string // in what models and tools were sent, and have answered
	}{
		{"as it is", 0, parley.Evaluation{}, []string{`"systemInstruction"`, "functionDeclarations", "Paris"}},
		{"recorded tools", 0, parley.Evaluation{Recorded: true}, []string{"as the case has it"}},
		{"variant", 0, parley.Evaluation{Variants: []parley.EvaluationVariant{{Instructions: map[string]string{"weather_agent": "Be brief."}}}}, []string{`"systemInstruction":"Be brief."`}},
		{"without recordings", -1, parley.Evaluation{}, nil},
	} {
		cfg := parley.Config{Offline: true, Log: slog.New(slog.DiscardHandler)}
		cfg.Scripts.Dir, cfg.Recording.Share = b.dir, tt.share
		result, err := parley.Evaluate(t.Context(), cfg, tt.of)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		c := result.Sets[0].Cases[0]
		if c.Passed {
			t.Errorf("%s: the case has passed: %s", tt.name, c.Details)
		}
		type span struct {
			Name string         `json:"name"`
			Raw  map[string]any `json:"attributes"`
		}
		path := "/dev/apps/weather/debug/trace/session/" + c.Session + "?user=" + c.User
		var spans []span
		all := b.want(200, "GET", path, "")
		if err := json.Unmarshal([]byte(all), &spans); err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		said, event := "", ""
		for _, one := range spans {
			kind, _, _ := strings.Cut(one.Name, " ")
			kinds[kind]++
			for name, value := range one.Raw {
				text, _ := value.(string)
				if said += text; name == "gcp.vertex.agent.event_id" && text != "" {
					event = text
				}
			}
		}
		if tt.share < 0 {
			if len(spans) != 0 {
				t.Errorf("%s: %s", tt.name, all)
			}
			continue
		}
		if kinds["invocation"] != 1 || kinds["generate_content"] != 2 || kinds["execute_tool"] != 1 {
			t.Errorf("%s: spans %v: %s", tt.name, kinds, all)
		}
		for _, want := range tt.wanted {
			if !strings.Contains(said, want) {
				t.Errorf("%s: nothing has %s: %s", tt.name, want, all)
			}
		}
		if brief := b.want(200, "GET", path+"&content=false", ""); strings.Contains(brief, "llm_request") || strings.Contains(brief, "tool_response") || !strings.Contains(brief, "execute_tool") {
			t.Errorf("%s: without content: %s", tt.name, brief)
		}
		if one := b.want(200, "GET", "/dev/apps/weather/debug/trace/"+event+"?user="+c.User+"&session="+c.Session, ""); !strings.Contains(one, "trace_id") {
			t.Errorf("%s: the span of an event: %s", tt.name, one)
		}
		if other := b.want(200, "GET", strings.Replace(path, "user="+c.User, "user=other", 1), ""); other != "[]" {
			t.Errorf("%s: the trace of another user: %s", tt.name, other)
		}
	}
}
