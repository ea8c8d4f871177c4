package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// maxSchedule bounds the body of a schedule, which is stored until it is deleted.
const maxSchedule = 256 << 10

// scheduled refuses requests if the store has no schedules, and checks what the path names.
func (s *Server) scheduled(route func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.Schedules == nil {
			return &httpError{status: http.StatusNotImplemented, message: "The session store of this server does not keep schedules"}
		}
		if err := (session.Key{App: r.PathValue("app"), User: r.PathValue("user")}).CheckOwner(); err != nil {
			return err
		}
		return route(w, r)
	}
}

// scheduleDoc is a schedule in a response.
type scheduleDoc struct {
	ID          string                     `json:"id"`
	AppName     string                     `json:"appName"`
	UserID      string                     `json:"userId"`
	Description string                     `json:"description,omitempty"`
	Cron        string                     `json:"cron,omitempty"`
	TimeZone    string                     `json:"timeZone,omitempty"`
	Interval    int64                      `json:"intervalSeconds,omitempty"`
	At          time.Time                  `json:"at,omitzero"`
	Start       time.Time                  `json:"startAt,omitzero"`
	End         time.Time                  `json:"endAt,omitzero"`
	Message     *event.Content             `json:"newMessage,omitempty"`
	StateDelta  map[string]json.RawMessage `json:"stateDelta,omitempty"`
	Session     string                     `json:"sessionId,omitempty"`
	Concurrency session.Policy             `json:"concurrency,omitempty"`
	Missed      schedule.Missed            `json:"missed"`
	MissedAfter int64                      `json:"missedAfterSeconds"`
	Paused      bool                       `json:"paused"`
	Created     time.Time                  `json:"createdAt"`
	Next        *time.Time                 `json:"nextAt"`
	Upcoming    []time.Time                `json:"upcoming"`
}

func scheduleOf(r *http.Request, one *schedule.Schedule) *scheduleDoc {
	s := &one.Spec
	d := &scheduleDoc{
		ID: one.ID, AppName: r.PathValue("app"), UserID: r.PathValue("user"), Description: s.Description,
		Cron: s.Cron, TimeZone: s.TimeZone, Interval: int64(s.Interval / time.Second), At: s.At, Start: s.Start, End: s.End,
		Message: s.Message, StateDelta: s.StateDelta, Session: s.Session, Concurrency: s.Busy,
		Missed: s.Missed, MissedAfter: int64(s.Grace / time.Second), Paused: s.Paused, Created: one.Created.UTC().Truncate(time.Second), Upcoming: one.Upcoming(),
	}
	if d.Missed == "" {
		d.Missed = schedule.Skip
	}
	if d.MissedAfter == 0 {
		d.MissedAfter = int64(schedule.DefaultGrace / time.Second)
	}
	if !one.Next.IsZero() {
		next := one.Next.UTC()
		d.Next = &next
	}
	return d
}

// readSchedule reads the members of a schedule. null resets one. The id is that of a new schedule.
func readSchedule(doc []byte, spec *schedule.Spec, id *string) error {
	return wire.Decode(doc, func(in *wire.Reader) error {
		return in.Patch(func(name string) error {
			switch name {
			case "id":
				if id == nil {
					return in.Skip()
				}
				return optional(in, id, in.ID)
			case "description":
				return optional(in, &spec.Description, in.String)
			case "cron":
				return optional(in, &spec.Cron, in.String)
			case "timeZone":
				return optional(in, &spec.TimeZone, in.String)
			case "sessionId":
				return optional(in, &spec.Session, in.ID)
			case "concurrency":
				return optional(in, (*string)(&spec.Busy), in.String)
			case "missed":
				return optional(in, (*string)(&spec.Missed), in.String)
			case "paused":
				return optional(in, &spec.Paused, in.Bool)
			case "intervalSeconds":
				return seconds(in, &spec.Interval)
			case "missedAfterSeconds":
				return seconds(in, &spec.Grace)
			case "at":
				return moment(in, &spec.At)
			case "startAt":
				return moment(in, &spec.Start)
			case "endAt":
				return moment(in, &spec.End)
			case "newMessage":
				if spec.Message = nil; in.Null() {
					return nil
				}
				spec.Message = &event.Content{}
				return in.Value(spec.Message)
			case "stateDelta":
				if spec.StateDelta = nil; in.Null() {
					return nil
				}
				return in.RawMap(&spec.StateDelta)
			}
			return in.Skip()
		})
	})
}

// optional reads a value, or resets it if it is null.
func optional[T any](in *wire.Reader, into *T, read func(*T) error) error {
	if in.Null() {
		var zero T
		*into = zero
		return nil
	}
	return read(into)
}

