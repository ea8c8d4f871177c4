package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/event"
)

// member is a database among several. Its name is stored in it, so that its URL may
// change.
type member struct {
	name   string
	number int64
}

// mostPlaces is how many databases there can be. Database n of them assigns the
// numbers n, n + 64, n + 128 and so on, so that a row keeps its numbers when it moves.
const mostPlaces = 64

// counters are the sequences of numbers that rows keep.
var counters = []string{
	"parley_epochs", "parley_numbers", "parley_sessions_ordinal_seq", "parley_memories_id_seq",
	"parley_subscriptions_number_seq", "parley_deliveries_number_seq",
}

const (
	sqlPlace    = `SELECT name, number FROM parley_place`
	sqlOccupied = `SELECT EXISTS (SELECT FROM parley_sessions) OR EXISTS (SELECT FROM parley_secrets) OR EXISTS (SELECT FROM parley_memories)
		OR EXISTS (SELECT FROM parley_usage) OR EXISTS (SELECT FROM parley_usage_log) OR EXISTS (SELECT FROM parley_schedules)`

	// Writers wait, so that no app: key is without a stamp.
	sqlStamp = `LOCK TABLE parley_state IN SHARE ROW EXCLUSIVE MODE`

	sqlStampAll = `UPDATE parley_state SET stamp = clock_timestamp() WHERE stamp IS NULL AND substr(name, 1, 4) = 'app:' AND octet_length(owner) = 32`
)

// findMember reads the place of the database; it has no name if it has none.
func (s *backend) findMember(ctx context.Context) error {
	return s.read(ctx, "reading the name of the database", func(ctx context.Context, conn *pgxpool.Conn) error {
		s.member = member{}
		err := conn.QueryRow(ctx, sqlPlace).Scan(&s.member.name, &s.member.number)
		if none(err) {
			return nil
		}
		return err
	})
}

// errOccupied refuses a database that has been used alone.
var errOccupied = errors.New("two databases of the list have sessions: one that is added to others must be empty")

