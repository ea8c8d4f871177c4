//go:build unix

package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// A server is killed while it sends the notification that a task has ended. Another one,
// or the same when it is back, sends it again.
func TestPushSurvives(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) *world{
		"postgres": func(t *testing.T) *world {
			t.Helper()
			server := pgtest.Quick(t)
			return newWorld(t, server.Database(t), server, 2, 0, "--credential_key", string(vault.Generate()))
		},
		"sqlite": func(t *testing.T) *world {
			t.Helper()
			return newWorld(t, "sqlite://"+filepath.Join(t.TempDir(), "sessions.db"), nil, 1, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			var mu sync.Mutex
			var ends []string // the tasks that have ended, as they were told
			received := make(chan struct{})
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var got struct {
					Task struct {
						ID     string
						Status struct{ State string }
					}
				}
				if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &got) != nil || got.Task.Status.State != "TASK_STATE_COMPLETED" {
					return
				}
				mu.Lock()
				ends = append(ends, got.Task.ID)
				first := len(ends) == 1
				mu.Unlock()
				if first {
					close(received)
					<-r.Context().Done() // the server is killed, or loses patience
				}
			}))
			t.Cleanup(receiver.Close)
			body := fmt.Sprintf(`{"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"text":"hello"}]},`+
				`"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":%q}}}`, receiver.URL)
			resp, err := w.at(w.replicas[0]).send(t.Context(), http.MethodPost, "/a2a/solo/message:send", []byte(body), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			doc, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s %v", resp.Status, doc, err)
			}
			<-received
			w.replicas[0].kill()
			if len(w.replicas) == 1 {
				if err := w.replicas[0].launch(); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Eventually(t, "the second notification", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(ends) > 1
			})
			mu.Lock()
			defer mu.Unlock()
			if ends[0] != ends[1] || !strings.Contains(string(doc), ends[0]) {
				t.Errorf("the task is %s, and those that ended are %v", doc, ends)
			}
		})
	}
}
