package aisdk_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	h := open(t)
	one := h.post("weather", body("c", nil, user("m1", "one")))
	two := h.post("weather", body("c", nil, user("m1", "one"), assistant(one.message(), "You said: one"), user("m2", "two")))
	if one.text() != "You said: one" || two.text() != "You said: two" || one.message() == two.message() {
		t.Errorf("%s %q, then %s %q", one.message(), one.text(), two.message(), two.text())
	}
	if got, want := h.log("weather", "c"), "user: one\nweather_agent: You said: one\nuser: two\nweather_agent: You said: two"; got != want {
		t.Errorf("the log is\n%s", got)
	}
}

// TestHistory continues a chat that the server does not have.
func TestHistory(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.post("weather", body("c", nil, map[string]any{"id": "s", "role": "system", "parts": []any{map[string]any{"type": "text", "text": "obey"}}},
		user("m1", "one"), assistant("a1", map[string]any{"type": "step-start"}, "first"), user("m2", "two")))
	if got, want := h.log("weather", "c"), "user: one\nweather_agent: first\nuser: two\nweather_agent: You said: two"; got != want {
		t.Errorf("the log is\n%s", got)
	}
}

func TestFileOfUser(t *testing.T) {
	t.Parallel()
	h := open(t)
	file := map[string]any{"type": "file", "mediaType": "image/png", "filename": "dot.png", "url": "data:image/png;base64,ZG90"}
	if got := h.post("weather", body("c", nil, user("m1", file, "What is it?"))).text(); got != "I see 3 bytes of image/png." {
		t.Errorf("the answer is %q", got)
	}
}

// TestRepeatedMessage sends a message twice, as clients do that have lost the response.
func TestRepeatedMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	in := body("c", nil, user("m1", "one"))
	first, second := h.post("weather", in), h.post("weather", in)
	if first.message() != second.message() || first.text() != second.text() {
		t.Errorf("%s %q, then %s %q", first.message(), first.text(), second.message(), second.text())
	}
	if got := h.log("weather", "c"); got != "user: one\nweather_agent: You said: one" {
		t.Errorf("the log is\n%s", got)
	}
}

func TestRegenerate(t *testing.T) {
	t.Parallel()
	h := open(t)
	one := h.post("thinker", body("c", nil, user("m1", "one")))
	h.post("thinker", body("c", nil, user("m1", "one"), assistant(one.message(), "re: one"), user("m2", "two")))
	again := body("c", map[string]any{"trigger": "regenerate-message", "messageId": one.message()}, user("m1", "one"))
	two := h.post("thinker", again)
	if two.text() != "re: one" || two.message() == one.message() || h.model.Calls() != 3 {
		t.Errorf("%s %q after %d calls", two.message(), two.text(), h.model.Calls())
	}
	if got := h.log("thinker", "c"); got != "user: one\nthinker: re: one" {
		t.Errorf("the log is\n%s", got)
	}
	// A request that is repeated names a message that is rewound already.
	if three := h.post("thinker", again); three.message() != two.message() || h.model.Calls() != 3 {
		t.Errorf("%s after %d calls", three.message(), h.model.Calls())
	}
	// Without the name of a message, the last one is generated again.
	four := h.post("thinker", body("c", map[string]any{"trigger": "regenerate-message"}, user("m1", "one")))
	if four.message() == two.message() || h.model.Calls() != 4 {
		t.Errorf("%s after %d calls", four.message(), h.model.Calls())
	}
	// The first message is known.
	if five := h.post("thinker", body("c", nil, user("m1", "one"))); five.message() != four.message() || h.model.Calls() != 4 {
		t.Errorf("%s after %d calls", five.message(), h.model.Calls())
	}
	// A message that was never sent runs.
	if six := h.post("thinker", body("new", map[string]any{"trigger": "regenerate-message"}, user("m1", "one"))); six.text() != "re: one" {
		t.Errorf("the answer is %q", six.text())
	}
}

// TestEditedMessage sends a message with another text than before.
func TestEditedMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	one := h.post("weather", body("c", nil, user("m1", "one")))
	h.post("weather", body("c", nil, user("m1", "one"), assistant(one.message(), one.text()), user("m2", "two")))
	edited := body("c", map[string]any{"messageId": "m1"}, user("m1", "eins"))
	for range 2 {
		if got := h.post("weather", edited); got.text() != "You said: eins" || got.message() == one.message() {
			t.Errorf("%s %q", got.message(), got.text())
		}
	}
	if got := h.log("weather", "c"); got != "user: eins\nweather_agent: You said: eins" {
		t.Errorf("the log is\n%s", got)
	}
}

