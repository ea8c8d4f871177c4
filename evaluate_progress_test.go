package parley_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// An evaluation in the background can be watched over HTTP, and its result is stored
// with the version of the agent's code.
func TestEvalInBackground(t *testing.T) {
	b := newBench(t)
	b.talk("s1", `{}`, "What is the weather in Paris?", "And the weather in Oslo?")
	const app = "/dev/apps/weather"
	const set = app + "/eval_sets/smoke"
	const none = `{"status":"none","evalSetId":"","startTime":0,"total":0,"cases":[]}`
	b.is(none, "GET", app+"/evaluation", "")
	b.is(none, "DELETE", app+"/evaluation", "")
	b.is(`[]`, "GET", app+"/eval_history", "")
	b.want(200, "POST", set, "")
	var runs []struct{ ID string }
	if err := json.Unmarshal([]byte(b.want(200, "GET", "/apps/weather/users/ann/sessions/s1/runs", "")), &runs); err != nil || len(runs) != 2 {
		t.Fatal(runs, err)
	}
	// A case of one run has the turns before it, and not those after it.
	for i, last := range []string{runs[1].ID, runs[0].ID} {
		b.want(200, "POST", set+"/add_session", `{"evalId":"one","sessionId":"s1","userId":"ann","runId":"`+last+`"}`)
		if got := strings.Count(b.want(200, "GET", set+"/evals/one", ""), `"userContent"`); got != i+1 {
			t.Errorf("run %d: %d turns", i, got)
		}
	}
	b.want(404, "POST", set+"/add_session", `{"evalId":"one","sessionId":"s1","userId":"ann","runId":"none"}`)

	b.want(202, "POST", set+"/run_eval", `{"background":true,"recordedTools":true,`+criteria+`}`)
	var now struct {
		Status, EvalSetResultID string
		Cases                   []struct {
			FinalEvalStatus   int
			Why               string
			SessionID, UserID string
		}
	}
	testkit.Eventually(t, "the evaluation is over", func() bool {
		if err := json.Unmarshal([]byte(b.want(200, "GET", app+"/evaluation", "")), &now); err != nil {
			t.Fatal(err)
		}
		return now.Status != "running"
	})
	if now.Status != "completed" || len(now.Cases) != 1 || now.Cases[0].FinalEvalStatus != 1 {
		t.Fatalf("%+v", now)
	}
	b.want(200, "GET", "/apps/weather/users/"+now.Cases[0].UserID+"/sessions/"+now.Cases[0].SessionID, "")
	var history []struct {
		EvalSetResultID, Code string
		Passed                int
	}
	if err := json.Unmarshal([]byte(b.want(200, "GET", app+"/eval_history?evalSetId=smoke", "")), &history); err != nil || len(history) != 1 {
		t.Fatal(history, err)
	}
	if one := history[0]; one.EvalSetResultID != now.EvalSetResultID || one.Code == "" || one.Passed != 1 {
		t.Errorf("%+v, after %+v", one, now)
	}
	if got := b.want(200, "GET", app+"/eval_results/"+now.EvalSetResultID, ""); !strings.Contains(got, `"rationale":`) {
		t.Errorf("nothing says why: %s", got)
	}
	b.want(200, "DELETE", app+"/evaluation", "") // it is over
}

