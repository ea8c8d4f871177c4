package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/session"
)

// The types of messages. Those of runs are a prefix and the status.
const (
	runPrefix      = "run."
	Completed      = runPrefix + string(session.Completed)
	Waiting        = runPrefix + string(session.Waiting)
	Failed         = runPrefix + string(session.Failed)
	Cancelled      = runPrefix + string(session.Cancelled)
	ScheduleMissed = "schedule.missed"
	BudgetReached  = "budget.reached"
	InboxEscalated = "inbox.escalated"
	// Test is sent when an operator asks for it, also to those who do not want it.
	Test = "webhook.test"
)

// Types are the types that a receiver can choose from.
var Types = []string{Completed, Waiting, Failed, Cancelled, ScheduleMissed, BudgetReached, InboxEscalated}

// config is what is stored of a receiver. It is sealed in the store.
type config struct {
	URL         string   `json:"url"`
	Description string   `json:"description,omitempty"`
	Events      []string `json:"events,omitempty"` // empty means all
	Secret      string   `json:"secret,omitempty"`
	// Old is the secret before Secret, which also signs until Until.
	Old   string    `json:"old,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

func (c *config) wants(typ string) bool {
	return len(c.Events) == 0 || typ == Test || slices.Contains(c.Events, typ)
}

// message returns what is sent about a delivery.
func (c *config) message(d *session.Delivery, typ string, data json.RawMessage) (*outbox.Message, error) {
	id := messageID(d)
	body, err := json.Marshal(payload{
		ID: id, Type: typ, Timestamp: d.At.UTC().Truncate(time.Millisecond),
		AppName: d.Key.App, UserID: d.Key.User, SessionID: d.Key.ID, RunID: d.Run, Data: data,
	})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var secrets []string
	if c.Secret != "" {
		secrets = append(secrets, c.Secret)
	}
	if c.Old != "" && now.Before(c.Until) {
		secrets = append(secrets, c.Old)
	}
	return &outbox.Message{URL: c.URL, Header: sign(id, now, body, secrets...), Body: body}, nil
}

// payload is the body of a request to a receiver.
type payload struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	AppName   string          `json:"appName"`
	UserID    string          `json:"userId,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	RunID     string          `json:"runId,omitempty"`
	Data      json.RawMessage `json:"data"`
}

// messageID returns an id that is the same in all attempts, and unlike that of any other
// delivery. The number alone begins again with each process that has its store in memory.
func messageID(d *session.Delivery) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %q %q %q %q %d", d.ID, d.Number, d.Key.App, d.Key.User, d.Key.ID, d.Run, d.Status, d.Notice, d.At.UnixMicro()))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// compose makes the message of a subscription of an application.
func (s *Service) compose(ctx context.Context, d *session.Delivery, doc []byte) (*outbox.Message, error) {
	var c config
	if err := json.Unmarshal(doc, &c); err != nil {
		return nil, err
	}
	if d.Type != "" {
		if !c.wants(d.Type) {
			return nil, nil
		}
		return c.message(d, d.Type, d.JSON)
	}
	typ := runPrefix + string(d.Status)
	if !c.wants(typ) {
		return nil, nil
	}
	data, err := s.runData(ctx, d)
	if data == nil || err != nil {
		return nil, err
	}
	return c.message(d, typ, data)
}

// abandoned is when a receiver of a run that was never started is deleted.
const abandoned = time.Hour

// composeRun makes the message of the receiver of a single run, whose id is the label.
func (s *Service) composeRun(ctx context.Context, d *session.Delivery, doc []byte) (*outbox.Message, error) {
	var c config
	if err := json.Unmarshal(doc, &c); err != nil {
		return nil, err
	}
	if d.Run != d.Label {
		// What it has to be told was sent before, unless it waits or has not ended.
		r, err := s.engine.Run(ctx, d.Key, d.Label)
		if err == nil && r.Status.Ended() && r.Status != session.Waiting || errors.Is(err, session.ErrRunNotFound) && time.Since(d.Created) > abandoned {
			return nil, outbox.ErrOver
		}
		return nil, nil
	}
	if d.Status == session.Running {
		return nil, nil
	}
	last := d.Status != session.Waiting
	typ := runPrefix + string(d.Status)
	var m *outbox.Message
	if c.wants(typ) {
		data, err := s.runData(ctx, d)
		if err != nil {
			return nil, err
		}
		if data != nil {
			if m, err = c.message(d, typ, data); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case m != nil:
		m.Last = last
	case last:
		return nil, outbox.ErrOver
	}
	return m, nil
}

// question is something that a run waits for.
type question struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Kind    face.QuestionKind `json:"kind,omitempty"`
	Message string            `json:"message,omitempty"`
	Tool    string            `json:"tool,omitempty"`
}

// runData returns the run object of a delivery, as it was when it was added, and what the
// run waits for. It is nil if there is no such run any more.
func (s *Service) runData(ctx context.Context, d *session.Delivery) (json.RawMessage, error) {
	stored, err := s.engine.Run(ctx, d.Key, d.Run)
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrRunNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := *stored
	if r.Status != d.Status {
		r.Status, r.Failure, r.ResumedBy = d.Status, nil, ""
	}
	data := document.Run(nil, &r)
	if r.Status != session.Waiting {
		return data, nil
	}
	open, err := s.engine.OpenCalls(ctx, d.Key)
	if err != nil {
		return nil, err
	}
	list := []question{}
	for _, call := range open {
		if call.Run != d.Run {
			continue
		}
		one := question{ID: call.ID, Name: call.Name}
		if q := face.QuestionIn(call); q != nil {
			one.Kind, one.Message, one.Tool = q.Kind, q.Message, q.Tool
		}
		list = append(list, one)
	}
	more, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	data = append(data[:len(data)-1], `,"waitingFor":`...)
	return append(append(data, more...), '}'), nil
}
