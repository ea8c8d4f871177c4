package openai_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// hosted is a server as Foundry calls it.
func hosted(t *testing.T) *site {
	t.Helper()
	return serve(t, func(c *parley.Config) {
		c.Network.Platforms, c.Network.A2AApp = []parley.Platform{parley.PlatformFoundry}, "weather"
	})
}

// as sends a request with the headers of the platform.
func (s *site) as(user, response, method, path, body string) (int, string) {
	s.t.Helper()
	headers := []string{"x-agent-foundry-call-id", "call-1"}
	for name, value := range map[string]string{"x-agent-user-id": user, "x-agent-response-id": response} {
		if value != "" {
			headers = append(headers, name, value)
		}
	}
	resp := s.send(method, path, body, headers...)
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(doc)
}

func parse(t *testing.T, doc string) (o object) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), &o); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return o
}

// The application is the one of the server, whatever the model is. The user is that of
// the platform, which a client cannot change.
func TestFoundry(t *testing.T) {
	t.Parallel()
	s := hosted(t)
	for _, body := range []string{
		`{"input":"hello"}`, `{"model":"gpt-4.1","input":[{"type":"message","role":"user","content":"hello"}]}`,
		`{"input":"hello","user":"eve","agent_reference":{"type":"agent_reference","name":"sky"},"agent_session_id":"a1","conversation":{"id":"conv_1"}}`,
	} {
		code, doc := s.as("ann", "", "POST", "/responses", body)
		o := parse(t, doc)
		if code != 200 || o.text("status") != "completed" || !strings.Contains(doc, "You said: hello") {
			t.Fatalf("%s: %d %s", body, code, doc)
		}
		if code, _ := s.as("ann", "", "GET", "/responses/"+o.text("id"), ""); code != 200 {
			t.Errorf("%s: %d", body, code)
		}
		if code, _ := s.as("eve", "", "GET", "/responses/"+o.text("id"), ""); code != 404 {
			t.Errorf("%s: eve gets %d", body, code)
		}
	}
	if code, doc := s.as("", "", "GET", "/apps/weather/users/ann/sessions/conv_1", ""); code != 200 || !strings.Contains(doc, "You said: hello") {
		t.Errorf("%d %s", code, doc)
	}
	if code, doc := s.as("ann", "", "POST", "/responses", `{"input":"hello","stream":true}`); code != 200 || !strings.Contains(doc, "event: response.completed") {
		t.Errorf("%d %s", code, doc)
	}
	if code, doc := s.as("", "", "GET", "/readiness", ""); code != 200 || doc != `{"status":"ok"}` {
		t.Errorf("%d %s", code, doc)
	}
	if code, doc := s.as("ann", "", "POST", "/responses", `{"input":[]}`); code != 400 || !strings.Contains(doc, `"invalid_request_error"`) {
		t.Errorf("%d %s", code, doc)
	}
	if code, _ := s.as("ann", strings.Repeat("x", 257), "POST", "/responses", `{"input":"hello"}`); code != 400 {
		t.Errorf("a response id that is too long: %d", code)
	}
}

// The platform chooses the ids of responses. They continue conversations like others.
func TestFoundryResponseIDs(t *testing.T) {
	t.Parallel()
	s := hosted(t)
	turn := func(id, body string) object {
		t.Helper()
		code, doc := s.as("ann", id, "POST", "/responses", body)
		o := parse(t, doc)
		if code != 200 || o.text("id") != id {
			t.Fatalf("%s: %d %s", id, code, doc)
		}
		return o
	}
	first := turn("caresp_1", `{"input":"one"}`)
	second := turn("caresp_2", `{"input":"two","previous_response_id":"caresp_1"}`)
	third := turn("caresp_3", `{"input":"three","previous_response_id":"caresp_2"}`)
	if a, b, c := first.text("conversation", "id"), second.text("conversation", "id"), third.text("conversation", "id"); a == "" || a != b || b != c {
		t.Errorf("the sessions are %q, %q and %q", a, b, c)
	}
	if again := turn("caresp_3", `{"input":"three","previous_response_id":"caresp_2"}`); again.text("output", 0, "id") != third.text("output", 0, "id") {
		t.Errorf("it ran twice: %v", again)
	}
	if fork := turn("caresp_4", `{"input":"other","previous_response_id":"caresp_1"}`); fork.text("conversation", "id") == first.text("conversation", "id") {
		t.Errorf("it is not a fork: %v", fork)
	}
	for _, path := range []string{"/responses/caresp_2", "/responses/caresp_2?stream=true", "/responses/caresp_4"} {
		if code, doc := s.as("ann", "", "GET", path, ""); code != 200 || !strings.Contains(doc, `"id":"caresp_`) || strings.Contains(doc, `"id":"resp_`) {
			t.Errorf("%s: %d %s", path, code, doc)
		}
	}
	if code, doc := s.as("ann", "", "GET", "/responses/caresp_2/input_items", ""); code != 200 || !strings.Contains(doc, "two") {
		t.Errorf("%d %s", code, doc)
	}
	if code, doc := s.as("ann", "", "POST", "/responses/caresp_2/cancel", ""); code != 200 || !strings.Contains(doc, `"status":"completed"`) {
		t.Errorf("%d %s", code, doc)
	}
	if code, doc := s.as("ann", "", "DELETE", "/responses/caresp_3", ""); code != 200 || doc != `{"id":"caresp_3","object":"response","deleted":true}` {
		t.Errorf("%d %s", code, doc)
	}
	for _, user := range []string{"eve", ""} {
		if code, _ := s.as(user, "", "GET", "/responses/caresp_1", ""); code != 404 {
			t.Errorf("%q gets %d", user, code)
		}
	}
	if code, doc := s.as("ann", "caresp_5", "POST", "/responses", `{"input":"x","previous_response_id":"caresp_9"}`); code != 404 || !strings.Contains(doc, "previous_response_not_found") {
		t.Errorf("%d %s", code, doc)
	}
	// Elsewhere, clients do not choose ids.
	if code, doc := s.as("", "caresp_6", "POST", "/v1/responses", `{"model":"weather","input":"x"}`); code != 200 || strings.Contains(doc, "caresp_6") {
		t.Errorf("%d %s", code, doc)
	}
}

// A client names no user, also not if the platform names none.
func TestFoundryUserOfBody(t *testing.T) {
	t.Parallel()
	s := hosted(t)
	code, doc := s.as("", "", "POST", "/responses", `{"input":"hello","user":"ann","safety_identifier":"ann","conversation":"c"}`)
	if code != 200 {
		t.Fatalf("%d %s", code, doc)
	}
	if code, got := s.as("ann", "", "GET", "/responses/"+parse(t, doc).text("id"), ""); code != 404 {
		t.Errorf("the client has written into the session of another user: %d %s", code, got)
	}
	if code, got := s.as("", "", "GET", "/responses/"+parse(t, doc).text("id"), ""); code != 200 {
		t.Errorf("the client does not find its response: %d %s", code, got)
	}
}
