package parley_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit/modelserver"
	"github.com/parley-run/parley/model/openai"
)

// The trace tells when the first piece of an answer came, and how often the call of the
// model was repeated; nothing of either, where there was none. A trace that is read from
// recordings after a restart tells the same.
func TestTraceOfModelPace(t *testing.T) {
	t.Parallel()
	replies := &modelserver.Server{Dialect: modelserver.OpenAI{}, Replies: []modelserver.Reply{{Text: []string{"Sunny", " today."}}, {Text: []string{"Rainy."}}}}
	var asked atomic.Int64
	atModel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
			return
		}
		replies.ServeHTTP(w, r)
	}))
	t.Cleanup(atModel.Close)
	m, err := openai.New("gpt-x", &openai.Options{APIKey: "key", BaseURL: atModel.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	root := must(t)(agent.NewLLM(agent.LLMConfig{Name: "traveller", Model: m}))
	url := "sqlite://" + filepath.Join(t.TempDir(), "s.db")
	open := func() (*parley.Server, func(method, path, body string) *httptest.ResponseRecorder) {
		srv, err := parley.Open(t.Context(), parley.Config{
			Agents: map[string]*agent.Agent{"app": root}, UI: parley.UIConfig{Enabled: true},
			Sessions: parley.SessionConfig{URL: url}, Recording: parley.RecordingConfig{Share: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { srv.Close(t.Context()) })
		return srv, caller(t, srv)
	}
	srv, do := open()
	do("POST", "/apps/app/users/u/sessions/s", "")
	for _, path := range []string{"/run_sse", "/run"} {
		if rec := do("POST", path, message); rec.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	live := do("GET", "/dev/apps/app/debug/trace/session/s?user=u", "").Body.Bytes()
	checkPace(t, live)
	srv.Close(t.Context())
	_, do = open()
	recorded := do("GET", "/dev/apps/app/debug/trace/session/s?user=u", "").Body.Bytes()
	if !bytes.Contains(recorded, []byte(`"parley.recorded":true`)) {
		t.Errorf("the trace is not that of recordings: %s", recorded)
	}
	checkPace(t, recorded)
}

// checkPace looks for a call that was repeated and came in pieces, and one that did not.
func checkPace(t *testing.T, trace []byte) {
	t.Helper()
	var spans, calls []struct {
		Name       string
		Start      int64 `json:"start_time"`
		End        int64 `json:"end_time"`
		Attributes struct {
			First   *float64 `json:"parley.model.first_token_seconds"`
			Retries *int     `json:"parley.model.retries"`
		}
	}
	if err := json.Unmarshal(trace, &spans); err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		if s.Name == "generate_content gpt-x" {
			calls = append(calls, s)
		}
	}
	if len(calls) != 2 {
		t.Fatalf("there are %d calls", len(calls))
	}
	streamed, whole := calls[0], calls[1]
	if streamed.Attributes.Retries == nil || *streamed.Attributes.Retries != 1 || whole.Attributes.Retries != nil {
		t.Errorf("retries: %v, then %v", streamed.Attributes.Retries, whole.Attributes.Retries)
	}
	// The pause before a second attempt is at least half a second.
	if first := streamed.Attributes.First; first == nil || *first < 0.5 || *first > float64(streamed.End-streamed.Start)/1e9 || whole.Attributes.First != nil {
		t.Errorf("the first piece: %v of %d ns, then %v", first, streamed.End-streamed.Start, whole.Attributes.First)
	}
}
