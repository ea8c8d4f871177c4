package parley_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
)

// bench is a server with the weather example in a directory of its own, and with
// an application that is a part of the program.
type bench struct {
	http.Handler
	t   *testing.T
	dir string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchWith(t, parley.Config{})
}

// newBenchWith is newBench with more settings.
func newBenchWith(t *testing.T, cfg parley.Config) *bench {
	t.Helper()
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "weather")}
	if err := os.CopyFS(b.dir, os.DirFS("examples/weather")); err != nil {
		t.Fatal(err)
	}
	// The tests make their own sets, and are not interested in results of others.
	for _, name := range []string{"smoke.evalset.json", ".adk"} {
		if err := os.RemoveAll(filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Scripts.Dir, cfg.Agents, cfg.Offline, cfg.UI.Enabled = b.dir, map[string]*agent.Agent{"built_in": testkit.WeatherApp()}, true, true
	cfg.Log = slog.New(slog.DiscardHandler)
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	b.Handler = srv.Handler()
	return b
}

// want makes a request and returns the answer, which has to have a status.
func (b *bench) want(status int, method, path, body string) string {
	b.t.Helper()
	req := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	if body == "" {
		req.Body, req.ContentLength, req.GetBody = http.NoBody, 0, func() (io.ReadCloser, error) { return http.NoBody, nil }
	}
	if strings.Contains(body, `_`) { // names in snake_case are taken, too
		testkit.Odd(req)
	}
	rec := httptest.NewRecorder()
	b.ServeHTTP(rec, req)
	resp := rec.Result()
	resp.Request = req
	testkit.CheckExchange(b.t, resp, rec.Body.Bytes())
	if rec.Code != status {
		b.t.Fatalf("%s %s: %d, want %d: %s", method, path, rec.Code, status, rec.Body)
	}
	if status >= 400 {
		var problem struct{ Error, Detail any }
		if err := json.Unmarshal(rec.Body.Bytes(), &problem); err != nil || problem.Error == nil || problem.Detail == nil {
			b.t.Errorf("%s %s: not an error as others are: %s", method, path, rec.Body)
		}
		if strings.Contains(rec.Body.String(), b.dir) {
			b.t.Errorf("%s %s: the answer tells the directory: %s", method, path, rec.Body)
		}
	}
	return rec.Body.String()
}

func (b *bench) is(want, method, path, body string) {
	b.t.Helper()
	if got := b.want(200, method, path, body); got != want {
		b.t.Errorf("%s %s: %s, want %s", method, path, got, want)
	}
}

// talk has a conversation in a session.
func (b *bench) talk(session, state string, messages ...string) {
	b.t.Helper()
	b.want(200, "POST", "/apps/weather/users/ann/sessions/"+session, state)
	for _, text := range messages {
		b.want(200, "POST", "/run", `{"appName":"weather","userId":"ann","sessionId":"`+session+`","newMessage":{"parts":[{"text":"`+text+`"}]}}`)
	}
}

const criteria = `"evalMetrics":[{"metricName":"tool_trajectory_avg_score","threshold":1},{"metricName":"response_match_score","threshold":0.8}]`

// The life of a set, by the names of both generations.
func TestEvalSets(t *testing.T) {
	b := newBench(t)
	b.talk("s1", `{"state":{"unit":"celsius","user:name":"Ann"}}`, "What is the weather in Paris?", "And the weather in Oslo?")
	for _, names := range []struct{ root, sets, cases, add string }{
		{"/dev/apps/weather", "eval_sets", "evals", "add_session"},
		{"/dev/apps/weather", "eval-sets", "eval-cases", "add-session"},
		{"/apps/weather", "eval_sets", "evals", "add_session"},
		{"/apps/weather", "eval-sets", "eval-cases", "add-session"},
	} {
		sets := names.root + "/" + names.sets
		set := sets + "/smoke"
		cases := set + "/" + names.cases
		if names.sets == "eval_sets" {
			b.is(`[]`, "GET", sets, "")
			b.is(`null`, "POST", set, "")
			b.is(`["smoke"]`, "GET", sets, "")
		} else {
			b.is(`{"evalSetIds":[]}`, "GET", sets, "")
			b.is(`{"evalSetId":"smoke","evalCases":[]}`, "POST", sets, `{"eval_set":{"eval_set_id":"smoke","eval_cases":[]}}`)
			b.is(`{"evalSetIds":["smoke"]}`, "GET", sets, "")
		}
		b.want(409, "POST", set, "")
		b.is(`[]`, "GET", cases, "")
		for _, id := range []string{"two", "one"} {
			b.is(`null`, "POST", set+"/"+names.add, `{"evalId":"`+id+`","sessionId":"s1","user_id":"ann"}`)
		}
		b.is(`["one","two"]`, "GET", cases, "")
		var c struct {
			EvalID       string
			Conversation []struct {
				UserContent, FinalResponse struct{ Parts []struct{ Text string } }
				IntermediateData           struct{ ToolUses []struct{ Name string } }
			}
			SessionInput struct {
				AppName, UserID string
				State           map[string]any
			}
		}
		doc := b.want(200, "GET", cases+"/one", "")
		if err := json.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		if c.EvalID != "one" || len(c.Conversation) != 2 || c.Conversation[1].IntermediateData.ToolUses[0].Name != "get_weather" ||
			!strings.Contains(c.Conversation[1].FinalResponse.Parts[0].Text, "Oslo") || c.SessionInput.UserID != "ann" || c.SessionInput.State["unit"] != "celsius" {
			t.Errorf("the case is %s", doc)
		}
		b.is(`null`, "PUT", cases+"/one", strings.Replace(doc, "temperature", "TEMPERATURE", 1))
		if got := b.want(200, "GET", cases+"/one", ""); !strings.Contains(got, "TEMPERATURE") {
			t.Errorf("the case was not changed: %s", got)
		}
		b.want(400, "PUT", cases+"/two", doc)
		b.want(404, "PUT", cases+"/three", strings.Replace(doc, `"one"`, `"three"`, 1))
		b.want(422, "PUT", cases+"/one", `{"evalId":"one"}`)
		b.is(`null`, "DELETE", cases+"/two", "")
		b.want(404, "DELETE", cases+"/two", "")
		b.want(404, "GET", cases+"/two", "")
		if got := b.want(200, "GET", set, ""); !strings.HasPrefix(got, `{"evalSetId":"smoke",`) || !strings.Contains(got, `"evalId":"one"`) {
			t.Errorf("the set is %s", got)
		}
		b.is(`null`, "DELETE", set, "")
		b.want(404, "DELETE", set, "")
		b.want(404, "GET", cases, "")
	}
}

func TestRunEval(t *testing.T) {
	b := newBench(t)
	b.talk("s1", `{}`, "What is the weather in Paris?")
	b.talk("s2", `{}`, "What is the weather in Oslo?")
	const set = "/dev/apps/weather/eval_sets/smoke"
	b.want(200, "POST", set, "")
	b.want(200, "POST", set+"/add_session", `{"evalId":"good","sessionId":"s1","userId":"ann"}`)
	b.want(200, "POST", set+"/add_session", `{"evalId":"bad","sessionId":"s2","userId":"ann"}`)
	wrong := strings.NewReplacer(`"city":"Oslo"`, `"city":"Bergen"`).Replace(b.want(200, "GET", set+"/evals/bad", ""))
	b.want(200, "PUT", set+"/evals/bad", wrong)
	before := b.want(200, "GET", "/apps/weather/users/ann/sessions", "")

	type result struct {
		EvalID, EvalSetID, SessionID, ErrorMessage string
		FinalEvalStatus                            int
		OverallEvalMetricResults                   []struct {
			MetricName string
			EvalStatus int
			Score      float64
		}
		EvalMetricResultPerInvocation []struct {
			ActualInvocation, ExpectedInvocation struct {
				IntermediateData struct {
					ToolUses []struct{ Args struct{ City string } }
				}
			}
		}
	}
	var got struct{ RunEvalResults []result }
	answer := b.want(200, "POST", "/dev/apps/weather/eval-sets/smoke/run", `{`+criteria+`}`)
	if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got.RunEvalResults) != 2 {
		t.Fatalf("%v: %s", err, answer)
	}
	good, bad := got.RunEvalResults[0], got.RunEvalResults[1]
	if good.EvalID != "good" || good.FinalEvalStatus != 1 || good.EvalSetID != "smoke" || good.OverallEvalMetricResults[1].Score != 1 {
		t.Errorf("good: %+v", good)
	}
	if bad.EvalID != "bad" || bad.FinalEvalStatus != 2 || bad.OverallEvalMetricResults[0].EvalStatus != 2 || bad.OverallEvalMetricResults[1].EvalStatus != 1 {
		t.Errorf("bad: %+v", bad)
	}
	turn := bad.EvalMetricResultPerInvocation[0]
	if turn.ActualInvocation.IntermediateData.ToolUses[0].Args.City != "Oslo" || turn.ExpectedInvocation.IntermediateData.ToolUses[0].Args.City != "Bergen" {
		t.Errorf("bad: %+v", turn)
	}
	// Nothing of it is in the user's sessions.
	if after := b.want(200, "GET", "/apps/weather/users/ann/sessions", ""); after != before {
		t.Errorf("the sessions have changed: %s, %s", before, after)
	}
	// What was said is kept with the result: UIs ask for it as for a session.
	if got := b.want(200, "GET", "/apps/weather/users/ann/sessions/"+good.SessionID, ""); !strings.Contains(got, `"id":"`+good.SessionID+`"`) || strings.Count(got, `"author"`) != 4 {
		t.Errorf("the session: %s", got)
	}
	b.want(404, "GET", "/apps/weather/users/bob/sessions/"+good.SessionID, "")
	b.want(404, "GET", "/apps/weather/users/ann/sessions/"+good.SessionID+"x", "")

	// Cases can be chosen, by the names of both generations.
	var list []result
	for _, ids := range []string{"evalIds", "eval_case_ids"} {
		answer = b.want(200, "POST", "/apps/weather/eval_sets/smoke/run_eval", `{"`+ids+`":["good"],`+criteria+`}`)
		if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list) != 1 || list[0].EvalID != "good" {
			t.Errorf("%s: %s", ids, answer)
		}
	}

	// Results are kept, and have the shape that they were answered in.
	var results []string
	if err := json.Unmarshal([]byte(b.want(200, "GET", "/dev/apps/weather/eval_results", "")), &results); err != nil || len(results) != 3 {
		t.Fatalf("%v, %v", results, err)
	}
	if got := b.want(200, "GET", "/apps/weather/eval-results", ""); !strings.HasPrefix(got, `{"evalResultIds":["weather_smoke_`) {
		t.Errorf("results: %s", got)
	}
	var kept struct {
		EvalSetID         string
		CreationTimestamp float64
		EvalCaseResults   []result
	}
	if err := json.Unmarshal([]byte(b.want(200, "GET", "/dev/apps/weather/eval_results/"+results[0], "")), &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.RunEvalResults, kept.EvalCaseResults); kept.EvalSetID != "smoke" || kept.CreationTimestamp == 0 || diff != "" {
		t.Errorf("kept: %+v %s", kept, diff)
	}
	b.want(200, "GET", "/dev/apps/weather/eval-results/"+results[0], "")

	for body, want := range map[string]string{
		`{}`:                 "evalMetrics: Field required",
		`{"evalMetrics":[]}`: "evalMetrics: Field required",
		`{"evalMetrics":[{"metricName":"safety_v1","threshold":1}]}`:                                `the metric \"safety_v1\" is not supported`,
		`{"evalMetrics":[{"threshold":1}]}`:                                                         "metricName",
		`{"evalMetrics":[{"metricName":"response_match_score"}]}`:                                   "threshold",
		`{"evalMetrics":[{"metricName":"response_match_score","threshold":7}]}`:                     "from 0 to 1",
		`{"evalMetrics":[{"metricName":"response_match_score","criterion":{"matchType":"EXACT"}}]}`: "threshold",
	} {
		if got := b.want(422, "POST", set+"/run_eval", body); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	b.want(404, "POST", set+"/run_eval", `{"evalIds":["missing"],`+criteria+`}`)
	b.want(422, "POST", set+"/run_eval", "")
}

