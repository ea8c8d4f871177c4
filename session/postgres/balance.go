package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

const (
	// Slots that are moved together have at most this many sessions, unless it is one
	// slot. Their users wait for the transactions.
	mostMoved = 100

	slotExpression = `get_byte(owner, 0) * 16 + get_byte(owner, 1) / 16`

	sqlCrowd = `SELECT ` + slotExpression + `, count(*) FROM parley_sessions GROUP BY 1`
	sqlUsers = `SELECT app, usr FROM parley_usage UNION SELECT app, usr FROM parley_usage_log`

	// $1 owner. Runs that are in neither database for a moment are still held.
	sqlMovingRuns = `SELECT s.body::json->>'app', s.body::json->>'usr', s.body::json->>'id', r.body::json->>'id', (r.body::json->>'epoch')::bigint, r.body::json->>'stop'
		FROM parley_moving r JOIN parley_moving s ON s.slot = r.slot AND s.kind = 'parley_sessions' AND s.body::json->>'ordinal' = r.body::json->>'session'
		WHERE r.kind = 'parley_runs' AND r.body::json->>'status' = 'running' AND r.body::json->>'owner' = $1::text`
)

// movingRuns returns the runs of this owner that have left the database and may not
// have arrived.
func (s *backend) movingRuns(ctx context.Context) (held []session.Held, err error) {
	err = s.read(ctx, "reading the runs that move", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlMovingRuns, s.owner)
		if err != nil {
			return err
		}
		held, err = pgx.CollectRows(rows, scanHeld)
		return err
	})
	return held, err
}

// step is a part of a move: slots from one database to another.
type step struct {
	from, to *backend
	slots    []int32
	sessions int64
}

// placeNew spreads the slots of a store without users over its databases.
func (m *many) placeNew(ctx context.Context) error {
	if len(m.unknown) > 0 {
		return nil // there are others
	}
	for _, s := range m.members {
		if occupied, err := s.occupied(ctx); err != nil || occupied {
			return err
		}
	}
	steps, err := m.plan(ctx, true)
	for _, one := range steps {
		if err := m.move(ctx, one, nil); err != nil {
			return err
		}
	}
	return err
}

// plan returns what has to move so that every slot is in the database that its hash
// chooses. together says that steps may be of any size.
func (m *many) plan(ctx context.Context, together bool) ([]step, error) {
	names := make([]string, len(m.members))
	crowds := map[*backend]map[int32]int64{}
	for i, s := range m.members {
		names[i] = s.member.name
		crowd := map[int32]int64{}
		err := s.read(ctx, "counting sessions", func(ctx context.Context, conn *pgxpool.Conn) error {
			rows, err := conn.Query(ctx, sqlCrowd)
			if err != nil {
				return err
			}
			var slot int32
			var n int64
			_, err = pgx.ForEachRow(rows, []any{&slot, &n}, func() error { crowd[slot] = n; return nil })
			return err
		})
		if err != nil {
			return nil, err
		}
		crowds[s] = crowd
	}
	type way struct{ from, to *backend }
	open := map[way]*step{}
	var steps []*step
	for slot := range int32(slots) {
		from, err := m.home(slot)
		if err != nil {
			return nil, err
		}
		to := m.byName[choose(slot, names)]
		if from == to {
			continue
		}
		n := crowds[from][slot]
		s := open[way{from, to}]
		if s == nil || !together && s.sessions+n > mostMoved {
			s = &step{from: from, to: to}
			open[way{from, to}] = s
			steps = append(steps, s)
		}
		s.slots, s.sessions = append(s.slots, slot), s.sessions+n
	}
	list := make([]step, len(steps))
	for i, s := range steps {
		list[i] = *s
	}
	return list, nil
}

