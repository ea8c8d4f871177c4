package parley_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// tracedSpan is a span as developers see it.
type tracedSpan struct {
	Name       string         `json:"name"`
	SpanID     string         `json:"span_id"`
	Parent     *string        `json:"parent_span_id"`
	Start      int64          `json:"start_time"`
	End        int64          `json:"end_time"`
	Attributes map[string]any `json:"attributes"`
}

// Spans of runs that another process has worked on are rebuilt from recordings.
func TestTraceAfterARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a database")
	}
	t.Parallel()
	for name, url := range map[string]string{"sqlite": "sqlite://" + filepath.Join(t.TempDir(), "s.db"), "postgres": pgtest.Quick(t).Database(t)} {
		open := func() (*parley.Server, func(path string) []byte) {
			srv, err := parley.Open(t.Context(), parley.Config{
				Agents: map[string]*agent.Agent{"weather": testkit.WeatherApp()}, Sessions: parley.SessionConfig{URL: url}, UI: parley.UIConfig{Enabled: true},
				Recording: parley.RecordingConfig{Share: 1}, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(name, err)
			}
			h := srv.Handler()
			return srv, func(path string) []byte {
				t.Helper()
				method, body := http.MethodGet, ""
				if path == "/run" {
					method, body = http.MethodPost, strings.Replace(bobRuns, "hi, a word of bob", "weather in Oslo", 1)
				} else if strings.HasSuffix(path, "/sessions/s1") {
					method = http.MethodPost
				}
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body)))
				if rec.Code != http.StatusOK {
					t.Fatalf("%s: %s: %d %s", name, path, rec.Code, rec.Body)
				}
				return rec.Body.Bytes()
			}
		}
		spansAt := func(doc []byte) (list []tracedSpan) {
			t.Helper()
			if err := json.Unmarshal(doc, &list); err != nil {
				t.Fatalf("%s: %v: %s", name, err, doc)
			}
			return list
		}
		names := func(list []tracedSpan) string {
			var out []string
			for _, one := range list {
				if one.Attributes["gcp.vertex.agent.invocation_id"] != nil {
					out = append(out, one.Name)
				}
			}
			slices.Sort(out)
			return strings.Join(out, ", ")
		}
		const trace = "/dev/apps/weather/debug/trace/session/s1"
		before := time.Now()
		first, call := open()
		call(ofBob + "/s1")
		call("/run")
		live := spansAt(call(trace + "?user=bob"))
		if n := strings.Count(names(live), "invocation"); n != 1 {
			t.Errorf("%s: %d runs in %s", name, n, names(live))
		}
		first.Close(t.Context())

		second, call := open()
		if doc := call(trace); string(doc) != "[]" {
			t.Errorf("%s: without a user there is %s", name, doc)
		}
		if doc := call(trace + "?user=alice"); string(doc) != "[]" {
			t.Errorf("%s: of another user there is %s", name, doc)
		}
		recorded := spansAt(call(trace + "?user=bob"))
		if names(recorded) != names(live) {
			t.Errorf("%s: recorded are %s, want %s", name, names(recorded), names(live))
		}
		if doc := call(trace + "?user=bob&content=false"); strings.Contains(string(doc), "Oslo") || strings.Contains(string(doc), "parley.request_origins") {
			t.Errorf("%s: without content there is %s", name, doc)
		}
		ids := map[string]bool{}
		for _, one := range recorded {
			ids[one.SpanID] = true
		}
		event := ""
		for _, one := range recorded {
			if one.Start < before.UnixNano() || one.End < one.Start || one.End > time.Now().UnixNano() || one.Parent != nil && !ids[*one.Parent] || one.Parent == nil && one.Name != "invocation" {
				t.Errorf("%s: %+v", name, one)
			}
			if strings.HasPrefix(one.Name, "generate_content") {
				event, _ = one.Attributes["gcp.vertex.agent.event_id"].(string)
				if request, _ := one.Attributes["gcp.vertex.agent.llm_request"].(string); !strings.Contains(request, "systemInstruction") || !strings.Contains(request, "get_weather") {
					t.Errorf("%s: the request is %s", name, request)
				}
			}
		}
		if doc := call("/dev/apps/weather/debug/trace/" + event + "?user=bob&session=s1"); !strings.Contains(string(doc), "llm_response") {
			t.Errorf("%s: the event %q came about by %s", name, event, doc)
		}
		// What is new in a request is of the same events as it was while the run was worked on.
		lived := contentsFrom(t, live)
		if got := contentsFrom(t, recorded); len(lived) != 3 || !slices.Equal(got, lived) {
			t.Errorf("%s: the contents are of %q, want %q", name, got, lived)
		}
		// Those of a run of this process come with those of earlier ones, once each.
		call("/run")
		if got := names(spansAt(call(trace + "?user=bob"))); strings.Count(got, "invocation") != 2 || strings.Count(got, "execute_tool") != 2 {
			t.Errorf("%s: two runs are %s", name, got)
		}
		second.Close(t.Context())
	}
}

