package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

const runColumns = "number, id, status, stop, epoch, attempt, first, last, resumes, resumed_by, failure, usage, models, request, created, ended, coalesce(runs.owner, '')"

// scanRun scans the columns of a run, and those that follow them.
func scanRun(key session.Key, scan func(...any) error, more ...any) (*session.Run, error) {
	r := &session.Run{Key: key}
	var failure, usage, models []byte
	var created, ended int64
	var owner string
	err := scan(append([]any{
		&r.Number, &r.ID, &r.Status, &r.Stop, &r.Epoch, &r.Attempt, &r.First, &r.Last, &r.Resumes, &r.ResumedBy,
		&failure, &usage, &models, &r.Request, &created, &ended, &owner,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	r.Created, r.Ended = moment(created), moment(ended)
	_, r.Worker, _ = strings.Cut(owner, "\n")
	if failure != nil {
		if err := json.Unmarshal(failure, &r.Failure); err != nil {
			return nil, fmt.Errorf("failure of the run %s: %w", r.ID, err)
		}
	}
	if r.Usage, err = decodeUsage(usage); err != nil {
		return nil, fmt.Errorf("usage of the run %s: %w", r.ID, err)
	}
	if r.Models, err = sessionrt.DecodeModels(models); err != nil {
		return nil, fmt.Errorf("usage of the run %s by model: %w", r.ID, err)
	}
	return r, nil
}

// encodeUsage encodes the usage as a member of an event, like everywhere else.
func encodeUsage(u event.Usage) ([]byte, error) {
	return (&event.Event{Usage: &u}).AppendJSON(nil)
}

func decodeUsage(text []byte) (event.Usage, error) {
	ev := event.Event{}
	if text == nil {
		return event.Usage{}, nil
	}
	if err := ev.UnmarshalJSON(text); err != nil || ev.Usage == nil {
		return event.Usage{}, err
	}
	return *ev.Usage, nil
}

// run returns the run of a session that the rest of the query selects.
func (c *conn) run(key session.Key, where string, args []any, more ...any) (*session.Run, error) {
	var found *session.Run
	err := c.each("SELECT "+runColumns+where, args, func(scan func(...any) error) (err error) {
		found, err = scanRun(key, scan, more...)
		return err
	})
	if err == nil && found == nil {
		err = session.ErrRunNotFound
	}
	return found, err
}

// Expressions about a session, for statements that read it: each takes less than a
// statement of its own (BenchmarkTurn).
const (
	// hasOpen is about other runs than the running one.
	hasOpen          = "EXISTS (SELECT 1 FROM runs AS other WHERE other.session = ordinal AND other.status IN ('queued', 'running') AND other.number IS NOT active)"
	hasSubscriptions = "EXISTS (SELECT 1 FROM subscriptions WHERE subscriptions.session = ordinal)"
	hasEndpoints     = "EXISTS (SELECT 1 FROM endpoints WHERE endpoints.app = sessions.app)"
	hasNotes         = "EXISTS (SELECT 1 FROM journal WHERE run = active) OR EXISTS (SELECT 1 FROM deaths WHERE run = active)"
)

// firstOpen names both statuses because its index does.
const firstOpen = " FROM runs WHERE session = ? AND status IN ('queued', 'running') ORDER BY number LIMIT 1"

// open returns the run that blocks a new one, and the expiry of its lease: the
// running one, or the first queued one. It fails with session.ErrRunNotFound if the
// session is free.
func (c *conn) open(r *row) (run *session.Run, lease int64, err error) {
	if r.active.Valid {
		run, err = c.run(r.key, ", lease FROM runs WHERE number = ?", []any{r.active.Int64}, &lease)
	} else {
		run, err = c.run(r.key, ", lease"+firstOpen, []any{r.ordinal}, &lease)
	}
	return run, lease, err
}

// Begin implements session.Runs.
func (s *backend) Begin(ctx context.Context, req session.NewRun) (*session.Begun, error) {
	begun, err := s.begin(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("begin run: %w", err)
	}
	return begun, nil
}

func (s *backend) begin(ctx context.Context, req session.NewRun) (*session.Begun, error) {
	var request []byte
	if req.Request != nil {
		var err error
		if request, err = req.Request(); err != nil {
			return nil, err
		}
	}
	p := &page{}
	if req.Message != nil {
		p = newPage([]*session.Entry{req.Message})
	}
	known, err := s.ahead(ctx, req.Key, req.Read, func(_ *conn, r *row) bool { return !r.active.Valid })
	if err != nil {
		return nil, err
	}
	var b *session.Begun
	err = s.writeDeliveries(ctx, func(c *conn) error {
		var open, notify bool
		r, err := c.findWith(req.Key, ", "+hasOpen+", "+hasSubscriptions, &open, &notify)
		if err != nil {
			return err
		}
		if b, err = c.repeated(r, req); b != nil || err != nil {
			return err
		}
		if !open && !r.active.Valid {
			b, err = s.start(c, r, req, request, p, known.rest(), notify)
			return err
		}
		busy, _, err := c.open(r)
		if err == nil {
			err = c.makeWay(r, req, busy)
		}
		if err != nil {
			return err
		}
		b = &session.Begun{}
		b.Run, err = c.addRun(r, req, request, &session.Run{Status: session.Queued}, nil, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	if b.Session != nil {
		p.number(b.Session.Seq)
		s.keep(req.Key, b.Session.Ordinal, p.entries)
		known.complete(b.Session)
	}
	return b, nil
}

// repeated returns the run of an earlier request, if this one repeats it.
func (c *conn) repeated(r *row, req session.NewRun) (*session.Begun, error) {
	if req.IdempotencyKey == "" {
		return nil, nil
	}
	fingerprint := ""
	run, err := c.run(r.key, ", fingerprint FROM runs WHERE session = ? AND idempotency = ?", []any{r.ordinal, req.IdempotencyKey}, &fingerprint)
	switch {
	case errors.Is(err, session.ErrRunNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case fingerprint != req.Fingerprint:
		return nil, session.ErrReused
	}
	return &session.Begun{Run: run, Repeat: true}, nil
}

// makeWay applies the policy of a new run to earlier runs.
func (c *conn) makeWay(r *row, req session.NewRun, busy *session.Run) error {
	if err := c.mayWait(r, req, busy); err != nil {
		return err
	}
	stop := session.StopCancel
	switch req.Busy {
	case session.Rollback:
		stop = session.StopRollback
	case session.Interrupt:
	default:
		return nil
	}
	err := c.exec("UPDATE runs SET stop = ? WHERE session = ? AND status = 'running' AND stop <> 'rollback'", string(stop), r.ordinal)
	if err != nil {
		return err
	}
	if err := c.addQueuedDeliveries(r.ordinal); err != nil {
		return err
	}
	return c.exec("UPDATE runs SET status = 'cancelled', ended = ?, request = NULL WHERE session = ? AND status = 'queued'", now(), r.ordinal)
}

// mayJoin refuses to exceed the queue limit of a session.
func (c *conn) mayJoin(r *row, most int) error {
	if most <= 0 {
		return nil
	}
	var queued int
	err := c.one("SELECT count(*) FROM runs WHERE session = ? AND status IN ('queued', 'running') AND status = 'queued'", []any{r.ordinal}, &queued)
	if err == nil && queued >= most {
		err = session.ErrQueueFull
	}
	return err
}

// addRun inserts a run with the status of run.
func (c *conn) addRun(r *row, req session.NewRun, request []byte, run *session.Run, owner any, lease int64) (*session.Run, error) {
	at := now()
	run.ID, run.Key, run.Request, run.Created = req.ID, req.Key, request, moment(at)
	user, listed := r.key.OwnerDigest(), ""
	if !r.key.Hidden() {
		listed = r.key.App
	}
	result, err := c.change(`INSERT INTO runs (session, id, status, epoch, attempt, first, owner, lease, request, idempotency, fingerprint, created, list_app, list_user)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ordinal, run.ID, string(run.Status), run.Epoch, run.Attempt, run.First, owner, lease, request,
		sql.NullString{String: req.IdempotencyKey, Valid: req.IdempotencyKey != ""}, req.Fingerprint, at, listed, user[:])
	if code(err) == lib.SQLITE_CONSTRAINT { // of id: other unique values were checked before
		return nil, session.ErrRunExists
	}
	if err != nil {
		return nil, err
	}
	run.Number, err = result.LastInsertId()
	return run, err
}

// start begins a run in a free session, with its message. notify is whether the session
// has subscriptions.
func (s *backend) start(c *conn, r *row, req session.NewRun, request []byte, p *page, read session.Read, notify bool) (*session.Begun, error) {
	before, err := c.snapshot(r, read)
	if err != nil {
		return nil, err
	}
	run := &session.Run{Status: session.Running, Attempt: 1}
	if run.Epoch, err = c.nextEpoch(); err != nil {
		return nil, err
	}
	if len(p.entries) > 0 {
		run.First = r.seq + 1
	}
	if run, err = c.addRun(r, req, request, run, s.owner, s.until()); err != nil {
		return nil, err
	}
	if err := c.append(r, p); err != nil {
		return nil, err
	}
	r.epoch, r.active = run.Epoch, sql.NullInt64{Int64: run.Number, Valid: true}
	if notify {
		if err := c.addDeliveries(r.ordinal, run.ID, run.Status, ""); err != nil {
			return nil, err
		}
	}
	return &session.Begun{Run: run, Session: before}, c.save(r)
}

// nextEpoch returns an epoch greater than all before. The transaction stores the last
// one when it is committed.
func (c *conn) nextEpoch() (epoch int64, err error) {
	if c.epoch == 0 {
		if err := c.one("SELECT last FROM epochs", nil, &c.epoch); err != nil {
			return 0, err
		}
	}
	c.epoch++
	return c.epoch, nil
}

// valid reports whether a lease that ends at the given time has not expired. See
// session.MaxLease.
func valid(lease int64) bool {
	left := lease - now()
	return left > 0 && left <= int64(session.MaxLease)
}

// until returns the expiry of a lease that begins now.
func (s *backend) until() int64 { return now() + int64(s.lease) }

// Claim implements session.Leases.
func (s *backend) Claim(ctx context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	begun, err := s.claim(ctx, key, read)
	if err != nil {
		return nil, fmt.Errorf("claim run: %w", err)
	}
	return begun, nil
}

func (s *backend) claim(ctx context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	known, err := s.ahead(ctx, key, read, func(c *conn, r *row) bool { _, err := c.claimable(r); return err == nil })
	if err != nil {
		return nil, err
	}
	var b *session.Begun
	err = s.writeDeliveries(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		run, err := c.claimable(r)
		if err != nil {
			return err
		}
		b, err = s.take(c, r, run, known.rest())
		return err
	})
	if err != nil {
		return nil, err
	}
	known.complete(b.Session)
	return b, nil
}

// claimable returns the run that Claim takes. It fails with session.ErrIdle if
// there is none.
func (c *conn) claimable(r *row) (*session.Run, error) {
	run, lease, err := c.open(r)
	if errors.Is(err, session.ErrRunNotFound) || err == nil && run.Status == session.Running && valid(lease) {
		return nil, session.ErrIdle
	}
	return run, err
}

// take makes an existing run the session's running one, owned by this store's
// owner.
func (s *backend) take(c *conn, r *row, run *session.Run, read session.Read) (*session.Begun, error) {
	b := &session.Begun{Run: run}
	var err error
	if b.Session, err = c.snapshot(r, read); err != nil {
		return nil, err
	}
	if b.Journal, err = c.journal(run.Number); err != nil {
		return nil, err
	}
	if run.Epoch, err = c.nextEpoch(); err != nil {
		return nil, err
	}
	if run.Status == session.Running {
		if b.Deaths, err = c.countDeath(run.Number, s.owner); err != nil {
			return nil, err
		}
	} else if err := c.addDeliveries(r.ordinal, run.ID, session.Running, ""); err != nil {
		return nil, err
	}
	run.Status = session.Running
	run.Attempt++
	err = c.exec("UPDATE runs SET status = 'running', epoch = ?, attempt = ?, owner = ?, lease = ? WHERE number = ?",
		run.Epoch, run.Attempt, s.owner, s.until(), run.Number)
	if err != nil {
		return nil, err
	}
	r.epoch, r.active = run.Epoch, sql.NullInt64{Int64: run.Number, Valid: true}
	return b, c.save(r)
}

// countDeath records the previous owner of a run that was not handed over, unless
// it is the one that claims it, and returns the number of such owners.
func (c *conn) countDeath(run int64, by string) (count int, err error) {
	err = c.exec("INSERT INTO deaths (owner, run) SELECT owner, number FROM runs WHERE number = ? AND owner <> ? ON CONFLICT DO NOTHING", run, by)
	if err == nil {
		err = c.one("SELECT count(*) FROM deaths WHERE run = ?", []any{run}, &count)
	}
	return count, err
}

// journal returns the notes of a run.
func (c *conn) journal(number int64) (session.Journal, error) {
	var j session.Journal
	err := c.each("SELECT name, value FROM journal WHERE run = ?", []any{number}, func(scan func(...any) error) error {
		var name string
		var value []byte
		if err := scan(&name, &value); err != nil {
			return err
		}
		if j == nil {
			j = session.Journal{}
		}
		j[name] = append([]byte{}, value...) // an empty value is not nil
		return nil
	})
	return j, err
}
