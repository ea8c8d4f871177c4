//go:build unix

package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// receiver gets the webhooks of all applications. Of some requests it does not accept
// what they bring.
type receiver struct {
	*world

	mu       sync.Mutex
	random   *rand.Rand
	known    map[string]bool // ids of messages
	messages []*told         // in the order in which they arrived first
	requests int
}

// told is a message to a receiver.
type told struct {
	ID        string
	Type      string
	Timestamp time.Time
	AppName   string
	UserID    string
	SessionID string
	RunID     string
	Data      struct{ ID, Status string }
}

// receive has all applications send their webhooks to a receiver.
func (w *world) receive() {
	w.Helper()
	r := &receiver{world: w, random: w.random("receiver"), known: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(r.take))
	w.Cleanup(server.Close)
	w.receiver = r
	c := &client{world: w, name: "operator", random: w.random("operator")}
	for _, app := range []string{"solo", "row", "fan", "tree", "hand", "graph"} {
		body := fmt.Appendf(nil, `{"id":"hook-%s","url":%q}`, app, server.URL)
		if status, got := c.insist(http.MethodPost, "/apps/"+app+"/webhooks", body, nil); status != http.StatusCreated && status != http.StatusConflict {
			w.Fatalf("creating a webhook: status %d: %s", status, got)
		}
	}
}

func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	var m told
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the server was killed
	}
	if err := json.Unmarshal(body, &m); err != nil || m.ID == "" || m.ID != req.Header.Get("webhook-id") {
		r.Errorf("a webhook has %s, %v", body, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if !r.known[m.ID] {
		r.known[m.ID] = true
		r.messages = append(r.messages, &m)
	}
	if r.random.IntN(40) == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// delivered waits until everything was sent.
func (r *receiver) delivered(store session.Store) {
	r.Helper()
	for end := time.Now().Add(quiet); ; time.Sleep(50 * time.Millisecond) {
		pending, failed, err := store.Outbox.CountDeliveries(r.Context())
		switch {
		case err != nil:
			r.Fatal(err)
		case failed > 0:
			r.Fatalf("%d webhooks were given up", failed)
		case pending == 0:
			return
		case time.Now().After(end):
			r.Fatalf("%d webhooks are not sent", pending)
		}
	}
}

// check compares what was received with the runs that there are: the end of every run
// arrived, in order for each session, and nothing else.
func (r *receiver) check(store session.Store) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := map[session.Key][]*told{}
	for _, m := range r.messages {
		key := session.Key{App: m.AppName, User: m.UserID, ID: m.SessionID}
		got[key] = append(got[key], m)
	}
	runs := 0
	for _, conv := range r.conversations {
		list, _, err := store.ListRuns(r.Context(), conv.key, session.Page{})
		if err != nil {
			r.Fatal(err)
		}
		runs += len(list)
		r.compare(conv.key, list, got[conv.key])
		delete(got, conv.key)
	}
	for key, list := range got {
		r.Errorf("%v: there is no such session, and %d webhooks of it", key, len(list))
	}
	r.Logf("%d requests with %d webhooks of %d runs", r.requests, len(r.messages), runs)
}

// compare looks at the webhooks of one session.
func (r *receiver) compare(key session.Key, list []*session.Run, got []*told) {
	r.Helper()
	runs := map[string]*session.Run{}
	for _, run := range list {
		runs[run.ID] = run
	}
	seen := map[string]bool{}
	var problems, story []string
	for i, m := range got {
		story = append(story, fmt.Sprintf("%s %s %s %s", m.Timestamp.Format("05.000"), m.Type, m.RunID, m.ID))
		status, run := session.Status(strings.TrimPrefix(m.Type, "run.")), runs[m.RunID]
		switch {
		case run == nil:
			problems = append(problems, fmt.Sprintf("%s of %s: there is no such run", m.Type, m.RunID))
		case !happened(run, status):
			problems = append(problems, fmt.Sprintf("%s of %s, which is %s", m.Type, m.RunID, run.Status))
		case m.Data.ID != m.RunID || m.Data.Status != string(status):
			problems = append(problems, fmt.Sprintf("%s of %s has the run %+v", m.Type, m.RunID, m.Data))
		case seen[m.RunID+m.Type]:
			problems = append(problems, fmt.Sprintf("%s of %s has two ids", m.Type, m.RunID))
		}
		seen[m.RunID+m.Type] = true
		if i > 0 && m.Timestamp.Before(got[i-1].Timestamp) {
			problems = append(problems, fmt.Sprintf("%s of %s arrived after what was later", m.Type, m.RunID))
		}
	}
	for _, run := range list {
		if last := lastTold(run); !seen[run.ID+"run."+string(last)] {
			problems = append(problems, fmt.Sprintf("%s is %s, which no webhook tells", run.ID, last))
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		r.Errorf("webhooks of %v:\n%s\nThey are\n%s", key, strings.Join(problems, "\n"), strings.Join(story, "\n"))
	}
}

// happened reports whether a run has had a status that receivers are told of.
func happened(r *session.Run, status session.Status) bool {
	return status == lastTold(r) || status == session.Waiting && r.Status == session.Cancelled
}

// lastTold is the last status of a run that receivers are told of: that a wait is over
// shows in the run that has answered it.
func lastTold(r *session.Run) session.Status {
	if r.ResumedBy != "" {
		return session.Waiting
	}
	return r.Status
}