// A conversation that cannot be completed has failed, and says why.
func TestEvalIsIncomplete(t *testing.T) {
	b := newBench(t)
	const set = "/dev/apps/weather/eval_sets/smoke"
	b.want(200, "POST", "/dev/apps/weather/eval_sets", `{"evalSet":{"evalSetId":"smoke","evalCases":[
		{"evalId":"answer","conversation":[{"userContent":{"parts":[{"functionResponse":{"id":"1","name":"x","response":{}}}]}}]},
		{"evalId":"state","conversation":[{"userContent":{"parts":[{"text":"hi"}]}}],"sessionInput":{"appName":"weather","userId":"u","state":{"secret:x":1}}},
		{"evalId":"scenario","conversationScenario":{"startingPrompt":"hi"}},{"evalId":"empty","conversation":[]}]}}`)
	for id, want := range map[string]string{"answer": "no function call is waiting", "state": "secret:"} {
		var list []struct {
			FinalEvalStatus int
			ErrorMessage    string
		}
		answer := b.want(200, "POST", set+"/run_eval", `{"evalIds":["`+id+`"],`+criteria+`}`)
		if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list) != 1 || list[0].FinalEvalStatus != 2 || !strings.Contains(list[0].ErrorMessage, want) {
			t.Errorf("%s: %s", id, answer)
		}
	}
	for id, want := range map[string]string{"scenario": "simulated user", "empty": "no conversation"} {
		if got := b.want(400, "POST", set+"/run_eval", `{"evalIds":["`+id+`"],`+criteria+`}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// Evaluations are runs, as far as limits and metrics go.
func TestEvalLimits(t *testing.T) {
	b := newBenchWith(t, parley.Config{Limits: parley.Limits{RunTokens: 1}})
	const set = "/dev/apps/weather/eval_sets/smoke"
	b.want(200, "POST", "/dev/apps/weather/eval_sets", `{"evalSet":{"evalSetId":"smoke","evalCases":[
		{"evalId":"paris","conversation":[{"userContent":{"parts":[{"text":"What is the weather in Paris?"}]}}]}]}}`)
	if got := b.want(200, "POST", set+"/run_eval", `{`+criteria+`}`); !strings.Contains(got, "tokens, and may use 1") || !strings.Contains(got, `"finalEvalStatus":2`) {
		t.Errorf("the limit does not hold: %s", got)
	}
	if got := b.want(200, "GET", "/metrics", ""); !strings.Contains(got, `parley_runs_total{app="weather",status="failed"} 1`) {
		t.Errorf("the run is not in the metrics: %s", got)
	}
}

// Who may be anyone may look at evaluations, and neither change nor run them.
func TestEvalInPublic(t *testing.T) {
	const set = "/dev/apps/weather/eval_sets/smoke"
	b := newBenchWith(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessPublic}})
	doc := []byte(`{"eval_set_id":"smoke","eval_cases":[{"eval_id":"c","conversation":[{"user_content":{"parts":[{"text":"hi"}]}}]}]}`)
	if err := os.WriteFile(filepath.Join(b.dir, "smoke.evalset.json"), doc, 0o600); err != nil {
		t.Fatal(err)
	}
	b.is(`["smoke"]`, "GET", "/dev/apps/weather/eval_sets", "")
	b.is(`["c"]`, "GET", set+"/evals", "")
	b.want(403, "POST", set+"/run_eval", `{`+criteria+`}`)
	b.want(403, "POST", "/apps/weather/eval-sets/smoke/run", `{`+criteria+`}`)
	b.want(403, "POST", "/dev/apps/weather/eval_sets/other", "")
	b.want(403, "POST", set+"/add_session", `{"evalId":"c","sessionId":"s","userId":"u"}`)
	b.want(403, "PUT", "/apps/weather/eval_sets/smoke/evals/c", `{}`)
	b.want(403, "DELETE", set+"/evals/c", "")
	b.want(403, "DELETE", "/apps/weather/eval_sets/smoke", "")
	b.is(`["smoke"]`, "GET", "/dev/apps/weather/eval_sets", "")
	b.is(`[]`, "GET", "/dev/apps/weather/eval_results", "")

	b = newBenchWith(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessLocal}})
	b.want(200, "POST", set, "")
	b.is(`[]`, "POST", set+"/run_eval", `{`+criteria+`}`)
	b.want(200, "DELETE", set, "")
}

func TestEvalNamesStayInside(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.dir), "out.evalset.json")
	if err := os.WriteFile(outside, []byte(`{"eval_set_id":"out","eval_cases":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"..%2Fout", "%2Fetc%2Fpasswd", "..", ".hidden", "a%00b", "a%5Cb", "a%0Ab", "%20", strings.Repeat("x", 300)} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			rec := httptest.NewRecorder()
			b.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, "/dev/apps/weather/eval_sets/"+id, http.NoBody))
			if rec.Code != 400 && rec.Code != 404 && rec.Code/100 != 3 {
				t.Errorf("%s %s: %d %s", method, id, rec.Code, rec.Body)
			}
		}
		rec := httptest.NewRecorder()
		b.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/dev/apps/weather/eval_results/"+id, http.NoBody))
		if rec.Code == 200 {
			t.Errorf("result %s: %s", id, rec.Body)
		}
	}
	if err := os.Symlink(outside, filepath.Join(b.dir, "link.evalset.json")); err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	b.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/dev/apps/weather/eval_sets/link", http.NoBody))
	if rec.Code == 200 {
		t.Errorf("a link leads out: %s", rec.Body)
	}
	files, err := os.ReadDir(filepath.Dir(b.dir))
	if err != nil || len(files) != 2 {
		t.Errorf("something is outside that was not: %v, %v", files, err)
	}
}

