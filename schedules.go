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
	s.scheduler = schedule.Run(schedule.Options{Store: s.store.Schedules, Starter: starter, Runs: runs, Log: s.cfg.Log, Observer: s.telemetry, Missed: s.scheduleMissed})
}

// scheduled starts runs for schedules.
type scheduled struct{ *Server }

// Start implements schedule.Starter.
func (s scheduled) Start(ctx context.Context, start schedule.Start) (string, func(context.Context), error) {
	id, wait, err := s.startScheduled(ctx, start)
	if err != nil {
		told := &scheduledError{server.Message(err, start.Key), err}
		limited, ok := errors.AsType[*run.LimitError](err)
		soon := ok && limited.After <= time.Minute // not the next day
		if soon || errors.Is(err, run.ErrClosing) || errors.Is(err, session.ErrQueueFull) {
			told.cause = &session.UnavailableError{Cause: err}
		}
		return "", nil, told
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
	if start.Spec.Answers() { // it was stored before such messages were refused
		return "", nil, start.Spec.Check()
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
	mark, err := json.Marshal(map[string]string{"id": start.Schedule, "time": timeOf(start)})
	if err != nil {
		return "", nil, err
	}
	started, err := s.engine.Start(ctx, run.Request{
		Key: start.Key, Message: start.Spec.Message, StateDelta: start.Spec.StateDelta, Busy: busy, SaveFiles: s.cfg.Artifacts.SaveInput,
		IdempotencyKey: idempotencyKey(start), Fingerprint: scheduleFingerprint,
		MessageMetadata: map[string]json.RawMessage{"parley:schedule": mark},
	})
	if err != nil {
		return "", nil, err
	}
	return started.ID(), func(ctx context.Context) { _, _ = started.Wait(ctx) }, nil
}

// scheduleFingerprint is the same for all: the run of a firing is the same even if the
// schedule is changed between two attempts.
const scheduleFingerprint = "schedule"

func timeOf(start schedule.Start) string { return start.Time.UTC().Format(time.RFC3339Nano) }

func idempotencyKey(start schedule.Start) string {
	return "schedule " + start.Schedule + " " + timeOf(start)
}

// Started implements schedule.Starter.
func (s scheduled) Started(ctx context.Context, start schedule.Start) (string, error) {
	found, err := s.store.Look(ctx, session.NewRun{Key: start.Key, IdempotencyKey: idempotencyKey(start), Fingerprint: scheduleFingerprint})
	switch {
	case errors.Is(err, session.ErrNotFound):
		return "", nil
	case err != nil || found == nil:
		return "", err
	}
	return found.ID, nil
}
