package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// Replays repeats runs.
type Replays interface {
	Recording(ctx context.Context, key session.Key, run string) (*replay.Recording, error)
	Replay(ctx context.Context, key session.Key, run, id string, plan replay.Plan) (*replay.Report, error)
	// Spans rebuilds the spans of the recorded runs of a session that are not known, each as JSON, with or without the
	// content of messages.
	Spans(ctx context.Context, key session.Key, content bool, known map[string]bool) ([]json.RawMessage, error)
}

// runRecording returns what is known of the calls of models and tools in a run.
func (s *Server) runRecording(w http.ResponseWriter, r *http.Request) error {
	key, id, err := runKey(r)
	if err != nil {
		return err
	}
	if _, err := s.Engine.Run(r.Context(), key, id); err != nil {
		return err
	}
	recording, err := s.Replays.Recording(r.Context(), key, id)
	if err != nil {
		return err
	}
	return writeValue(w, recording)
}

// replayRun repeats a run. It ends with the request.
func (s *Server) replayRun(w http.ResponseWriter, r *http.Request) error {
	key, id, err := runKey(r)
	if err != nil {
		return err
	}
	var plan replay.Plan
	if err := s.readPlan(w, r, &plan); err != nil {
		return err
	}
	if _, err := s.Engine.Run(r.Context(), key, id); err != nil {
		return err
	}
	report, err := s.Replays.Replay(r.Context(), key, id, ident.Session(), plan)
	if err != nil {
		return err
	}
	return writeValue(w, report)
}

// readPlan reads the body, which may be missing.
func (s *Server) readPlan(w http.ResponseWriter, r *http.Request, plan *replay.Plan) error {
	doc, err := s.body(w, r)
	if err != nil || doc == nil {
		return err
	}
	if err := json.Unmarshal(doc, plan); err != nil {
		return &replay.PlanError{Message: "The plan cannot be read: " + strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}

func writeValue(w http.ResponseWriter, v any) error { return writeStatus(w, http.StatusOK, v) }

// writeStatus is like writeValue with another status.
func writeStatus(w http.ResponseWriter, status int, v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	writeJSON(w, status, doc)
	return nil
}
