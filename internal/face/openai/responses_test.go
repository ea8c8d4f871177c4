package openai_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/faceclient"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model/scripted"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// site is a server with the applications of the fixture.
type site struct {
	t    *testing.T
	base string
	*testkit.Fixture
}

func serve(t *testing.T, change ...func(*parley.Config)) *site {
	t.Helper()
	fixture := testkit.NewFixture()
	cfg := parley.Config{Agents: fixture.Apps()}
	for _, c := range change {
		c(&cfg)
	}
	return &site{t, faceclient.Serve(t, cfg).URL, fixture}
}

// object is a JSON object.
type object map[string]any

func (o object) text(path ...any) string { s, _ := o.at(path...).(string); return s }

// at returns a member of a member; nil if there is none.
func (o object) at(path ...any) any {
	var v any = map[string]any(o)
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			list, _ := v.([]any)
			if p < 0 || p >= len(list) {
				return nil
			}
			v = list[p]
		}
	}
	return v
}

// outputs returns the types of the output, and the texts of messages.
func (o object) outputs() string {
	list, _ := o["output"].([]any)
	var all []string
	for _, v := range list {
		m, _ := v.(map[string]any)
		it := object(m)
		switch it.text("type") {
		case "message":
			all = append(all, it.text("content", 0, "text"))
		case "reasoning":
			all = append(all, "thought "+it.text("summary", 0, "text"))
		case "function_call":
			all = append(all, "function_call "+it.text("name")+it.text("arguments"))
		case "parley:tool_call":
			all = append(all, fmt.Sprintf("tool %s%s %s=%s", it.text("name"), it.text("arguments"), it.text("status"), it.text("output")))
		case "parley:question":
			all = append(all, "question "+it.text("kind")+" "+it.text("name")+" "+it.text("message"))
		default:
			all = append(all, it.text("type"))
		}
	}
	return strings.Join(all, " | ")
}

func (s *site) send(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// do sends a request, and returns its answer.
func (s *site) do(status int, method, path, body string, headers ...string) object {
	s.t.Helper()
	resp := s.send(method, path, body, headers...)
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, doc)
	}
	var o object
	if err := json.Unmarshal(doc, &o); err != nil {
		s.t.Fatalf("%v in %s", err, doc)
	}
	return o
}

func (s *site) create(body string, headers ...string) object {
	s.t.Helper()
	return s.do(200, "POST", "/v1/responses", body, headers...)
}