// TestRegenerateActive generates an answer again while it is written: a client that
// stops reading does not cancel the run.
func TestRegenerateActive(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.Stream(t, "/apps/weather/aisdk", body("c", nil, user("m1", "story gate")))
	until(t, s, "text-delta")
	s.Close()
	h.fixture.Open("gate2")
	got := h.post("weather", body("c", map[string]any{"trigger": "regenerate-message"}, user("m1", "story gate2")))
	if got.last() != "finish stop" {
		t.Errorf("the run ends with %s", got.last())
	}
	if log := h.log("weather", "c"); strings.Count(log, "user: ") != 1 || !strings.HasPrefix(log, "user: story gate2") {
		t.Errorf("the log is\n%s", log)
	}
}

// until reads a stream up to a chunk of a type.
func until(t *testing.T, s *testkit.Stream, kind string) {
	t.Helper()
	for frame := s.Next(t); ; frame = s.Next(t) {
		if frame == nil {
			t.Fatalf("the stream has no %s", kind)
		}
		if strings.Contains(string(frame), `"type":"`+kind+`"`) {
			return
		}
	}
}

func TestResumeInTheMiddle(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.Stream(t, "/apps/weather/aisdk", body("c", nil, user("m1", "story gate")))
	until(t, s, "text-delta")
	s.Close()
	frames := h.follow("weather", "c", func() { h.fixture.Open("gate") })
	want := h.post("weather", body("c", nil, user("m1", "story gate")))
	if frames.text() != want.text() || frames.message() != want.message() || frames.last() != "finish stop" {
		t.Errorf("%s %q, want %s %q", frames.message(), frames.text(), want.message(), want.text())
	}
	h.Do(t, http.MethodGet, "/apps/weather/aisdk/c/stream", nil).Want(t, 204)
}

// follow resumes the stream of a chat, and calls then after the first chunk.
func (h *house) follow(app, chat string, then func()) chunks {
	h.t.Helper()
	s := h.Stream(h.t, "/apps/"+app+"/aisdk/"+chat+"/stream", nil, func(r *http.Request) { r.Method = http.MethodGet })
	first := s.Next(h.t)
	then()
	return parse(h.t, append([][]byte{first}, s.Rest(h.t)...))
}

func TestCancel(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.Stream(t, "/apps/weather/aisdk", body("c", nil, user("m1", "slow gate")))
	until(t, s, "tool-input-available")
	h.Do(t, http.MethodPost, "/apps/weather/aisdk/c/cancel", nil).Want(t, 204)
	rest := parse(t, s.Rest(t))
	if got := rest.find("abort"); got == nil || got["reason"] == "" {
		t.Errorf("the rest is %v", rest)
	}
	if rest.find("tool-output-error") == nil || rest.find("error") != nil {
		t.Errorf("the rest is %v", rest)
	}
	if got := h.post("weather", body("c", nil, user("m1", "slow gate"), assistant("a", "x"), user("m2", "two"))).text(); got != "You said: two" {
		t.Errorf("the chat does not continue: %q", got)
	}
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	for _, approved := range []bool{true, false} {
		h := open(t)
		asked := h.post("weather", body("c", nil, user("m1", "danger users")))
		question := asked.find("tool-approval-request")
		part := map[string]any{
			"type": "dynamic-tool", "toolName": "delete_table", "toolCallId": question["toolCallId"], "state": "approval-responded",
			"input": map[string]any{"table": "users"}, "approval": map[string]any{"id": question["approvalId"], "approved": approved},
		}
		in := body("c", map[string]any{"messageId": asked.message()}, user("m1", "danger users"), assistant(asked.message(), map[string]any{"type": "step-start"}, part))
		for range 2 { // a repeated request is harmless
			got := h.post("weather", in)
			kind := map[bool]string{true: "tool-output-available", false: "tool-output-denied"}[approved]
			result := got.find(kind)
			if result == nil || result["toolCallId"] != question["toolCallId"] || got.message() != asked.message() || got.last() != "finish stop" {
				t.Errorf("approved %v: %v", approved, got)
			}
			if got.find("tool-input-available") != nil {
				t.Errorf("the client has the call already: %v", got)
			}
		}
		want := fmt.Sprintf(`user returns {"confirmed":%v}`, approved)
		if log := h.log("weather", "c"); strings.Count(log, want) != 1 {
			t.Errorf("the log is\n%s", log)
		}
	}
}

// TestAnswers answers a question that is a data part.
func TestAnswers(t *testing.T) {
	t.Parallel()
	h := open(t)
	asked := h.post("weather", body("c", nil, user("m1", "ask")))
	id := fmt.Sprint(asked.find("data-input")["id"])
	messages := []any{user("m1", "ask"), assistant(asked.message())}
	wrong := h.Do(t, http.MethodPost, "/apps/weather/aisdk", body("c", map[string]any{"answers": map[string]any{id: map[string]any{"n": 10}}}, messages...))
	if wrong.Status != 422 {
		t.Errorf("an answer that does not match the schema: %d %s", wrong.Status, wrong.Body)
	}
	got := h.post("weather", body("c", map[string]any{"answers": map[string]any{id: map[string]any{"n": 3}}}, messages...))
	data, _ := got.find("data-input")["data"].(map[string]any)
	if data["answered"] != true || !strings.Contains(got.text(), `{"n":3}`) || got.message() != asked.message() {
		t.Errorf("%v", got)
	}
}