// settle gives the database a place, unless it has one. All numbers that it assigns
// will be greater than least. users says whether it has all users, or none.
func (s *backend) settle(ctx context.Context, number int64, name string, least map[string]int64, users bool, first string) error {
	err := s.write(ctx, "giving the database a name", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		return transact(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::bigint)`, int64(migrationLock)); err != nil {
				return err
			}
			var there bool
			if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM parley_place)`).Scan(&there); err != nil || there {
				return err // another process was first
			}
			if !users {
				var occupied bool
				if err := tx.QueryRow(ctx, sqlOccupied).Scan(&occupied); err != nil {
					return err
				}
				if occupied {
					return errOccupied
				}
				if _, err := tx.Exec(ctx, `INSERT INTO parley_slots (slot, here, name, hop) SELECT n, false, $1::text, 0 FROM generate_series(0, $2::integer) n`, first, slots-1); err != nil {
					return err
				}
			} else if _, err := tx.Exec(ctx, `INSERT INTO parley_members (number, name) VALUES ($1, $2)`, number, name); err != nil {
				return err
			}
			for _, counter := range counters {
				if err := spread(ctx, tx, counter, number, least[counter]); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(ctx, sqlStamp); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlStampAll); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO parley_place (name, number) VALUES ($1, $2)`, name, number)
			return err
		})
	})
	if err != nil {
		return err
	}
	return s.findMember(ctx)
}

// spread has a sequence continue after least with the numbers of a place. The first
// statement blocks all others that use the sequence.
func spread(ctx context.Context, tx pgx.Tx, counter string, number, least int64) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(`ALTER SEQUENCE %s INCREMENT BY %d`, counter, mostPlaces)); err != nil {
		return err
	}
	var last int64
	if err := tx.QueryRow(ctx, `SELECT last_value FROM `+counter).Scan(&last); err != nil {
		return err
	}
	next := (max(last, least)/mostPlaces+1)*mostPlaces + number
	_, err := tx.Exec(ctx, fmt.Sprintf(`ALTER SEQUENCE %s RESTART WITH %d`, counter, next))
	return err
}

// counted returns the last numbers that were assigned.
func (s *backend) counted(ctx context.Context) (last map[string]int64, err error) {
	err = s.read(ctx, "reading the last numbers", func(ctx context.Context, conn *pgxpool.Conn) error {
		last = map[string]int64{}
		for _, counter := range counters {
			var n int64
			err := pgx.ErrNoRows
			// A sequence that another process advances gets a new file. A statement that has
			// opened the old one finds it empty.
			for none(err) {
				err = conn.QueryRow(ctx, `SELECT last_value FROM `+counter).Scan(&n)
			}
			if err != nil {
				return err
			}
			last[counter] = n
		}
		return nil
	})
	return last, err
}

// slack is how far a sequence is advanced beyond the numbers that have arrived, so
// that it need not be advanced for every slot.
const slack = 1 << 20

// advance has the database assign greater numbers than those that another one has
// assigned: an epoch must be greater than all before it, and a later session has a
// greater ordinal.
func (s *backend) advance(ctx context.Context, past map[string]int64) error {
	own, err := s.counted(ctx)
	if err != nil {
		return err
	}
	behind := slices.DeleteFunc(slices.Clone(counters), func(c string) bool { return own[c] > past[c] })
	if len(behind) == 0 {
		return nil
	}
	return s.write(ctx, "advancing the numbers of the database", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		return transact(ctx, conn, func(tx pgx.Tx) error {
			for _, counter := range behind {
				if err := spread(ctx, tx, counter, s.member.number, past[counter]+slack); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// register adds a database to the list in the first one, and returns its number.
func (s *backend) register(ctx context.Context, name string) (number int64, err error) {
	err = s.write(ctx, "registering a database", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		return transact(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `LOCK TABLE parley_members IN SHARE ROW EXCLUSIVE MODE`); err != nil {
				return err
			}
			err := tx.QueryRow(ctx, `SELECT number FROM parley_members WHERE name = $1`, name).Scan(&number)
			if !none(err) {
				return err
			}
			return tx.QueryRow(ctx, `INSERT INTO parley_members (number, name) SELECT max(number) + 1, $1 FROM parley_members RETURNING number`, name).Scan(&number)
		})
	})
	if err == nil && number >= mostPlaces {
		err = fmt.Errorf("there can be at most %d databases", mostPlaces)
	}
	return number, err
}

// firstOf returns the database that has users, or the first one of the list.
func firstOf(ctx context.Context, list []*backend) (*backend, error) {
	var found *backend
	for _, s := range list {
		occupied, err := s.occupied(ctx)
		if err != nil {
			return nil, err
		}
		if occupied && found != nil {
			return nil, errOccupied
		}
		if occupied {
			found = s
		}
	}
	return cmp.Or(found, list[0]), nil
}

// occupied reports whether the database has users.
func (s *backend) occupied(ctx context.Context) (there bool, err error) {
	err = s.read(ctx, "looking for sessions", func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, sqlOccupied).Scan(&there)
	})
	return there, err
}

// join gives places to those databases that have none, and returns all in the order
// of their numbers. The first one keeps the users that it has; the others are empty.
func join(ctx context.Context, list []*backend) error {
	for _, s := range list {
		if err := s.findMember(ctx); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(list, func(s *backend) bool { return s.member.name != "" }) {
		first, err := firstOf(ctx, list)
		if err != nil {
			return err
		}
		if err := first.settle(ctx, 0, event.NewID(), nil, true, ""); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(list, func(s *backend) bool { return s.member.name != "" && s.member.number == 0 })
	if i < 0 {
		return errors.New("the list lacks the database that was the first one when there was no other: add its URL")
	}
	first := list[i]
	for _, s := range list {
		if s.member.name != "" {
			continue
		}
		name := event.NewID()
		number, err := first.register(ctx, name)
		if err != nil {
			return err
		}
		least, err := first.counted(ctx)
		if err != nil {
			return err
		}
		if err := s.settle(ctx, number, name, least, false, first.member.name); err != nil {
			return err
		}
	}
	slices.SortFunc(list, func(a, b *backend) int { return int(a.member.number - b.member.number) })
	return first.checkMembers(ctx, list)
}

// checkMembers refuses databases that do not belong together.
func (s *backend) checkMembers(ctx context.Context, list []*backend) error {
	return s.read(ctx, "reading the list of databases", func(ctx context.Context, conn *pgxpool.Conn) error {
		seen := map[string]bool{}
		for _, one := range list {
			var name string
			err := conn.QueryRow(ctx, `SELECT name FROM parley_members WHERE number = $1`, one.member.number).Scan(&name)
			if err != nil && !none(err) {
				return err
			}
			if name != one.member.name {
				return fmt.Errorf("the database %q belongs to another list than %q", one.member.name, s.member.name)
			}
			if seen[name] {
				return fmt.Errorf("two URLs of the list are of the same database %q", name)
			}
			seen[name] = true
		}
		return nil
	})
}