// move moves the slots of a step.
func (m *many) move(ctx context.Context, one step, usage map[user]int32) error {
	if err := one.to.Ready(ctx); err != nil { // before its users leave
		return fmt.Errorf("the database %q: %w", one.to.member.name, err)
	}
	wanted := map[user]int32{}
	for u, slot := range usage {
		if slices.Contains(one.slots, slot) {
			wanted[u] = slot
		}
	}
	if err := one.from.leave(ctx, one.slots, one.to.member.name, wanted); err != nil {
		return fmt.Errorf("moving users from the database %q: %w", one.from.member.name, err)
	}
	if err := one.to.arrive(ctx, one.slots, one.from); err != nil {
		return fmt.Errorf("moving users to the database %q: %w", one.to.member.name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, slot := range one.slots {
		m.set(slot, location{Name: one.to.member.name, Hop: -1})
	}
	return nil
}

// usersWithUsage returns all users with usage, who need not have sessions.
func (s *backend) usersWithUsage(ctx context.Context) (users map[user]int32, err error) {
	err = s.read(ctx, "reading usage", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlUsers)
		if err != nil {
			return err
		}
		users = map[user]int32{}
		var one user
		_, err = pgx.ForEachRow(rows, []any{&one.app, &one.name}, func() error {
			users[one] = slotOf(session.Key{App: one.app, User: one.name})
			return nil
		})
		return err
	})
	return users, err
}

// finish completes moves that were interrupted.
func (m *many) finish(ctx context.Context) error {
	known := map[*backend]map[int32]location{}
	for _, s := range m.members {
		all, err := s.allSlots(ctx)
		if err != nil {
			return err
		}
		known[s] = all
	}
	for _, from := range m.members {
		rest, err := from.movingSlots(ctx)
		if err != nil {
			return err
		}
		left := map[*backend][]int32{}
		for slot, w := range known[from] {
			if to := m.byName[w.Name]; !w.Here && to != nil && (known[to][slot].Hop < w.Hop || rest[slot]) {
				left[to] = append(left[to], slot)
			}
		}
		for to, list := range left {
			slices.Sort(list)
			if err := to.arrive(ctx, list, from); err != nil {
				return fmt.Errorf("moving users to the database %q: %w", to.member.name, err)
			}
		}
	}
	return m.load(ctx)
}

// movingSlots returns the slots of which something is left from a move.
func (s *backend) movingSlots(ctx context.Context) (found map[int32]bool, err error) {
	err = s.read(ctx, "reading what moves", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, `SELECT DISTINCT slot FROM parley_moving`)
		if err != nil {
			return err
		}
		found = map[int32]bool{}
		var slot int32
		_, err = pgx.ForEachRow(rows, []any{&slot}, func() error { found[slot] = true; return nil })
		return err
	})
	return found, err
}

// moveUsers moves the users whose place changes when databases are added to a list, and
// completes moves that were interrupted. Servers may use the databases at the same time,
// if all of them know the whole list.
func moveUsers(ctx context.Context, list string, o session.Options, progress func(session.Moved)) (total session.Moved, err error) {
	m, err := openMany(ctx, sessionrt.URLs(list), o)
	if err != nil {
		return total, err
	}
	defer func() { _ = m.Close() }()
	ctx = session.Insist(ctx)
	if err := m.finish(ctx); err != nil {
		return total, err
	}
	steps, err := m.plan(ctx, false)
	if err != nil {
		return total, err
	}
	for _, one := range steps {
		total.Slots += len(one.slots)
		total.Sessions += one.sessions
	}
	usage := map[*backend]map[user]int32{}
	for _, one := range steps {
		if usage[one.from] == nil {
			if usage[one.from], err = one.from.usersWithUsage(ctx); err != nil {
				return total, err
			}
		}
		if err := m.move(ctx, one, usage[one.from]); err != nil {
			return total, err
		}
		total.DoneSlots += len(one.slots)
		total.DoneSessions += one.sessions
		if progress != nil {
			progress(total)
		}
	}
	for _, s := range m.members {
		held := 0
		for slot := range int32(slots) {
			if home, _ := m.home(slot); home == s {
				held++
			}
		}
		total.Databases = append(total.Databases, session.MovedDatabase{Name: s.member.name, Slots: held})
	}
	return total, nil
}