func TestEvalFiles(t *testing.T) {
	b := newBench(t)
	b.talk("s1", `{}`, "What is the weather in Paris?")
	// A set of another tool is changed and keeps what only that one knows.
	file := filepath.Join(b.dir, "theirs.evalset.json")
	if err := os.WriteFile(file, []byte(`{"eval_set_id": "whatever", "x_y": {"a_b": 1}, "eval_cases": [{"eval_id": "c", "conversation": [], "rubrics": [{"rubric_id": "r"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const set = "/dev/apps/weather/eval_sets/theirs"
	b.want(200, "POST", set+"/add_session", `{"evalId":"mine","sessionId":"s1","userId":"ann"}`)
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"eval_set_id": "theirs"`, `"x_y": {`, `"a_b": 1`, `"rubric_id": "r"`, `"user_content": {`, `"tool_uses": [`} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("%s is not in %s", want, doc)
		}
	}
	// What cannot be read is said, and not overwritten.
	if err := os.WriteFile(file, []byte(`{"eval_cases": [{}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.want(400, "GET", set, ""); !strings.Contains(got, "eval_cases.0.evalId: Field required") {
		t.Errorf("the set: %s", got)
	}
	b.want(400, "POST", set+"/add_session", `{"evalId":"mine","sessionId":"s1","userId":"ann"}`)
	b.want(409, "POST", set, "")
	// Where no directory can be, nothing can be kept.
	b.want(200, "POST", "/dev/apps/weather/eval_sets/ours", "")
	b.want(200, "POST", "/dev/apps/weather/eval_sets/ours/add_session", `{"evalId":"mine","sessionId":"s1","userId":"ann"}`)
	if err := os.WriteFile(filepath.Join(b.dir, ".adk"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A result that cannot be kept is answered all the same.
	if got := b.want(200, "POST", "/dev/apps/weather/eval_sets/ours/run_eval", `{`+criteria+`}`); !strings.Contains(got, `"finalEvalStatus":1`) {
		t.Errorf("%s", got)
	}
	if files, err := filepath.Glob(filepath.Join(b.dir, ".*.tmp")); err != nil || len(files) != 0 {
		t.Errorf("something is left: %v", files)
	}
	for _, bad := range []struct {
		status int
		body   string
	}{
		{404, `{"evalId":"e","sessionId":"nowhere","userId":"ann"}`},
		{400, `{"evalId":"e","userId":"ann"}`},
		{422, `{"sessionId":"s1","userId":"ann"}`},
		{422, `{"evalId":7,"sessionId":"s1","userId":"ann"}`},
		{422, ``},
	} {
		b.want(bad.status, "POST", "/dev/apps/weather/eval_sets/ours/add_session", bad.body)
	}
	b.talk("silent", `{}`)
	b.want(400, "POST", "/dev/apps/weather/eval_sets/ours/add_session", `{"evalId":"e","sessionId":"silent","userId":"ann"}`)
}

// An application that is a part of the program has its sets where the configuration says.
func TestEvalDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "evaluations")
	cfg := parley.Config{Evaluations: parley.EvaluationConfig{Dir: dir}}
	b := newBenchWith(t, cfg)
	b.want(200, "POST", "/apps/built_in/users/ann/sessions/s", `{}`)
	b.want(200, "POST", "/run", `{"appName":"built_in","userId":"ann","sessionId":"s","newMessage":{"parts":[{"text":"What is the weather in Paris?"}]}}`)
	const set = "/dev/apps/built_in/eval_sets/smoke"
	b.want(200, "POST", set, "")
	b.want(200, "POST", set+"/add_session", `{"evalId":"paris","sessionId":"s","userId":"ann"}`)
	if got := b.want(200, "POST", set+"/run_eval", `{"evalIds":["paris"],`+criteria+`}`); !strings.Contains(got, `"finalEvalStatus":1`) {
		t.Errorf("the case has not passed: %s", got)
	}
	if got := b.want(200, "GET", "/dev/apps/built_in/eval_results", ""); !strings.Contains(got, "built_in_smoke") {
		t.Errorf("the results are %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "built_in", "smoke.evalset.json")); err != nil {
		t.Error(err)
	}
	cfg.Agents, cfg.Log, cfg.Stdout = map[string]*agent.Agent{"built_in": testkit.WeatherApp()}, slog.New(slog.DiscardHandler), io.Discard
	result, err := parley.Evaluate(t.Context(), cfg, parley.Evaluation{Sets: []string{"smoke"}})
	if err != nil || len(result.Sets) != 1 || len(result.Sets[0].Cases) != 1 || !result.Sets[0].Cases[0].Passed {
		t.Errorf("the set by its id: %+v, %v", result, err)
	}
	cfg.Evaluations.Dir = filepath.Join(dir, "built_in", "smoke.evalset.json")
	if _, err := parley.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "Evaluations.Dir") {
		t.Errorf("with a file in place of the directory: %v", err)
	}
}

// Without that, it has no place for sets.
func TestEvalWithoutDirectory(t *testing.T) {
	b := newBench(t)
	b.is(`[]`, "GET", "/dev/apps/built_in/eval_sets", "")
	b.is(`[]`, "GET", "/dev/apps/built_in/eval_results", "")
	if got := b.want(400, "POST", "/dev/apps/built_in/eval_sets/x", ""); !strings.Contains(got, "no directory") {
		t.Errorf("%s", got)
	}
	b.want(404, "GET", "/dev/apps/built_in/eval_sets/x", "")
	b.want(404, "DELETE", "/dev/apps/built_in/eval_sets/x", "")
	b.want(404, "GET", "/dev/apps/built_in/eval_results/x", "")
	b.want(404, "GET", "/dev/apps/missing/eval_sets", "")
	if got := b.want(200, "GET", "/dev/apps/built_in/metrics-info", ""); !strings.Contains(got, `"metricName":"response_match_score"`) || !strings.Contains(got, `"interval":{"minValue":0`) {
		t.Errorf("metrics: %s", got)
	}
}

func TestGraphs(t *testing.T) {
	b := newBench(t)
	b.talk("s1", `{}`, "What is the weather in Paris?")
	var s struct{ Events []struct{ ID string } }
	if err := json.Unmarshal([]byte(b.want(200, "GET", "/apps/weather/users/ann/sessions/s1", "")), &s); err != nil {
		t.Fatal(err)
	}
	wants := []string{`\"weather_agent\" [label=\"🤖 weather_agent\", shape=\"ellipse\", style=\"filled`, `\"get_weather\" [color=\"#69CB87\"]`, `dir=\"back\"`, `🤖 weather_agent`}
	for i, want := range wants {
		if i == 0 { // the user's own message highlights no agent
			want = `style=\"rounded\"`
		}
		for _, prefix := range []string{"/dev", ""} {
			got := b.want(200, "GET", prefix+"/apps/weather/users/ann/sessions/s1/events/"+s.Events[i].ID+"/graph", "")
			if !strings.HasPrefix(got, `{"dotSrc":"strict digraph \"weather_agent\"`) || !strings.Contains(got, want) {
				t.Errorf("event %d: %s, want %s", i, got, want)
			}
		}
	}
	b.want(404, "GET", "/dev/apps/weather/users/ann/sessions/s1/events/nothing/graph", "")
	b.want(404, "GET", "/dev/apps/weather/users/ann/sessions/nothing/events/x/graph", "")
	if err := os.WriteFile(filepath.Join(b.dir, "README.md"), []byte("# Weather"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.is(`{"name":"weather","root_agent":{"name":"weather_agent","type":"agent","description":"Answers questions about the weather and the time in a city.","model":"offline",`+
		`"tools":[{"name":"get_weather","type":"tool"},{"name":"get_current_time","type":"tool"}]},"readme":"# Weather"}`, "GET", "/dev/apps/weather/build_graph", "")
	var image map[string]json.RawMessage
	for query, key := range map[string]string{"": "", "?dark_mode=true": "", "?node=weather_agent": "weather_agent"} {
		if err := json.Unmarshal([]byte(b.want(200, "GET", "/dev/apps/weather/build_graph_image"+query, "")), &image); err != nil {
			t.Fatal(err)
		}
		if string(image[key]) != `{"dotSrc":`+string(image["dotSrc"])+`}` || strings.Contains(string(image["dotSrc"]), "#333537") != strings.Contains(query, "dark") {
			t.Errorf("%s: %s", query, image)
		}
	}
	b.want(404, "GET", "/dev/apps/weather/build_graph_image?node=missing", "")
	b.want(404, "GET", "/dev/apps/missing/graph", "")
	if got := b.want(200, "GET", "/dev/apps/weather/graph?dark_mode=true", ""); !strings.Contains(got, "#333537") {
		t.Errorf("%s", got)
	}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "weather")
	if err := os.CopyFS(dir, os.DirFS("examples/weather")); err != nil {
		t.Fatal(err)
	}
	cfg := parley.Config{Scripts: parley.ScriptConfig{Dir: dir}, Offline: true, Log: slog.New(slog.DiscardHandler), Stdout: io.Discard}
	result, err := parley.Evaluate(t.Context(), cfg, parley.Evaluation{Dir: dir, Sets: []string{"smoke.evalset.json:paris"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Eval Run Summary\nsmoke:\n  Tests passed: 1\n  Tests failed: 0\n"; result.Summary() != want {
		t.Errorf("%s", result.Summary())
	}
	if cases := result.Sets[0].Cases; len(cases) != 1 || cases[0].ID != "paris" || !cases[0].Passed || cases[0].Reason != "" || !strings.Contains(result.Details(), "paris") {
		t.Errorf("%+v\n%s", result.Sets, result.Details())
	}
	for set, want := range map[string]string{
		"smoke:missing": "Eval case not found: missing", "nothing": "Eval set not found: nothing", "nothing.json": "no such file", "../x": "no such file",
	} {
		if _, err := parley.Evaluate(t.Context(), cfg, parley.Evaluation{Dir: dir, Sets: []string{set}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
}
