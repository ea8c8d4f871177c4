package parley

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
)

// openSchedules starts what starts the runs of schedules.
func (s *Server) openSchedules() {
	if s.store.Schedules == nil {
		return
	}
	starter := scheduled{s}
	s.schedules = &schedule.Service{Store: s.store.Schedules, Starter: starter}
	runs := s.cfg.Limits.ScheduledRuns
	if runs == 0 {
		runs = 16
	}
	if runs < 0 || s.cfg.Sessions.Passive {
		return
	}
	s.scheduler = schedule.Run(schedule.Options{Store: s.store.Schedules, Starter: starter, Runs: runs, Log: s.cfg.Log})
}

// scheduled starts runs for schedules.
type scheduled struct{ *Server }

// Start implements schedule.Starter.
func (s scheduled) Start(ctx context.Context, start schedule.Start) (string, func(context.Context), error) {
	id, wait, err := s.startScheduled(ctx, start)
	if errors.Is(err, run.ErrClosing) {
		err = &session.UnavailableError{Cause: err}
	}
	if err != nil {
		return "", nil, &scheduledError{server.Message(err, start.Key), err}
	}
	return id, wait, nil
}

// scheduledError is an error with a message for the user.
type scheduledError struct {
	message string
	cause   error
}

func (e *scheduledError) Error() string { return e.message }
func (e *scheduledError) Unwrap() error { return e.cause }

func (s scheduled) startScheduled(ctx context.Context, start schedule.Start) (string, func(context.Context), error) {
	if _, err := s.apps.Agent(start.Key.App); err != nil {
		return "", nil, err
	}
	if _, err := s.engine.Create(ctx, session.NewSession{Key: start.Key}, nil); err != nil && !errors.Is(err, session.ErrExists) {
		return "", nil, err
	}
	if start.Spec.Message == nil {
		_, err := s.engine.Patch(ctx, start.Key, start.Spec.StateDelta)
		return "", nil, err
	}
	busy := start.Spec.Busy
	if busy == "" {
		busy = s.cfg.Sessions.OnBusy
	}
	at := start.Time.UTC().Format(time.RFC3339Nano)
	mark, err := json.Marshal(map[string]string{"id": start.Schedule, "time": at})
	if err != nil {
		return "", nil, err
	}
	started, err := s.engine.Start(ctx, run.Request{
		Key: start.Key, Message: start.Spec.Message, StateDelta: start.Spec.StateDelta, Busy: busy, SaveFiles: s.cfg.Artifacts.SaveInput,
		// The run of a firing is the same even if the schedule is changed between two attempts.
		IdempotencyKey: "schedule " + start.Schedule + " " + at, Fingerprint: "schedule",
		MessageMetadata: map[string]json.RawMessage{"parley:schedule": mark},
	})
	if err != nil {
		return "", nil, err
	}
	return started.ID(), func(ctx context.Context) { _, _ = started.Wait(ctx) }, nil
}