// frames reads the frames of a stream, as far as they come, and stops at one for which
// until returns true.
func frames(t *testing.T, body io.Reader, until func(object) bool) []string {
	t.Helper()
	var all []string
	in := bufio.NewScanner(body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		doc, ok := bytes.CutPrefix(in.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		all = append(all, string(doc))
		var o object
		if json.Unmarshal(doc, &o) == nil && until != nil && until(o) {
			return all
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func quote(text string) string {
	return string(wire.Quote(nil, text))
}

const lights = `[{"type":"function","name":"lights","description":"Sets the lights.","parameters":{"type":"object","properties":{"color":{"type":"string"}}}}]`

// The cases of the compliance suite of Open Responses.
func TestCompliance(t *testing.T) {
	t.Parallel()
	s := serve(t)
	required := []string{
		"id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id", "instructions", "output", "error",
		"tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs",
		"temperature", "reasoning", "user", "usage", "max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata",
		"safety_identifier", "prompt_cache_key",
	}
	for _, test := range []struct{ name, body, want string }{
		{"basic", `{"model":"weather","input":[{"type":"message","role":"user","content":"hello"}]}`, "You said: hello"},
		{"text", `{"model":"weather","input":"hello"}`, "You said: hello"},
		{"system prompt", `{"model":"weather","input":[{"type":"message","role":"system","content":"Be brief. "},{"type":"message","role":"user","content":"hello"}]}`, "You said: Be brief. hello"},
		{"instructions", `{"model":"weather","instructions":"Be brief. ","input":"hello"}`, "You said: Be brief. hello"},
		{"tools", `{"model":"weather","input":"call lights","tools":` + lights + `}`, `function_call lights{"color":"red"}`},
		{"image", `{"model":"weather","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw=="}]}]}`, "I see 4 bytes of image/png."},
		{"multi-turn", `{"model":"weather","input":[{"type":"message","role":"user","content":"My name is Ann."},{"type":"message","role":"assistant","content":"Hello Ann."},{"type":"message","role":"user","content":"hello"}]}`, "You said: hello"},
		{"thoughts", `{"model":"weather","input":"think"}`, "thought Let me see. | It is done."},
		{"tools of the server", `{"model":"weather","input":"weather in Rome"}`, `tool get_weather{"city":"Rome"} completed={"status":"success","report":"It is sunny in Rome."} | It is sunny in Rome.`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &site{t, s.base, s.Fixture}
			whole := s.create(test.body)
			for _, name := range required {
				if _, ok := whole[name]; !ok {
					t.Errorf("%s is missing", name)
				}
			}
			if got := whole.outputs(); got != test.want || whole.text("status") != "completed" {
				t.Errorf("%s %s, want %s", whole.text("status"), got, test.want)
			}
			stream := frames(t, s.send("POST", "/v1/responses", strings.Replace(test.body, "{", `{"stream":true,`, 1)).Body, nil)
			last := checkStream(t, stream)
			if got := last.outputs(); got != test.want {
				t.Errorf("streamed %s, want %s", got, test.want)
			}
			again := s.do(200, "GET", "/v1/responses/"+last.text("id"), "")
			if a, b := mustJSON(t, again), mustJSON(t, last); a != b {
				t.Errorf("read again:\n%s\nstreamed:\n%s", a, b)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// checkStream checks the order of the frames of a whole response, and returns the last
// object.
func checkStream(t *testing.T, stream []string) object {
	t.Helper()
	if len(stream) < 3 || stream[len(stream)-1] != "[DONE]" {
		t.Fatalf("the stream does not end: %s", stream)
	}
	texts, open := map[string]string{}, map[string]bool{}
	var last object
	for i, doc := range stream[:len(stream)-1] {
		var f object
		if err := json.Unmarshal([]byte(doc), &f); err != nil {
			t.Fatal(err)
		}
		if n, _ := f["sequence_number"].(float64); int(n) != i {
			t.Errorf("frame %d has the number %v", i, f["sequence_number"])
		}
		id := f.text("item_id")
		switch kind := f.text("type"); kind {
		case "response.output_item.added":
			open[f.text("item", "id")] = true
		case "response.output_item.done":
			delete(open, f.text("item", "id"))
		case "response.output_text.delta", "response.reasoning_summary_text.delta", "response.function_call_arguments.delta":
			if !open[id] || f.text("delta") == "" {
				t.Errorf("a delta of %q, which is not open, or empty", id)
			}
			texts[id] += f.text("delta")
		case "response.output_text.done", "response.reasoning_summary_text.done":
			if texts[id] != f.text("text") {
				t.Errorf("deltas %q, text %q", texts[id], f.text("text"))
			}
		case "response.completed", "response.failed", "response.incomplete":
			if i != len(stream)-2 {
				t.Errorf("%s is not the last frame", kind)
			}
			last, _ = f["response"].(map[string]any)
		}
	}
	if len(open) > 0 {
		t.Errorf("items are open at the end: %v", open)
	}
	return last
}

// A stream can be continued after any of its frames, while the run is active and when it
// has ended, and every reader gets the same frames.
func TestContinueAfterAnyFrame(t *testing.T) {
	t.Parallel()
	s := serve(t)
	live := s.send("POST", "/v1/responses", `{"model":"weather","input":"story g1","stream":true,"background":true}`)
	deltas, id := "", ""
	begin := frames(t, live.Body, func(f object) bool {
		if f.text("type") == "response.created" {
			id = f.text("response", "id")
		}
		if f.text("type") == "response.output_text.delta" {
			deltas += f.text("delta")
		}
		return strings.HasSuffix(deltas, "a time ")
	})
	path := "/v1/responses/" + id
	if got := s.do(200, "GET", path, "").text("status"); got != "in_progress" {
		t.Errorf("status %s", got)
	}
	second := s.send("GET", path+"?stream=true&starting_after=3", "")
	late := frames(t, second.Body, func(f object) bool { return f.text("delta") == "time " })
	s.Open("g1")
	all := append(begin, frames(t, live.Body, nil)...)
	late = append(late, frames(t, second.Body, nil)...)
	checkStream(t, all)
	if !strings.Contains(all[1], "response.queued") {
		t.Errorf("the second frame of a response in the background is %s", all[1])
	}
	if got, want := strings.Join(late, "\n"), strings.Join(all[4:], "\n"); got != want {
		t.Errorf("a second reader:\n%s\nwant:\n%s", got, want)
	}
	for after := -1; after < len(all); after++ {
		got := frames(t, s.send("GET", fmt.Sprintf("%s?stream=true&starting_after=%d", path, after), "").Body, nil)
		want := all[min(after+1, len(all)-1):]
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("after %d:\n%s\nwant:\n%s", after, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// same checks that a response has the same frames when it is read again.
func (s *site) same(id string, want []string) {
	s.t.Helper()
	got := frames(s.t, s.send("GET", "/v1/responses/"+id+"?stream=true", "").Body, nil)
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		s.t.Errorf("read again:\n%s\nstreamed:\n%s", a, b)
	}
}

// Parallel agents speak in the order in which their events are stored.
func TestParallelAgents(t *testing.T) {
	t.Parallel()
	var children []*agent.Agent
	for _, name := range []string{"one", "two", "three"} {
		child, err := agent.NewLLM(agent.LLMConfig{Name: name, Model: scripted.New(scripted.Say("This is what " + name + " has to say."))})
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	root, err := agent.NewParallel(agent.Config{Name: "choir", SubAgents: children})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(cfg *parley.Config) { cfg.Agents["choir"] = root })
	live := frames(t, s.send("POST", "/v1/responses", `{"model":"choir","input":"hello","stream":true}`).Body, nil)
	last := checkStream(t, live)
	if output, _ := last["output"].([]any); len(output) != 3 {
		t.Errorf("%s", last.outputs())
	}
	s.same(last.text("id"), live)
}

// A text that was cut by a cancellation is the same for later readers.
func TestCancelledInAText(t *testing.T) {
	t.Parallel()
	s := serve(t)
	live := s.send("POST", "/v1/responses", `{"model":"weather","input":"story never","stream":true}`)
	id := ""
	begin := frames(t, live.Body, func(f object) bool {
		id += f.text("response", "id")
		return f.text("delta") == "time "
	})
	id = id[:len(id)/2] // of two frames
	if got := s.do(200, "POST", "/v1/responses/"+id+"/cancel", ""); got.text("status") != "cancelled" {
		t.Errorf("%v", got)
	}
	all := append(begin, frames(t, live.Body, nil)...)
	if got := checkStream(t, all); got.text("status") != "cancelled" {
		t.Errorf("%v", got)
	}
	s.same(id, all)
}

// A response that is not the last one is continued in a fork.
func TestPreviousResponse(t *testing.T) {
	t.Parallel()
	s := serve(t)
	after := func(previous, input string) object {
		return s.create(`{"model":"weather","previous_response_id":` + quote(previous) + `,"input":` + quote(input) + `}`)
	}
	one := s.create(`{"model":"weather","input":"keep k one"}`)
	two := after(one.text("id"), "keep k two")
	if one.text("conversation", "id") != two.text("conversation", "id") {
		t.Error("the second response is in another session")
	}
	fork := after(one.text("id"), "recall k")
	if fork.text("conversation", "id") == one.text("conversation", "id") || !strings.Contains(fork.outputs(), "one") {
		t.Errorf("not a fork: %s", fork.outputs())
	}
	if got := after(two.text("id"), "recall k").outputs(); !strings.Contains(got, "two") {
		t.Errorf("the first session has %s", got)
	}
	if got := after(fork.text("id"), "recall k"); got.text("conversation", "id") != fork.text("conversation", "id") {
		t.Error("the fork is forked")
	}
	s.do(404, "POST", "/v1/responses", `{"model":"weather","previous_response_id":"resp_x","input":"hello"}`)
	s.do(400, "POST", "/v1/responses", `{"model":"relay","previous_response_id":`+quote(one.text("id"))+`,"input":"hello"}`)
	s.do(400, "POST", "/v1/responses", `{"model":"weather","conversation":"c","previous_response_id":`+quote(one.text("id"))+`,"input":"hello"}`)
}

// Requests that follow the same response at the same time do not see each other: one is
// in its session, the others are in forks.
func TestPreviousResponseAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	one := s.create(`{"model":"weather","input":"hello"}`)
	const count = 20
	got := make(chan string, count)
	for range count {
		go func() {
			got <- s.create(`{"model":"weather","previous_response_id":`+quote(one.text("id"))+`,"input":"hello"}`).text("conversation", "id")
		}()
	}
	seen := map[string]bool{}
	for range count {
		id := <-got
		if id == "" || seen[id] {
			t.Errorf("two responses are in the session %q", id)
		}
		seen[id] = true
	}
	if !seen[one.text("conversation", "id")] {
		t.Error("all are forks")
	}
}

// A conversation is a session, which any client may have begun.
func TestConversation(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.create(`{"model":"weather","conversation":"c1","input":"keep k v"}`)
	got := s.create(`{"model":"weather","conversation":{"id":"c1"},"input":"recall k"}`)
	if !strings.Contains(got.outputs(), `"v"`) || got.text("conversation", "id") != "c1" {
		t.Errorf("%s", got.outputs())
	}
	log := s.do(200, "GET", "/apps/weather/users/user/sessions/c1", "")
	if list, _ := log["events"].([]any); len(list) != 8 {
		t.Errorf("%d events", len(list))
	}
}

// The caller's tools are called by the caller, with and without a stored conversation.
func TestClientTools(t *testing.T) {
	t.Parallel()
	s := serve(t)
	first := s.create(`{"model":"weather","input":"call lights","tools":` + lights + `}`)
	call := first.text("output", 0, "call_id")
	output := `{"type":"function_call_output","call_id":` + quote(call) + `,"output":"done"}`
	const want = `lights returned {"result":"done"}`
	second := s.create(`{"model":"weather","previous_response_id":` + quote(first.text("id")) + `,"input":[` + output + `],"tools":` + lights + `}`)
	if second.outputs() != want {
		t.Errorf("%s", second.outputs())
	}
	if got := s.do(200, "GET", "/v1/responses/"+first.text("id"), ""); got.text("status") != "completed" {
		t.Errorf("the first response is %s", got.text("status"))
	}
	// Another output is another branch of the conversation.
	other := s.create(`{"model":"weather","previous_response_id":` + quote(first.text("id")) + `,"input":[` + strings.Replace(output, "done", "other", 1) + `]}`)
	if other.outputs() != `lights returned {"result":"other"}` {
		t.Errorf("%s", other.outputs())
	}
	item := mustJSON(t, first.at("output", 0))
	for _, store := range []string{"true", "false"} {
		whole := s.create(`{"model":"weather","store":` + store + `,"input":[{"role":"user","content":"call lights"},` + item + `,` + output + `],"tools":` + lights + `}`)
		if whole.outputs() != want {
			t.Errorf("store %s: %s", store, whole.outputs())
		}
	}
	failed := s.do(400, "POST", "/v1/responses", `{"model":"weather","input":[{"type":"function_call_output","call_id":"x","output":""}]}`)
	if failed.text("error", "param") != "input" {
		t.Errorf("%v", failed)
	}
}

// What the server asks is answered with an item.
func TestQuestions(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, test := range []struct{ name, input, question, answer, want string }{
		{"approved", "danger users", "confirmation", `"type":"parley:answer","approved":true`, `tool delete_table`},
		{"refused", "danger users", "confirmation", `"type":"parley:answer","approved":false`, `rejected`},
		{"refused by an output", "danger users", "confirmation", `"type":"function_call_output","output":"false"`, `rejected`},
		{"input", "ask", "input", `"type":"parley:answer","value":{"n":7}`, `{"n":7}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &site{t, s.base, s.Fixture}
			asked := s.create(`{"model":"weather","input":` + quote(test.input) + `}`)
			if asked.text("status") != "incomplete" || asked.text("incomplete_details", "reason") != "input_required" {
				t.Fatalf("%s: %s", asked.text("status"), asked.outputs())
			}
			if !strings.Contains(asked.outputs(), "question "+test.question) {
				t.Fatalf("%s", asked.outputs())
			}
			list, _ := asked["output"].([]any)
			call := asked.text("output", len(list)-1, "call_id")
			got := s.create(`{"model":"weather","previous_response_id":` + quote(asked.text("id")) + `,"input":[{"call_id":` + quote(call) + `,` + test.answer + `}]}`)
			if got.text("status") != "completed" || !strings.Contains(got.outputs(), test.want) {
				t.Errorf("%s: %s", got.text("status"), got.outputs())
			}
			again := s.do(200, "GET", "/v1/responses/"+asked.text("id"), "")
			if again.text("status") != "incomplete" || again.outputs() != asked.outputs() {
				t.Errorf("the question was %s %s, and is %s %s", asked.text("status"), asked.outputs(), again.text("status"), again.outputs())
			}
		})
	}
}

func TestCancelDeleteAndItems(t *testing.T) {
	t.Parallel()
	s := serve(t)
	queued := s.create(`{"model":"weather","input":"slow g","background":true,"metadata":{"a":"b"}}`)
	if queued.text("status") != "queued" {
		t.Errorf("status %s", queued.text("status"))
	}
	path := "/v1/responses/" + queued.text("id")
	cancelled := s.do(200, "POST", path+"/cancel", "")
	if cancelled.text("status") != "cancelled" || cancelled.text("metadata", "a") != "b" {
		t.Errorf("%v", cancelled)
	}
	checkStream(t, frames(t, s.send("GET", path+"?stream=true", "").Body, nil))
	items := s.do(200, "GET", path+"/input_items", "")
	if items.text("data", 0, "content", 0, "text") != "slow g" || items.text("data", 0, "role") != "user" {
		t.Errorf("%v", items)
	}
	if got := s.do(200, "DELETE", path, ""); got["deleted"] != true {
		t.Errorf("%v", got)
	}
	s.do(404, "GET", path, "")

	first := s.create(`{"model":"weather","input":"hello"}`)
	second := s.create(`{"model":"weather","input":"hello","previous_response_id":` + quote(first.text("id")) + `}`)
	s.do(409, "DELETE", "/v1/responses/"+first.text("id"), "")
	s.do(200, "DELETE", "/v1/responses/"+second.text("id"), "")
	s.do(404, "GET", "/v1/responses/"+second.text("id"), "")
	s.do(404, "GET", "/v1/responses/"+second.text("id")+"?stream=true", "")
	s.do(200, "GET", "/v1/responses/"+first.text("id"), "")
}

// A request that is repeated with its key does not run twice.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := serve(t)
	first := s.create(`{"model":"weather","input":"call lights","tools":`+lights+`}`, "Idempotency-Key", "k1")
	body := `{"model":"weather","previous_response_id":` + quote(first.text("id")) +
		`,"input":[{"type":"function_call_output","call_id":` + quote(first.text("output", 0, "call_id")) + `,"output":"done"}]}`
	for _, test := range []struct{ key, body string }{
		{"k1", `{"model":"weather","input":"call lights","tools":` + lights + `}`},
		{"k2", body},
		{"k3", `{"model":"weather","input":"hello","conversation":"c"}`},
		{"k4", `{"model":"weather","input":"hello","store":false}`},
	} {
		one := s.create(test.body, "Idempotency-Key", test.key)
		two := s.create(test.body, "Idempotency-Key", test.key)
		if one.text("id") != two.text("id") || one.outputs() != two.outputs() {
			t.Errorf("%s: two runs: %s and %s", test.key, one.text("id"), two.text("id"))
		}
	}
	s.do(409, "POST", "/v1/responses", `{"model":"weather","input":"other","conversation":"c"}`, "Idempotency-Key", "k3")
}

// The same key in another conversation is another request, whose run is not mistaken for
// the first one while that is active.
func TestIdempotencyKeyInAnotherConversation(t *testing.T) {
	t.Parallel()
	s := serve(t)
	ended := s.create(`{"model":"weather","input":"hello","conversation":"ended"}`, "Idempotency-Key", "k")
	live := s.send("POST", "/v1/responses", `{"model":"weather","input":"story g1","conversation":"active","stream":true}`, "Idempotency-Key", "k")
	frames(t, live.Body, func(f object) bool { return f.text("delta") != "" })
	defer s.Open("g1")
	fresh := s.create(`{"model":"weather","input":"hi","conversation":"fresh"}`, "Idempotency-Key", "k")
	if got := fresh.outputs(); got != "You said: hi" {
		t.Errorf("in another conversation: %s", got)
	}
	again := s.create(`{"model":"weather","input":"hello","conversation":"ended"}`, "Idempotency-Key", "k")
	if again.text("id") != ended.text("id") || again.outputs() != "You said: hello" {
		t.Errorf("the repeated request: %s %s, want %s", again.text("id"), again.outputs(), ended.text("id"))
	}
	stream := frames(t, s.send("GET", "/v1/responses/"+ended.text("id")+"?stream=true", "").Body, nil)
	if all := strings.Join(stream, ""); !strings.Contains(all, "You said: hello") {
		t.Errorf("the stream of the response that has ended: %s", all)
	}
}

// Clients of the server's own API write metadata as they like.
func TestInputItemsOfForeignMetadata(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.do(200, "POST", "/apps/weather/users/user/sessions/s", `{}`)
	resp := s.send("POST", "/run", `{"appName":"weather","userId":"user","sessionId":"s","newMessage":{"role":"user","parts":[{"text":"hi"}]},`+
		`"customMetadata":{"openai":{"input":[{"role":"user","parts":-1},{"role":"user","parts":9}]}}}`)
	id := "resp_" + face.Handle("weather", "s", resp.Header.Get("X-Parley-Run"))
	if got := s.do(200, "GET", "/v1/responses/"+id+"/input_items?order=asc", "").text("data", 1, "content", 0, "text"); got != "hi" {
		t.Errorf("the input is %q", got)
	}
}

// A response that is not stored leaves nothing behind.
func TestNotStored(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := s.create(`{"model":"weather","input":"hello","store":false}`)
	s.do(404, "GET", "/v1/responses/"+got.text("id"), "")
	frames(t, s.send("POST", "/v1/responses", `{"model":"weather","input":"hello","store":false,"stream":true}`).Body, nil)
	resp := s.send("GET", "/apps/weather/users/user/sessions", "")
	list, err := io.ReadAll(resp.Body)
	if err != nil || string(list) != "[]" {
		t.Errorf("%s %v", list, err)
	}
}

// Requests that never name an application count, too.
func TestRateWithoutApplication(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(s *site) *http.Response{
		"another type": func(s *site) *http.Response {
			return s.send("POST", "/v1/responses", `hello`, "Content-Type", "text/plain")
		},
		"broken": func(s *site) *http.Response { return s.send("POST", "/v1/chat/completions", `{"model":`) },
		"the path of a platform that is not served": func(s *site) *http.Response { return s.send("POST", "/invocations", `{}`) },
		"the root": func(s *site) *http.Response { return s.send("POST", "/", `{}`) },
	} {
		s := serve(t, func(c *parley.Config) { c.Limits.RequestsPerMinute = 1 })
		if first, second := send(s).StatusCode, send(s).StatusCode; first == 429 || second != 429 {
			t.Errorf("%s: %d, then %d", name, first, second)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, test := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"unknown app", `{"model":"nothing","input":"hello"}`, 404, "model_not_found"},
		{"no model", `{"input":"hello"}`, 400, ""},
		{"no input", `{"model":"weather"}`, 400, ""},
		{"not JSON", `{`, 400, ""},
		{"a tool that the server cannot have", `{"model":"weather","input":"hello","tools":[{"type":"web_search"}]}`, 400, ""},
		{"a wrong member", `{"model":"weather","input":"hello","metadata":[]}`, 400, ""},
		{"in the background and not stored", `{"model":"weather","input":"hello","background":true,"store":false}`, 400, ""},
		{"an answer at the end", `{"model":"weather","input":[{"role":"assistant","content":"hello"}]}`, 400, ""},
	} {
		got := s.do(test.status, "POST", "/v1/responses", test.body)
		if got.text("error", "code") != test.code || got.text("error", "type") != "invalid_request_error" || got.text("error", "message") == "" {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	if got := s.create(`{"model":"weather","input":"fail"}`); got.text("status") != "failed" || got.text("error", "message") == "" {
		t.Errorf("%v", got)
	}
	stutter := frames(t, s.send("POST", "/v1/responses", `{"model":"weather","input":"stutter","stream":true}`).Body, nil)
	last := checkStream(t, stutter)
	if last.text("status") != "failed" {
		t.Errorf("%v", last)
	}
	s.same(last.text("id"), stutter)
	if got := s.create(`{"model":"weather","input":"errcode"}`); got.text("incomplete_details", "reason") != "content_filter" {
		t.Errorf("%v", got)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if got := s.do(200, "GET", "/v1/models/weather", ""); got.text("id") != "weather" || got.text("object") != "model" {
		t.Errorf("%v", got)
	}
	if got := s.do(404, "GET", "/v1/models/nothing", ""); got.text("error", "code") != "model_not_found" {
		t.Errorf("%v", got)
	}
	got := s.do(200, "GET", "/v1/models", "")
	if got.text("data", 0, "id") != "relay" || got.text("data", 1, "id") != "weather" || got.text("object") != "list" {
		t.Errorf("%v", got)
	}
}

// The limit of requests is that of the application in the body, and bodies that cannot
// be read count as well.
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, func(cfg *parley.Config) { cfg.Limits.RequestsPerMinute = 3 })
	for range 3 {
		s.create(`{"model":"weather","input":"hello"}`)
	}
	limited := s.do(429, "POST", "/v1/responses", `{"model":"weather","input":"hello"}`)
	if limited.text("error", "type") != "rate_limit_error" {
		t.Errorf("%v", limited)
	}
	s.do(429, "POST", "/v1/chat/completions", `{"model":"weather","messages":[{"role":"user","content":"hello"}]}`)
	s.create(`{"model":"relay","input":"hello"}`)
	for range 3 {
		s.do(400, "POST", "/v1/responses", "{")
	}
	s.do(429, "POST", "/v1/responses", "{")
}