// Variants of a set are run together over HTTP, and can be looked at later.
func TestEvalVariants(t *testing.T) {
	b := newBench(t)
	b.talk("s1", `{}`, "What is the weather in Paris?")
	const app = "/dev/apps/weather"
	const set = app + "/eval_sets/smoke"
	b.want(200, "POST", set, "")
	b.want(200, "POST", set+"/add_session", `{"evalId":"one","sessionId":"s1","userId":"ann"}`)
	const variants = `"variants":[{},{"model":"gemini-2.5-pro","temperature":0.5,"instructions":{"weather_agent":"Be brief."}}]`
	if got := b.want(400, "POST", set+"/run_eval", `{`+variants+`,`+criteria+`}`); !strings.Contains(got, "background") {
		t.Error(got)
	}
	b.want(400, "POST", set+"/run_eval", `{"background":true,"variants":[{"temperature":-1}],`+criteria+`}`)
	b.want(422, "POST", set+"/run_eval", `{"background":true,"variants":[{"temperature":"hot"}],`+criteria+`}`)
	type outcome struct {
		EvalSetResultID, Status, VariantsID string
		Passed                              int
		Usage                               struct {
			TotalTokens int64
			CostUSD     *float64
			Seconds     *float64
		}
		Variant struct {
			Model        string
			Temperature  *float64
			Instructions map[string]string
		}
		Cases []struct{ EvalID, SessionID, UserID string }
	}
	var now struct {
		Status, VariantsID string
		Total              int
		Variants           []outcome
	}
	b.want(202, "POST", set+"/run_eval", `{"background":true,`+variants+`,`+criteria+`}`)
	testkit.Eventually(t, "the evaluation is over", func() bool {
		if err := json.Unmarshal([]byte(b.want(200, "GET", app+"/evaluation", "")), &now); err != nil {
			t.Fatal(err)
		}
		return now.Status != "running"
	})
	if now.Status != "completed" || now.Total != 2 || len(now.Variants) != 2 || now.VariantsID == "" {
		t.Fatalf("%+v", now)
	}
	var history []outcome
	if err := json.Unmarshal([]byte(b.want(200, "GET", app+"/eval_history?variantsId="+now.VariantsID, "")), &history); err != nil || len(history) != 2 {
		t.Fatal(history, err)
	}
	for i, one := range now.Variants {
		if one.Status != "completed" || one.Passed != 1 || one.Usage.Seconds == nil || one.Usage.CostUSD != nil || len(one.Cases) != 1 {
			t.Errorf("variant %d: %+v", i, one)
		}
		if got := b.want(200, "GET", app+"/eval_results/"+one.EvalSetResultID, ""); !strings.Contains(got, `"variantsId":"`+now.VariantsID) || !strings.Contains(got, `"usage":{"totalTokens"`) {
			t.Error(got)
		}
		c := one.Cases[0]
		b.want(200, "GET", "/apps/weather/users/"+c.UserID+"/sessions/"+c.SessionID, "")
	}
	if v := now.Variants[1].Variant; v.Model != "gemini-2.5-pro" || *v.Temperature != 0.5 || v.Instructions["weather_agent"] != "Be brief." {
		t.Errorf("%+v", v)
	}
	b.is(`[]`, "GET", app+"/eval_history?variantsId=none", "")
}

// A case is written by hand, in either spelling, and run.
func TestWrittenCase(t *testing.T) {
	b := newBench(t)
	const app = "/dev/apps/weather"
	b.want(200, "POST", app+"/eval_sets/smoke", "")
	const oslo = `{"evalId":"oslo","conversation":[{"invocationId":"turn-1","userContent":{"role":"user","parts":[{"text":"What is the weather in Oslo?"}]},` +
		`"finalResponse":{"role":"model","parts":[{"text":"The weather in Oslo is sunny with a temperature of 25 degrees Celsius (77 degrees Fahrenheit)."}]},` +
		`"intermediateData":{"toolUses":[{"name":"get_weather","args":{"city":"Oslo"}}],"toolResponses":[],"intermediateResponses":[]}}],"sessionInput":{"appName":"weather","userId":"","state":{}}}`
	b.is(oslo, "POST", app+"/eval_sets/smoke/evals", oslo)
	b.want(409, "POST", app+"/eval-sets/smoke/eval-cases", oslo)
	b.want(200, "POST", app+"/eval-sets/smoke/eval-cases", `{"eval_id":"two","conversation":[{"user_content":{"parts":[{"text":"hi"}]}}]}`)
	b.want(404, "POST", app+"/eval_sets/none/evals", oslo)
	b.want(422, "POST", app+"/eval_sets/smoke/evals", `{"evalId":"three"}`)
	b.is(`["oslo","two"]`, "GET", app+"/eval_sets/smoke/evals", "")
	if got := b.want(200, "POST", app+"/eval_sets/smoke/run_eval", `{"evalIds":["oslo"],`+criteria+`}`); !strings.Contains(got, `"finalEvalStatus":1`) {
		t.Error(got)
	}
}
