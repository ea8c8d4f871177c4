package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// held is a session that a run holds.
type held struct {
	row

	run   int64 // its number
	first int64 // its first entry, 0 for none
}

// held returns the session for the owner of the epoch, and more columns.
func (c *conn) held(key session.Key, epoch int64, columns string, into ...any) (*held, error) {
	if epoch == 0 { // the epoch of sessions without an owner
		return nil, session.ErrFenced
	}
	h := &held{row: row{key: key, epoch: epoch}}
	d := key.Digest()
	err := c.one("SELECT ordinal, seq, rewound, updated, runs.number, runs.first"+columns+
		" FROM sessions JOIN runs ON runs.number = active WHERE digest = ? AND sessions.epoch = ?", []any{d[:], epoch},
		append([]any{&h.ordinal, &h.seq, &h.rewound, &h.updated, &h.run, &h.first}, into...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, session.ErrFenced
	}
	h.active = sql.NullInt64{Int64: h.run, Valid: true}
	return h, err
}

// Append implements session.Leases.
func (s *backend) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	p := newPage(entries)
	var h *held
	err := s.write(ctx, func(c *conn) (err error) {
		if h, err = c.held(key, epoch, ""); err != nil {
			return err
		}
		if err := c.note(h.run, notes); err != nil || len(entries) == 0 {
			return err
		}
		if h.first == 0 {
			if err := c.exec("UPDATE runs SET first = ? WHERE number = ?", h.seq+1, h.run); err != nil {
				return err
			}
		}
		if err := c.append(&h.row, p); err != nil {
			return err
		}
		return c.save(&h.row)
	})
	if err != nil {
		return fmt.Errorf("append to session: %w", err)
	}
	p.number(h.seq - int64(len(entries)))
	s.keep(key, h.ordinal, entries)
	return nil
}

// note writes to the journal of a run.
func (c *conn) note(run int64, notes session.Journal) error {
	for name, value := range notes {
		var err error
		if value == nil {
			err = c.exec("DELETE FROM journal WHERE run = ? AND name = ?", run, name)
		} else {
			err = c.exec("INSERT INTO journal (run, name, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", run, name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// End implements session.Leases.
func (s *backend) End(ctx context.Context, key session.Key, epoch int64, end session.End) (queued bool, err error) {
	if queued, err = s.end(ctx, key, epoch, end); err != nil {
		return false, fmt.Errorf("end run: %w", err)
	}
	return queued, nil
}

func (s *backend) end(ctx context.Context, key session.Key, epoch int64, end session.End) (queued bool, err error) {
	p := &page{}
	if !end.Discard {
		p = newPage(end.Entries)
	}
	usage, err := encodeUsage(end.Usage)
	if err != nil {
		return false, err
	}
	models, err := sessionrt.EncodeModels(end.Models)
	if err != nil {
		return false, err
	}
	var failure []byte
	if end.Failure != nil {
		if failure, err = json.Marshal(end.Failure); err != nil {
			return false, err
		}
	}
	var h *held
	err = s.writeDeliveries(ctx, func(c *conn) (err error) {
		var noted, notify bool
		var id string
		if h, err = c.held(key, epoch, ", runs.id, "+hasNotes+", "+hasSubscriptions+" OR "+hasEndpoints+", "+hasOpen, &id, &noted, &notify, &queued); err != nil {
			return err
		}
		if h.first == 0 && len(p.entries) > 0 {
			h.first = h.seq + 1
		}
		if err := c.append(&h.row, p); err != nil {
			return err
		}
		h.epoch, h.active = 0, sql.NullInt64{}
		if err := c.save(&h.row); err != nil {
			return err
		}
		if end.Discard {
			return c.exec("DELETE FROM runs WHERE number = ?", h.run)
		}
		if noted {
			err = errors.Join(c.exec("DELETE FROM journal WHERE run = ?", h.run), c.exec("DELETE FROM deaths WHERE run = ?", h.run))
		}
		if err == nil {
			err = c.exec("UPDATE runs SET status = ?, failure = ?, usage = ?, models = ?, first = ?, last = ?, resumes = ?, ended = ?, owner = NULL, request = NULL WHERE number = ?",
				string(end.Status), failure, usage, models, h.first, h.seq, end.Resumes, now(), h.run)
		}
		if err == nil {
			err = c.settle(h.ordinal, end.Settled)
		}
		c.use(key, 1, &end.Usage, end.Models)
		if err == nil && notify {
			err = c.addDeliveries(h.ordinal, id, end.Status, end.Trace)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	p.number(h.seq - int64(len(p.entries)))
	s.keep(key, h.ordinal, p.entries)
	return queued, nil
}

// HandOver implements session.Leases.
func (s *backend) HandOver(ctx context.Context, key session.Key, epoch int64) error {
	err := s.write(ctx, func(c *conn) error {
		h, err := c.held(key, epoch, "")
		if err != nil {
			return err
		}
		h.epoch = 0
		if err := c.save(&h.row); err != nil {
			return err
		}
		return c.exec("UPDATE runs SET owner = NULL, lease = 0 WHERE number = ?", h.run)
	})
	if err != nil && !errors.Is(err, session.ErrFenced) { // it may already have another owner
		return fmt.Errorf("hand over run: %w", err)
	}
	return nil
}

// Renew implements session.Leases.
func (s *backend) Renew(ctx context.Context) ([]session.Held, error) {
	var list []session.Held
	err := s.write(ctx, func(c *conn) error {
		list = nil
		if err := c.exec("DELETE FROM deaths WHERE owner = ?", s.owner); err != nil {
			return err
		}
		return c.each(`UPDATE runs SET lease = ? WHERE owner = ? AND status = 'running'
			RETURNING (SELECT app FROM sessions WHERE ordinal = session), (SELECT user FROM sessions WHERE ordinal = session),
				(SELECT sessions.id FROM sessions WHERE ordinal = session), id, epoch, stop`,
			[]any{s.until(), s.owner}, func(scan func(...any) error) error {
				var h session.Held
				err := scan(&h.Key.App, &h.Key.User, &h.Key.ID, &h.Run, &h.Epoch, &h.Stop)
				list = append(list, h)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("renew leases: %w", err)
	}
	return list, nil
}

// StopRun implements session.Runs.
func (s *backend) StopRun(ctx context.Context, key session.Key, id string, how session.Stop) (*session.Run, error) {
	var run *session.Run
	err := s.writeDeliveries(ctx, func(c *conn) error {
		r, err := c.find(key)
		if err != nil {
			return err
		}
		cancelled, err := c.count("UPDATE runs SET status = 'cancelled', ended = ?, request = NULL WHERE session = ? AND id = ? AND status = 'queued'", now(), r.ordinal, id)
		if err != nil {
			return err
		}
		if cancelled > 0 {
			if err := c.addDeliveries(r.ordinal, id, session.Cancelled, ""); err != nil {
				return err
			}
		}
		err = c.exec("UPDATE runs SET stop = ? WHERE session = ? AND id = ? AND status = 'running' AND stop <> 'rollback'", string(how), r.ordinal, id)
		if err != nil {
			return err
		}
		run, err = c.run(key, " FROM runs WHERE session = ? AND id = ?", []any{r.ordinal, id})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stop run: %w", err)
	}
	return run, nil
}
