package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model/scripted"
)

func feedbackOf(t *testing.T, srv http.Handler, session string) string {
	t.Helper()
	rec := do(t, srv, "GET", session+"/feedback", "")
	wantStatus(t, rec, http.StatusOK)
	var list []run.Feedback
	if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		out = append(out, f.Author+" "+f.Rating+" "+f.Note)
	}
	return strings.Join(out, ", ")
}

// Feedback is in the log, and neither the model nor the conversation knows of it.
func TestFeedback(t *testing.T) {
	t.Parallel()
	model := scripted.New(scripted.Say("Hello."), scripted.Say("Again."))
	srv := serve(t, scriptedApp(t, model))
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	const message = `{"appName":"weather","userId":"u","sessionId":"s1","newMessage":{"parts":[{"text":"hi"}]},"customMetadata":{"feedback":{"runId":"x","author":"eve","rating":"up"}}}`
	first := do(t, srv, "POST", "/run", message)
	wantStatus(t, first, http.StatusOK)
	path := session1 + "/runs/" + runOf(first) + "/feedback"
	give := func(status int, body string) string {
		t.Helper()
		rec := do(t, srv, "POST", path, body)
		wantStatus(t, rec, status)
		return rec.Body.String()
	}
	want(t, "none yet", "", feedbackOf(t, srv, session1)) // that of the run's metadata does not count
	give(200, `{"rating":"up"}`)
	give(200, `{"rating":"down","note":"too short","author":"ann"}`)
	want(t, "of two", "u up , ann down too short", feedbackOf(t, srv, session1))
	once := give(200, `{"rating":"down","note":"wrong"}`)
	want(t, "the same again", once, give(200, `{"rating":"down","note":"wrong"}`))
	want(t, "changed", "u down wrong, ann down too short", feedbackOf(t, srv, session1))
	events := strings.Count(do(t, srv, "GET", session1, "").Body.String(), `"invocationId"`)
	want(t, "events: message, answer, three changes", 5, events)

	wantStatus(t, do(t, srv, "POST", "/run", message), http.StatusOK)
	if requests := model.Requests(); len(requests) != 2 || len(requests[1].Contents()) != 3 {
		t.Errorf("the model gets %d contents, want the two messages and its answer", len(requests[1].Contents()))
	}

	// A fork and an import have it, and can be rated.
	wantStatus(t, do(t, srv, "POST", session1+"/fork", `{"sessionId":"s2"}`), http.StatusOK)
	fork := strings.Replace(session1, "s1", "s2", 1)
	wantStatus(t, do(t, srv, "POST", strings.Replace(path, "/s1/", "/s2/", 1), `{"rating":"up"}`), http.StatusOK)
	want(t, "of the fork", "u up , ann down too short", feedbackOf(t, srv, fork))
	exported := do(t, srv, "GET", session1+"/export", "").Body.String()
	other := strings.Replace(session1, "s1", "s3", 1)
	wantStatus(t, do(t, srv, "POST", other+"/import", exported, "Content-Type: application/x-ndjson"), http.StatusOK)
	want(t, "of the import", "u down wrong, ann down too short", feedbackOf(t, srv, other))

	give(200, `{}`)
	want(t, "removed", "ann down too short", feedbackOf(t, srv, session1))
	give(422, `{"rating":"five"}`)
	give(422, `{"note":"`+strings.Repeat("x", 4001)+`"}`)
	give(422, ``)
	wantStatus(t, do(t, srv, "POST", session1+"/runs/none/feedback", `{"rating":"up"}`), http.StatusNotFound)
	wantStatus(t, do(t, srv, "GET", session1+"x/feedback", ""), http.StatusNotFound)
}

// The feedback of a session does not grow without bounds.
func TestTooMuchFeedback(t *testing.T) {
	t.Parallel()
	srv := serve(t, scripts(t, scripted.Say("Hello.")))
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	rec := do(t, srv, "POST", "/run", `{"appName":"weather","userId":"u","sessionId":"s1","newMessage":{"parts":[{"text":"hi"}]}}`)
	var log strings.Builder
	log.WriteString(do(t, srv, "GET", session1+"/export", "").Body.String())
	for i := range 1000 {
		fmt.Fprintf(&log, `{"id":"f%d","author":"user","invocationId":"p-%d","timestamp":1,"actions":{},"customMetadata":{"feedback":{"runId":%q,"author":"u","rating":"down"}}}`+"\n", i, i, runOf(rec))
	}
	full := strings.Replace(session1, "s1", "s2", 1)
	wantStatus(t, do(t, srv, "POST", full+"/import", log.String(), "Content-Type: application/x-ndjson"), http.StatusOK)
	path := full + "/runs/" + runOf(rec) + "/feedback"
	wantStatus(t, do(t, srv, "POST", path, `{"rating":"up"}`), http.StatusConflict)
	wantStatus(t, do(t, srv, "POST", path, `{"rating":"down"}`), http.StatusOK) // no change
}
