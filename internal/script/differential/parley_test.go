package differential

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/session"
)

// runParley runs the scenarios on one server.
func runParley(t *testing.T, all []scenario) map[string]*transcript {
	t.Helper()
	seen := &requests{byApp: map[string][]any{}}
	log := slog.New(seen)
	limits := engine.DefaultLimits()
	limits.Turn = time.Minute // a busy machine is not what is tested
	apps, err := script.Load(t.Context(), script.Options{Dir: filepath.Join("testdata", "agents"), Log: log, Limits: &limits, Environ: []string{"REMOTE=" + os.Getenv("REMOTE")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apps.Close)
	results, agents := map[string]*transcript{}, map[string]*agent.Agent{}
	for _, s := range all {
		results[s.Name] = &transcript{}
		root, _, err := apps.Agent(s.Name)
		if err != nil {
			results[s.Name].Events = []any{map[string]any{"failed": err.Error()}}
			continue
		}
		agents[s.Name] = root
	}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: agents, Log: log, Logins: parley.LoginConfig{Call: parley.LoginCallADK}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.WithoutCancel(t.Context())) })
	for _, s := range all {
		if agents[s.Name] != nil {
			converse(t, srv, s, results[s.Name])
		}
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for name, tr := range results {
		tr.Requests = seen.byApp[name]
	}
	return results
}

// converse has one conversation.
func converse(t *testing.T, srv *parley.Server, s scenario, tr *transcript) {
	t.Helper()
	key := session.Key{App: s.Name, User: "u", ID: "s"}
	var state session.State
	if s.State != nil {
		if err := json.Unmarshal(s.State, &state); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := srv.Sessions().Create(t.Context(), parley.NewSession{Key: key, State: state}); err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{} // the ids of the latest calls
	for _, turn := range s.Turns {
		message := event.Text(event.RoleUser, turn.Text)
		if turn.Answers != "" {
			message.Parts = []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: calls[turn.Answers], Name: turn.Answers, Response: turn.Response}}}
		}
		for ev, err := range srv.Stream(t.Context(), parley.Request{App: s.Name, User: "u", Session: "s", Message: message, Stream: s.Stream}) {
			if err != nil {
				tr.Events = append(tr.Events, map[string]any{"failed": err.Error()})
				continue
			}
			for _, call := range ev.FunctionCalls() {
				calls[call.Name] = call.ID
			}
			tr.Events = append(tr.Events, document(t, ev))
		}
	}
	sess, err := srv.Sessions().Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	tr.State = document(t, sess.State)
}

// document is a value as decoded JSON.
func document(t *testing.T, v any) (doc any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// requests is a log that keeps the requests that models write to the console.
type requests struct {
	mu    sync.Mutex
	byApp map[string][]any
}

// Enabled is for slog.Handler.
func (r *requests) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs is for slog.Handler. No logger of the console has attributes.
func (r *requests) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup is for slog.Handler.
func (r *requests) WithGroup(string) slog.Handler { return r }

// Handle is for slog.Handler.
func (r *requests) Handle(_ context.Context, rec slog.Record) error {
	if rec.Message != "console" {
		return nil
	}
	var app, text string
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "app":
			app = a.Value.String()
		case "text":
			text = a.Value.String()
		}
		return true
	})
	doc, ok := strings.CutPrefix(text, "REQUEST ")
	if !ok {
		return nil
	}
	var req any
	if err := json.Unmarshal([]byte(doc), &req); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byApp[app] = append(r.byApp[app], req)
	return nil
}
