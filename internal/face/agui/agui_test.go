package agui_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/faceclient"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// serve starts a server with the applications of the fixture.
func serve(t *testing.T, fixture *testkit.Fixture) *httptest.Server {
	t.Helper()
	return faceclient.Serve(t, parley.Config{Agents: fixture.Apps()})
}

// frame is one event of a stream.
type frame struct {
	id     string
	fields map[string]any
}

func (f frame) String() string {
	get := func(name string) string { s, _ := f.fields[name].(string); return s }
	text := get("type")
	for _, name := range []string{"delta", "toolCallName", "content", "message", "stepName", "name"} {
		if s := get(name); s != "" {
			text += " " + s
		}
	}
	for _, name := range []string{"snapshot", "delta", "outcome", "usage"} {
		if v := f.fields[name]; v != nil && get(name) == "" {
			doc, _ := json.Marshal(v)
			text += " " + string(doc)
		}
	}
	return text
}

// read returns the events of a stream.
func read(t *testing.T, body io.Reader) []frame {
	t.Helper()
	var frames []frame
	id := ""
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = value
		}
		if doc, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			f := frame{id: id}
			if err := json.Unmarshal([]byte(doc), &f.fields); err != nil {
				t.Fatal(err, doc)
			}
			frames, id = append(frames, f), ""
		}
	}
	return frames
}

