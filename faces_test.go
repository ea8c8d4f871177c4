package parley_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// One conversation goes through all protocols in turn, and its log is one.
func TestOneConversationThroughAllFaces(t *testing.T) {
	t.Parallel()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: testkit.NewFixture().Apps()})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	send := func(method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		doc, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s %v", path, resp.StatusCode, doc, err)
		}
		return string(doc)
	}
	send("POST", "/apps/weather/users/user/sessions/s", "{}")
	for _, turn := range []struct{ path, body, want string }{
		{"/run_sse", `{"appName":"weather","userId":"user","sessionId":"s","streaming":true,"newMessage":{"parts":[{"text":"one"}]}}`, `"text":"You said: one"`},
		{"/apps/weather/agui", `{"threadId":"s","runId":"r2","messages":[{"id":"m2","role":"user","content":"two"}]}`, `"delta":"two"`},
		{"/apps/weather/aisdk", `{"id":"s","trigger":"submit-message","messages":[{"id":"m3","role":"user","parts":[{"type":"text","text":"three"}]}]}`, `"delta":"three"`},
		{"/v1/responses", `{"model":"weather","conversation":"s","input":"four"}`, `"text":"You said: four"`},
		{"/apps/weather/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":{"session":"s","message":"five"}}}`, `You said: five`},
		{"/run", `{"appName":"weather","userId":"user","sessionId":"s","newMessage":{"parts":[{"text":"six"}]}}`, `"text":"You said: six"`},
		{"/a2a/weather/message:send", `{"message":{"messageId":"m7","contextId":"s","role":"ROLE_USER","parts":[{"text":"seven"}]}}`, `"text":"You said: seven"`},
	} {
		if got := send("POST", turn.path, turn.body); !strings.Contains(got, turn.want) {
			t.Errorf("%s: %s", turn.path, got)
		}
	}
	var log struct {
		Events []struct {
			Author  string
			Content struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.Unmarshal([]byte(send("GET", "/apps/weather/users/user/sessions/s", "")), &log); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range log.Events {
		if len(ev.Content.Parts) != 1 {
			t.Errorf("an event has the parts %v", ev.Content.Parts)
			continue
		}
		got = append(got, ev.Author+": "+ev.Content.Parts[0].Text)
	}
	var want []string
	for _, text := range []string{"one", "two", "three", "four", "five", "six", "seven"} {
		want = append(want, "user: "+text, "weather_agent: You said: "+text)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log is\n%s", strings.Join(got, "\n"))
	}
}

func TestFacesAreChosen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faces  []parley.Face
		status int
	}{
		"all": {nil, http.StatusOK}, "this": {[]parley.Face{parley.FaceAGUI}, http.StatusOK}, "another": {[]parley.Face{parley.FaceAISDK}, http.StatusNotFound}, "none": {[]parley.Face{}, http.StatusNotFound},
	} {
		srv, err := parley.Open(t.Context(), parley.Config{Agents: testkit.NewFixture().Apps(), Network: parley.NetworkConfig{Faces: tt.faces}})
		if err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		srv.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/apps/weather/agui/capabilities", nil))
		if rec.Code != tt.status {
			t.Errorf("%s: %d", name, rec.Code)
		}
		listed := httptest.NewRecorder()
		srv.Handler().ServeHTTP(listed, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if at := `{"name":"agui","title":"AG-UI","path":"/apps/{app}/agui"}`; listed.Code != http.StatusOK || strings.Contains(listed.Body.String(), at) != (tt.status == http.StatusOK) {
			t.Errorf("%s: %d %s", name, listed.Code, listed.Body)
		}
		srv.Close(t.Context())
	}
	_, err := parley.Open(t.Context(), parley.Config{Agents: testkit.NewFixture().Apps(), Network: parley.NetworkConfig{Faces: []parley.Face{"soap"}}})
	if err == nil || !strings.Contains(err.Error(), `Network.Faces: there is no face "soap": the faces are a2a, agui, aisdk, mcp, openai`) {
		t.Error(err)
	}
}