// longestSeconds bounds durations: ten years.
const longestSeconds = 10 * 366 * 24 * 60 * 60

func seconds(in *wire.Reader, into *time.Duration) error {
	var n int64
	if err := optional(in, &n, in.Int); err != nil {
		return err
	}
	if n < 0 || n > longestSeconds {
		return in.Errorf("value_error", "must be between 1 and %d", longestSeconds)
	}
	*into = time.Duration(n) * time.Second
	return nil
}

func moment(in *wire.Reader, into *time.Time) error {
	var text string
	if err := optional(in, &text, in.String); err != nil {
		return err
	}
	*into = time.Time{}
	if text == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return in.Errorf("value_error", "must be a time with its zone, such as 2026-12-01T09:00:00+01:00")
	}
	*into = t
	return nil
}

func (s *Server) createSchedule(w http.ResponseWriter, r *http.Request) error {
	doc, err := bodyUpTo(min(s.MaxBody, maxSchedule), w, r)
	if err != nil {
		return err
	}
	var spec schedule.Spec
	var id string
	if err := readSchedule(doc, &spec, &id); err != nil {
		return err
	}
	if err := checkSharedState(r, spec.StateDelta); err != nil {
		return err
	}
	app := r.PathValue("app")
	if _, err := s.Apps.Agent(app); err != nil {
		return err
	}
	made, err := s.Schedules.Create(r.Context(), app, r.PathValue("user"), id, &spec)
	if err != nil {
		return err
	}
	w.Header().Set("Location", r.URL.EscapedPath()+"/"+url.PathEscape(made.ID))
	return writeStatus(w, http.StatusCreated, scheduleOf(r, made))
}

func (s *Server) patchSchedule(w http.ResponseWriter, r *http.Request) error {
	doc, err := bodyUpTo(min(s.MaxBody, maxSchedule), w, r)
	if err != nil {
		return err
	}
	changed, err := s.Schedules.Change(r.Context(), r.PathValue("app"), r.PathValue("user"), r.PathValue("schedule"), func(spec *schedule.Spec) error {
		if err := readSchedule(doc, spec, nil); err != nil {
			return err
		}
		return checkSharedState(r, spec.StateDelta)
	})
	if err != nil {
		return err
	}
	return writeValue(w, scheduleOf(r, changed))
}

func (s *Server) getSchedule(w http.ResponseWriter, r *http.Request) error {
	one, err := s.Schedules.Get(r.Context(), r.PathValue("app"), r.PathValue("user"), r.PathValue("schedule"))
	if err != nil {
		return err
	}
	return writeValue(w, scheduleOf(r, one))
}

func (s *Server) listSchedules(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	list, err := s.Schedules.List(r.Context(), key.App, key.User)
	if err == nil && len(list) == 0 {
		err = s.reachable(r.Context(), key)
	}
	if err != nil {
		return err
	}
	docs := []*scheduleDoc{}
	for _, one := range list {
		docs = append(docs, scheduleOf(r, one))
	}
	return writeValue(w, docs)
}

func (s *Server) deleteSchedule(w http.ResponseWriter, r *http.Request) error {
	if err := s.Schedules.Delete(r.Context(), r.PathValue("app"), r.PathValue("user"), r.PathValue("schedule")); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

// firingDoc is a firing in a response.
type firingDoc struct {
	Time    time.Time `json:"time"`
	At      time.Time `json:"firedAt,omitzero"`
	Outcome string    `json:"outcome"`
	Manual  bool      `json:"manual"`
	Session string    `json:"sessionId,omitempty"`
	Run     string    `json:"runId,omitempty"`
	Error   string    `json:"error,omitempty"`
}

func firingOf(f *schedule.Fired) *firingDoc {
	return &firingDoc{f.Time.UTC(), f.At.UTC(), f.Outcome, f.Manual, f.Session, f.Run, f.Error}
}

// runSchedule starts what a schedule starts, and does not wait for it.
func (s *Server) runSchedule(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	fired, err := s.Schedules.RunNow(r.Context(), key.App, key.User, r.PathValue("schedule"))
	if err != nil {
		return err
	}
	if key.ID = fired.Session; fired.Run != "" {
		w.Header().Set("Location", runPath(key, fired.Run))
	}
	return writeStatus(w, http.StatusAccepted, firingOf(fired))
}

func (s *Server) listFirings(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Schedules.Firings(r.Context(), r.PathValue("app"), r.PathValue("user"), r.PathValue("schedule"))
	if err != nil {
		return err
	}
	docs := []*firingDoc{}
	for _, f := range list {
		docs = append(docs, firingOf(f))
	}
	return writeValue(w, docs)
}