func post(t *testing.T, web *httptest.Server, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// input returns a RunAgentInput with one message of the user and further members.
func input(thread, run, text, more string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":%q,"protocolVersion":"1.0","messages":[{"id":"m-%s","role":"user","content":%q}]%s}`, thread, run, run, text, more)
}

func list(frames []frame) string {
	var b bytes.Buffer
	for _, f := range frames {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// A run is the events of its log, in the order that clients check.
func TestRuns(t *testing.T) {
	t.Parallel()
	web := serve(t, testkit.NewFixture())
	const began, ended = "RUN_STARTED\nSTEP_STARTED weather_agent\n", "STEP_FINISHED weather_agent\n"
	text := func(pieces ...string) string {
		return "TEXT_MESSAGE_START\nTEXT_MESSAGE_CONTENT " + strings.Join(pieces, "\nTEXT_MESSAGE_CONTENT ") + "\nTEXT_MESSAGE_END\n"
	}
	call := func(name, args string) string {
		return "TOOL_CALL_START " + name + "\nTOOL_CALL_ARGS " + args + "\nTOOL_CALL_END\n"
	}
	for name, tt := range map[string]struct{ app, text, more, want string }{
		"text": {text: "hello", want: began + text("You ", "said: ", "hello") + ended + "RUN_FINISHED\n"},
		"tool": {
			text: "weather in Oslo",
			want: began + call("get_weather", `{"city":"Oslo"}`) + `TOOL_CALL_RESULT {"status":"success","report":"It is sunny in Oslo."}` + "\n" +
				text("It ", "is ", "sunny ", "in ", "Oslo.") + ended + "RUN_FINISHED\n",
		},
		"client tool": {
			text: "call paint", more: `,"tools":[{"name":"paint","description":"Paints.","parameters":{"type":"object"}}]`,
			want: began + call("paint", `{"color":"red"}`) + ended + `RUN_FINISHED {"pendingToolCallIds":["ID"],"type":"success"}` + "\n",
		},
		"confirmation": {
			text: "danger t1",
			want: began + call("delete_table", `{"table":"t1"}`) + ended + "STATE_SNAPSHOT {}\nMESSAGES_SNAPSHOT\n" +
				`RUN_FINISHED {"interrupts":[{"id":"ID","message":"Please approve or reject the call of delete_table.",` +
				`"metadata":{"args":{"table":"t1"},"toolName":"delete_table"},"reason":"confirmation",` +
				`"responseSchema":{"properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"},"payload":{},"reason":{"type":"string"}},"required":["approved"],"type":"object"},"toolCallId":"ID"}],"type":"interrupt"}` + "\n",
		},
		"input": {
			text: "ask",
			want: began + ended + "STATE_SNAPSHOT {}\nMESSAGES_SNAPSHOT\n" +
				`RUN_FINISHED {"interrupts":[{"id":"ID","message":"How many?","reason":"input_required",` +
				`"responseSchema":{"properties":{"n":{"maximum":9,"minimum":1,"type":"integer"}},"required":["n"],"type":"object"}}],"type":"interrupt"}` + "\n",
		},
		"reasoning": {
			text: "think",
			want: began + "REASONING_START\nREASONING_MESSAGE_START\nREASONING_MESSAGE_CONTENT Let me see.\nREASONING_MESSAGE_END\nREASONING_END\n" +
				text("It is done.") + ended + "RUN_FINISHED\n",
		},
		"unreachable model": {text: "fail", want: "RUN_STARTED\nRUN_ERROR model scripted: boom\n"},
		"refusal":           {text: "errcode", want: began + ended + "RUN_ERROR The answer was withheld.\n"},
		"state": {
			text: "keep k v", more: `,"state":{"mine":1}`,
			want: began + call("keep", `{"key":"k","value":"v"}`) + `TOOL_CALL_RESULT {"status":"success"}` + "\n" +
				`STATE_DELTA [{"op":"add","path":"/k","value":"v"}]` + "\n" + text("keep ", "returned ", `{"status":"success"}`) + ended + "RUN_FINISHED\n",
		},
		"sub-agents": {
			app: "relay", text: "hello",
			want: "RUN_STARTED\nSUBAGENT_STARTED reporter\nSTEP_STARTED reporter\n" + text("You ", "said: ", "hello") + "STEP_FINISHED reporter\nSUBAGENT_FINISHED\n" +
				"SUBAGENT_STARTED reviewer\nSTEP_STARTED reviewer\n" + text("I ", "approve.") + "STEP_FINISHED reviewer\nSUBAGENT_FINISHED\nRUN_FINISHED\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, id := tt.app, strings.ReplaceAll(name, " ", "-")
			if app == "" {
				app = "weather"
			}
			resp := post(t, web, "/apps/"+app+"/agui", input("t-"+id, "r-"+id, tt.text, tt.more))
			got := regexp.MustCompile(`parley-[a-z2-7]{24}`).ReplaceAllString(list(read(t, resp.Body)), "ID")
			if got != tt.want || resp.StatusCode != http.StatusOK {
				t.Errorf("%d (-want +got):\n%s", resp.StatusCode, cmp.Diff(strings.Split(tt.want, "\n"), strings.Split(got, "\n")))
			}
		})
	}
}

// follow continues a stream.
func follow(t *testing.T, web *httptest.Server, thread, run, after string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/apps/weather/agui?protocolVersion=1.0&threadId="+thread+"&runId="+run, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// A stream that is cut anywhere, also inside of a text, goes on with exactly the
// events that are missing.
func TestResume(t *testing.T) {
	t.Parallel()
	fixture := testkit.NewFixture()
	web := serve(t, fixture)
	whole := []frame{}
	resp := post(t, web, "/apps/weather/agui", input("t", "r", "story g", ""))
	lines := bufio.NewReader(resp.Body)
	var text bytes.Buffer
	for !strings.Contains(text.String(), "time ") { // the model waits after it
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(line)
	}
	whole = append(whole, read(t, &text)...)
	cut := follow(t, web, "t", "r", whole[len(whole)-1].id) // while the model waits
	fixture.Open("g")
	rest := read(t, cut.Body)
	if whole = append(whole, rest...); said(whole) != testkit.Story {
		t.Errorf("said %q:\n%s", said(whole), list(whole))
	}
	// The run has ended: its pieces are gone, and the rest of the text is one piece.
	for i, f := range whole[:len(whole)-1] {
		if f.id == "" {
			continue
		}
		again := append(slices.Clone(whole[:i+1]), read(t, follow(t, web, "t", "r", f.id).Body)...)
		if said(again) != testkit.Story || shape(again) != shape(whole) {
			t.Errorf("after %s: said %q\n%s", f.id, said(again), list(again))
		}
	}
	if all := read(t, follow(t, web, "t", "r", "").Body); said(all) != testkit.Story || shape(all) != shape(whole) {
		t.Errorf("from the beginning:\n%s", list(all))
	}
	for _, bad := range []string{"x", "1,a", "-1", "1,a:b:c:d:e", "1;%zz"} {
		if resp := follow(t, web, "t", "r", bad); resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d", bad, resp.StatusCode)
		}
	}
}

// said returns the text of all pieces.
func said(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		if f.fields["type"] == "TEXT_MESSAGE_CONTENT" {
			b.WriteString(f.fields["delta"].(string))
		}
	}
	return b.String()
}

// shape returns the types of events; several pieces of a text are as good as one.
func shape(frames []frame) string {
	var types []string
	for _, f := range frames {
		name, _ := f.fields["type"].(string)
		if name != "TEXT_MESSAGE_CONTENT" {
			types = append(types, fmt.Sprint(name, f.fields["messageId"]))
		}
	}
	return strings.Join(types, " ")
}

// The same request again does not run the agent again.
func TestRepeat(t *testing.T) {
	t.Parallel()
	web := serve(t, testkit.NewFixture())
	first := list(read(t, post(t, web, "/apps/weather/agui", input("t", "r", "weather", "")).Body))
	again := list(read(t, post(t, web, "/apps/weather/agui", input("t", "r", "weather", "")).Body))
	other := read(t, post(t, web, "/apps/weather/agui", strings.Replace(input("t", "r", "weather", ""), `"runId":"r"`, `"runId":"r2"`, 1)).Body) // the message is known
	if !strings.Contains(first, "TOOL_CALL_RESULT") || shape(read(t, follow(t, web, "t", "r", "").Body)) == "" {
		t.Error(first)
	}
	for _, got := range []string{again, list(other)} {
		if !strings.Contains(got, "TOOL_CALL_RESULT") || !strings.HasSuffix(got, "RUN_FINISHED\n") {
			t.Error(got)
		}
	}
	another := strings.Replace(input("t", "r", "hello", ""), `"id":"m-r"`, `"id":"m-x"`, 1)
	if resp := post(t, web, "/apps/weather/agui", another); resp.StatusCode != http.StatusConflict {
		t.Errorf("the id of a run for another message: %d", resp.StatusCode)
	}
	failed := input("t2", "r", "fail", "")
	for range 2 {
		if got := list(read(t, post(t, web, "/apps/weather/agui", failed).Body)); got != "RUN_STARTED\nRUN_ERROR model scripted: boom\n" {
			t.Error(got)
		}
	}
	if got := sessionOf(t, web, "t2"); strings.Count(got, `"author":"user"`) != 1 {
		t.Error(got)
	}
	retry := strings.Replace(failed, `"runId":"r"`, `"runId":"r2"`, 1) // the user tries again
	if got := list(read(t, post(t, web, "/apps/weather/agui", retry).Body)); !strings.Contains(got, "RUN_ERROR") {
		t.Error(got)
	}
	if got := sessionOf(t, web, "t2"); strings.Count(got, `"author":"user"`) != 2 {
		t.Error(got)
	}
	next := strings.Replace(failed, `"content":"fail"}`, `"content":"fail"},{"id":"m-n","role":"user","content":"hello"}`, 1) // the user says something else
	if got := said(read(t, post(t, web, "/apps/weather/agui", strings.Replace(next, `"runId":"r"`, `"runId":"r3"`, 1)).Body)); got != "You said: hello" {
		t.Error(got)
	}
	if got := sessionOf(t, web, "t"); strings.Count(got, `"author":"user"`) != 1 {
		t.Error(got)
	}
}

// CopilotKit answers with the id of the run that has asked.
func TestAnswerWithSameRunID(t *testing.T) {
	t.Parallel()
	web := serve(t, testkit.NewFixture())
	send := func(body, want string) string {
		doc, err := io.ReadAll(post(t, web, "/apps/weather/agui", body).Body)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(doc), want) {
			t.Fatalf("%s: there is no %q in\n%s", body, want, doc)
		}
		return string(doc)
	}
	for _, id := range []string{"r", "s"} {
		_, asked, _ := strings.Cut(send(input("t", id, "danger "+id, ""), "Please approve"), `"interrupts":[{"id":"`)
		interrupt, _, _ := strings.Cut(asked, `"`)
		answer := fmt.Sprintf(`{"threadId":"t","runId":%q,"messages":[],"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]}`, id, interrupt)
		send(answer, "deleted")
		send(answer, "deleted") // a client that repeats its request
		if frames := list(read(t, follow(t, web, "t", id, "").Body)); !strings.Contains(frames, "TOOL_CALL_RESULT") {
			t.Errorf("the run of the answer:\n%s", frames)
		}
	}
	if doc := sessionOf(t, web, "t"); strings.Count(doc, `"author":"user"`) != 4 {
		t.Error(doc)
	}
}

func sessionOf(t *testing.T, web *httptest.Server, id string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/apps/weather/users/user/sessions/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}