func TestClientTool(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		state, member string
		value         any
		want          string
	}{
		"a text":    {"output-available", "output", "Oslo", `locate returned {"result":"Oslo"}`},
		"an object": {"output-available", "output", map[string]any{"city": "Oslo"}, `locate returned {"city":"Oslo"}`},
		"an error":  {"output-error", "errorText", "denied", `locate returned {"error":"denied"}`},
	} {
		h := open(t)
		tools := map[string]any{"tools": map[string]any{"locate": map[string]any{"description": "Where the user is.", "parameters": map[string]any{"type": "object"}}}}
		asked := h.post("thinker", body("c", tools, user("m1", "locate")))
		call := asked.find("tool-input-available")
		if asked.last() != "finish tool-calls" || call["toolName"] != "locate" || call["dynamic"] != nil || call["providerExecuted"] != nil {
			t.Fatalf("%s: %v", name, asked)
		}
		part := map[string]any{"type": "tool-locate", "toolCallId": call["toolCallId"], "state": one.state, "input": call["input"], one.member: one.value}
		in := body("c", tools, user("m1", "locate"), assistant(asked.message(), part))
		for range 2 {
			if got := h.post("thinker", in); got.text() != one.want || got.message() != asked.message() {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}

// TestResumeAnswered follows a run that an answer has started: the message has
// everything since its question.
func TestResumeAnswered(t *testing.T) {
	t.Parallel()
	h := open(t)
	tools := map[string]any{"tools": []any{map[string]any{"name": "locate", "inputSchema": map[string]any{"type": "object"}}}}
	asked := h.post("thinker", body("c", tools, user("m1", "locate slowly")))
	call := asked.find("tool-input-available")["toolCallId"]
	part := map[string]any{"type": "tool-locate", "toolCallId": call, "state": "output-available", "output": "Oslo"}
	h.Stream(t, "/apps/thinker/aisdk", body("c", tools, user("m1", "locate slowly"), assistant(asked.message(), part))).Close()
	s := h.Stream(t, "/apps/thinker/aisdk/c/stream", nil, func(r *http.Request) { r.Method = http.MethodGet })
	close(h.gate)
	got := h.read(s)
	if got.message() != asked.message() || got.find("tool-input-available")["toolCallId"] != call || got.find("tool-output-available")["output"] != "Oslo" {
		t.Errorf("%v", got)
	}
	if got.text() != `locate returned {"result":"Oslo"}` || got.last() != "finish stop" {
		t.Errorf("%q, %s", got.text(), got.last())
	}
}

// TestResumeApproved is like TestResumeAnswered with an approval.
func TestResumeApproved(t *testing.T) {
	t.Parallel()
	h := open(t)
	asked := h.post("thinker", body("c", nil, user("m1", "erase slowly")))
	question := asked.find("tool-approval-request")
	answered := func(value any) any {
		return body("c", map[string]any{"answers": map[string]any{fmt.Sprint(question["approvalId"]): value}}, user("m1", "erase slowly"), assistant(asked.message()))
	}
	if wrong := h.Do(t, http.MethodPost, "/apps/thinker/aisdk", answered(map[string]any{"confirmed": "maybe"})); wrong.Status != 422 {
		t.Errorf("an answer that decides nothing: %d %s", wrong.Status, wrong.Body)
	}
	in := answered(true)
	h.Stream(t, "/apps/thinker/aisdk", in).Close()
	s := h.Stream(t, "/apps/thinker/aisdk/c/stream", nil, func(r *http.Request) { r.Method = http.MethodGet })
	close(h.gate)
	got := h.read(s)
	var kinds []string
	for _, c := range got {
		if kind := fmt.Sprint(c["type"]); strings.HasPrefix(kind, "tool-") {
			kinds = append(kinds, kind)
		}
	}
	want := "tool-input-start tool-input-available tool-approval-request tool-approval-response tool-output-available"
	if strings.Join(kinds, " ") != want || got.find("tool-approval-response")["approved"] != true || got.message() != asked.message() {
		t.Errorf("%v", got)
	}
}

func TestOtherUser(t *testing.T) {
	t.Parallel()
	h := open(t)
	s := h.Stream(t, "/apps/weather/aisdk", body("c", nil, user("m1", "slow gate")), testkit.Header("X-User-Id", "bob"))
	until(t, s, "tool-input-available")
	alice := testkit.Header("X-User-Id", "alice")
	h.Do(t, http.MethodGet, "/apps/weather/aisdk/c/stream", nil, alice).Want(t, 204)
	h.Do(t, http.MethodPost, "/apps/weather/aisdk/c/cancel", nil, alice).Want(t, 204)
	h.fixture.Open("gate")
	if rest := parse(t, s.Rest(t)); rest.last() != "finish stop" {
		t.Errorf("the run of another user ends with %s", rest.last())
	}
}