// requestOrigins returns where the parts of the requests to models come from.
func requestOrigins(t *testing.T, spans []tracedSpan) (list [][]requestOrigin) {
	t.Helper()
	for _, one := range spans {
		if !strings.HasPrefix(one.Name, "generate_content") {
			continue
		}
		var of []requestOrigin
		doc, _ := one.Attributes["parley.request_origins"].(string)
		if err := json.Unmarshal([]byte(doc), &of); err != nil {
			t.Fatalf("%s: %v: %s", one.Name, err, doc)
		}
		list = append(list, of)
	}
	return list
}

type requestOrigin struct{ Path, Origin, Event string }

// contentsFrom returns where the contents of the requests to models come from, each event once.
func contentsFrom(t *testing.T, spans []tracedSpan) (list []string) {
	t.Helper()
	for _, of := range requestOrigins(t, spans) {
		for _, one := range of {
			if from := one.Origin + " " + one.Event; strings.HasPrefix(one.Path, "contents") && !slices.Contains(list, from) {
				list = append(list, from)
			}
		}
	}
	return list
}

// A rebuilt request says where its parts come from, also of what another agent said, which is told as a story.
func TestOriginsAfterARestart(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "s.db")
	open := func() (*parley.Server, func(method, path, body string) []byte) {
		look := tool.Must(tool.New(tool.Declaration{Name: "look"}, func(*tool.Context, struct{}) (any, error) { return map[string]string{"sky": "blue"}, nil }))
		ok := must(t)
		helper := ok(agent.NewLLM(agent.LLMConfig{Name: "helper", Instruction: "Look.", Tools: []tool.Tool{look}, Model: scripted.New(scripted.Call("look", nil), scripted.Say("It is blue."))}))
		root := ok(agent.NewLLM(agent.LLMConfig{
			Name: "boss", Instruction: "Hand over.", SubAgents: []*agent.Agent{helper},
			Model: scripted.New(scripted.Call("transfer_to_agent", map[string]string{"agentName": "helper"})),
		}))
		srv, err := parley.Open(t.Context(), parley.Config{
			Agents: map[string]*agent.Agent{"sky": root}, Sessions: parley.SessionConfig{URL: url}, UI: parley.UIConfig{Enabled: true},
			Recording: parley.RecordingConfig{Share: 1}, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		h := srv.Handler()
		return srv, func(method, path, body string) []byte {
			t.Helper()
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body)))
			if rec.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
			}
			return rec.Body.Bytes()
		}
	}
	first, call := open()
	call("POST", "/apps/sky/users/u/sessions/s", "")
	call("POST", "/run", `{"appName":"sky","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"Which color?"}]}}`)
	first.Close(t.Context())

	second, call := open()
	var session struct{ Events []struct{ ID string } }
	if err := json.Unmarshal(call("GET", "/apps/sky/users/u/sessions/s", ""), &session); err != nil || len(session.Events) != 6 {
		t.Fatalf("%d events: %v", len(session.Events), err)
	}
	var spans []tracedSpan
	if err := json.Unmarshal(call("GET", "/dev/apps/sky/debug/trace/session/s?user=u", ""), &spans); err != nil {
		t.Fatal(err)
	}
	id := func(i int) string { return session.Events[i].ID }
	want := [][]requestOrigin{{
		{"config.systemInstruction[0]", "instruction, as agent boss sent it", ""},
		{"config.tools[0]", "transfer of agent boss", ""},
		{"contents[0]", "message of the user", id(0)},
	}, {
		{"config.systemInstruction[0]", "instruction, as agent helper sent it", ""},
		{"config.tools[0]", "transfer of agent helper", ""},
		{"config.tools[1]", "tool that agent helper offered", ""},
		{"contents[0]", "what agent boss said and did, as a story", id(2)},
	}, {
		{"config.systemInstruction[0]", "instruction, as agent helper sent it", ""},
		{"config.tools[0]", "transfer of agent helper", ""},
		{"config.tools[1]", "tool that agent helper offered", ""},
		{"contents[0]", "said by agent helper", id(3)},
		{"contents[1]", "results of tools", id(4)},
	}}
	got := requestOrigins(t, spans)
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the origins are\n%v, want\n%v", got, want)
	}
	second.Close(t.Context())
}
