package parley_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A task of A2A waits for a login, which the user completes in a browser. The task goes
// on by itself, in the stream that stays open.
func TestManagedLoginOfATask(t *testing.T) {
	t.Parallel()
	m := newManaged(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"What is on?"}]}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.public+"/a2a/calendar", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	type update struct {
		Result struct {
			Task         struct{ ID string }
			StatusUpdate struct {
				TaskID string
				Status struct {
					State   string
					Message struct{ Parts []struct{ Text string } }
				}
			}
			ArtifactUpdate struct {
				Artifact struct{ Parts []struct{ Text string } }
			}
		}
	}
	var states []string
	task, text := "", ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		doc, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var u update
		if err := json.Unmarshal([]byte(doc), &u); err != nil {
			t.Fatal(err, doc)
		}
		if u.Result.Task.ID != "" {
			task = u.Result.Task.ID
		}
		if parts := u.Result.ArtifactUpdate.Artifact.Parts; len(parts) > 0 {
			text = parts[0].Text
		}
		s := u.Result.StatusUpdate
		if s.TaskID == "" {
			continue
		}
		if s.TaskID != task {
			t.Errorf("the update is of the task %s, want %s", s.TaskID, task)
		}
		if n := len(states); n == 0 || states[n-1] != s.Status.State {
			states = append(states, s.Status.State)
		}
		if s.Status.State == "TASK_STATE_AUTH_REQUIRED" {
			_, address, _ := strings.Cut(s.Status.Message.Parts[0].Text, m.public)
			b := newBrowser(t)
			back, err := m.provider.Login(t.Context(), m.begin(b, m.public+address), "ann", true)
			if err != nil {
				t.Fatal(err)
			}
			if last := b.get(back); last.StatusCode != http.StatusOK {
				t.Fatalf("the way back: %d %s", last.StatusCode, last.text)
			}
		}
	}
	if got := strings.Join(states, " "); got != "TASK_STATE_WORKING TASK_STATE_AUTH_REQUIRED TASK_STATE_WORKING TASK_STATE_COMPLETED" {
		t.Error(got)
	}
	if text != "That is all." {
		t.Error(text)
	}
}
