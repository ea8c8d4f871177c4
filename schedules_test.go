package parley_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/model/scripted"
)

// schedules are requests about the schedules of a user.
type schedules struct {
	*testing.T
	url string
}

func (s *schedules) send(method, path, body string, status int) map[string]any {
	s.Helper()
	doc := s.sendFor(method, path, body, status)
	var object map[string]any
	if err := json.Unmarshal(doc, &object); err != nil {
		s.Fatalf("%s %s: %s", method, path, doc)
	}
	return object
}

func (s *schedules) sendFor(method, path, body string, status int) json.RawMessage {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	var doc json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		s.Fatal(err)
	}
	if resp.StatusCode != status {
		s.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, doc)
	}
	return doc
}

func (s *schedules) firings(id string) (list []map[string]any) {
	s.Helper()
	if err := json.Unmarshal(s.sendFor("GET", "/schedules/"+id+"/firings", "", 200), &list); err != nil {
		s.Fatal(err)
	}
	return list
}

func newSchedules(t *testing.T, cfg parley.Config) *schedules {
	t.Helper()
	root, err := agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."), scripted.Say("Hello again."))})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Agents = map[string]*agent.Agent{"echo": root}
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	return &schedules{t, web.URL + "/apps/echo/users/ann"}
}

// A schedule starts a run in a session of its own, which has the message and the answer.
func TestScheduleStartsRuns(t *testing.T) {
	t.Parallel()
	s := newSchedules(t, parley.Config{})
	soon := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)
	made := s.send("POST", "/schedules", `{"id":"soon","at":"`+soon+`","newMessage":{"parts":[{"text":"good morning"}]},"stateDelta":{"from":"a schedule"}}`, 201)
	if made["nextAt"] != soon || made["missed"] != "skip" || made["appName"] != "echo" || made["userId"] != "ann" {
		t.Errorf("the schedule is %v", made)
	}
	testkit.Eventually(t, "the schedule fires", func() bool { return len(s.firings("soon")) == 1 })
	fired := s.firings("soon")[0]
	if fired["outcome"] != "started" || fired["time"] != soon || fired["manual"] != false {
		t.Fatalf("the firing is %v", fired)
	}
	id, _ := fired["sessionId"].(string)
	run, _ := fired["runId"].(string)
	testkit.Eventually(t, "the run ends", func() bool {
		return s.send("GET", "/sessions/"+id+"/runs/"+run, "", 200)["status"] == "completed"
	})
	session, err := json.Marshal(s.send("GET", "/sessions/"+id, "", 200))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"good morning"`, `"from":"a schedule"`, `"parley:schedule":{"id":"soon"`} {
		if !strings.Contains(string(session), want) {
			t.Errorf("the session has no %s: %s", want, session)
		}
	}
	if after := s.send("GET", "/schedules/soon", "", 200); after["nextAt"] != nil {
		t.Errorf("after its only time, the schedule is %v", after)
	}
}

func TestScheduleChanges(t *testing.T) {
	t.Parallel()
	s := newSchedules(t, parley.Config{})
	const daily = `{"id":"daily","cron":"0 9 * * MON-FRI","timeZone":"Europe/Berlin","description":"the report","newMessage":{"parts":[{"text":"report"}]},"sessionId":"reports"}`
	made := s.send("POST", "/schedules", daily, 201)
	if times, _ := made["upcoming"].([]any); len(times) != 5 || times[0] != made["nextAt"] {
		t.Errorf("the schedule is %v", made)
	}
	s.send("POST", "/schedules", daily, 409)
	if paused := s.send("PATCH", "/schedules/daily", `{"paused":true}`, 200); paused["nextAt"] != nil || paused["cron"] != "0 9 * * MON-FRI" {
		t.Errorf("the paused schedule is %v", paused)
	}
	changed := s.send("PATCH", "/schedules/daily", `{"paused":false,"cron":null,"timeZone":null,"intervalSeconds":3600,"description":null}`, 200)
	if changed["intervalSeconds"] != 3600.0 || changed["cron"] != nil || changed["nextAt"] == nil || changed["description"] != nil {
		t.Errorf("the changed schedule is %v", changed)
	}
	s.send("PATCH", "/schedules/daily", `{"cron":"@daily"}`, 422) // it would have two times
	fired := s.send("POST", "/schedules/daily/run", "", 202)
	if fired["sessionId"] != "reports" || fired["manual"] != true || fired["runId"] == "" {
		t.Errorf("the firing is %v", fired)
	}
	if list := s.firings("daily"); len(list) != 1 || list[0]["runId"] != fired["runId"] {
		t.Errorf("the firings are %v", list)
	}
	var list []map[string]any
	if err := json.Unmarshal(s.sendFor("GET", "/schedules", "", 200), &list); err != nil || len(list) != 1 || list[0]["id"] != "daily" {
		t.Errorf("the schedules are %v, %v", list, err)
	}
	s.sendFor("DELETE", "/schedules/daily", "", 200)
	for _, method := range []string{"GET", "DELETE"} {
		s.send(method, "/schedules/daily", "", 404)
	}
	s.send("GET", "/schedules/daily/firings", "", 404)
	s.send("POST", "/schedules/daily/run", "", 404)
	s.send("PATCH", "/schedules/daily", `{"paused":true}`, 404)
}

func TestBadSchedules(t *testing.T) {
	t.Parallel()
	s := newSchedules(t, parley.Config{})
	for name, tt := range map[string]struct{ body, want string }{
		"nothing":            {``, "JSON"},
		"no JSON":            {`{`, "JSON"},
		"no time":            {`{"newMessage":{"parts":[{"text":"x"}]}}`, "one of cron"},
		"a bad expression":   {`{"cron":"0 9 * *","newMessage":{"parts":[{"text":"x"}]}}`, "cron"},
		"a bad zone":         {`{"cron":"@daily","timeZone":"Berlin","newMessage":{"parts":[{"text":"x"}]}}`, "Europe/Berlin"},
		"a time that passed": {`{"at":"2020-01-01T00:00:00Z","newMessage":{"parts":[{"text":"x"}]}}`, "never due"},
		"no zone":            {`{"at":"2030-01-01 09:00","newMessage":{"parts":[{"text":"x"}]}}`, "with its zone"},
		"a long interval":    {`{"intervalSeconds":1e12,"newMessage":{"parts":[{"text":"x"}]}}`, "between"},
		"no message":         {`{"cron":"@daily"}`, "newMessage"},
		"never":              {`{"cron":"0 0 30 2 *","newMessage":{"parts":[{"text":"x"}]}}`, "never due"},
		"a long id":          {`{"id":"` + strings.Repeat("x", 200) + `","cron":"@daily","newMessage":{"parts":[{"text":"x"}]}}`, "id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := *s
			inner.T = t
			got := inner.send("POST", "/schedules", tt.body, 422)
			if message, _ := got["error"].(string); !strings.Contains(message, tt.want) {
				t.Errorf("the error is %v, want one about %q", got, tt.want)
			}
		})
	}
	unknown := *s
	unknown.url = strings.Replace(s.url, "/echo/", "/unknown/", 1)
	unknown.send("POST", "/schedules", `{"cron":"@daily","newMessage":{"parts":[{"text":"x"}]}}`, 404)
}
