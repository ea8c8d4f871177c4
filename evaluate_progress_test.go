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
			FinalEvalStatus int
			Why             string
		}
	}
	testkit.Eventually(t, "the evaluation is over", func() bool {
		if err := json.Unmarshal([]byte(b.want(200, "GET", app+"/evaluation", "")), &now); err != nil {
			t.Fatal(err)
		}
		return now.Status != "running"
	})
	if now.Status != "completed" || len(now.Cases) != 1 || now.Cases[0].FinalEvalStatus != 1 {
		t.Errorf("%+v", now)
	}
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
