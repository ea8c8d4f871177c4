package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

// slots is how many groups of users there are. A group is in one database, and moves
// to another as a whole.
const slots = 1 << 12

// slotLock is the class of the advisory locks of slots. What adds a user to a database
// shares the lock of its slot, so that the slot cannot leave in the meantime.
const slotLock int32 = 0x7061726c // "parl"

const (
	sqlShareSlot = `SELECT pg_advisory_xact_lock_shared($1::integer, $2::integer)`
	sqlLockSlots = `SELECT pg_advisory_xact_lock($1::integer, u.slot) FROM (SELECT unnest($2::integer[]) AS slot ORDER BY 1) AS u`
	sqlElsewhere = `SELECT name FROM parley_slots WHERE slot = $1::integer AND NOT here`
	sqlSlot      = `SELECT name, here, hop FROM parley_slots WHERE slot = $1::integer`
	sqlSlots     = `SELECT slot, name, here, hop FROM parley_slots`
)

// slotOf returns the slot of a user. It is the beginning of the digest by which tables
// are indexed.
func slotOf(key session.Key) int32 {
	digest := key.OwnerDigest()
	return slotIn(digest[:])
}

func slotIn(owner []byte) int32 { return int32(owner[0])<<4 | int32(owner[1])>>4 }

// bounds of slots are the first digest of each, and the first after it.
func ownersOf(list []int32) (from, to [][]byte) {
	for _, slot := range list {
		from = append(from, binary.BigEndian.AppendUint16(nil, uint16(slot<<4)))
		if slot == slots-1 {
			to = append(to, []byte(strings.Repeat("\xff", 33)))
		} else {
			to = append(to, binary.BigEndian.AppendUint16(nil, uint16((slot+1)<<4)))
		}
	}
	return from, to
}

// choose returns the database of a slot: the one whose name gives the largest hash. A
// database that is added only takes slots, and about as many from each of the others.
func choose(slot int32, names []string) string {
	weight := func(name string) uint64 {
		h := fnv.New64a()
		_, _ = h.Write(binary.BigEndian.AppendUint32([]byte(name), uint32(slot)))
		x := h.Sum64() // the last bytes change few of its bits
		x = (x ^ x>>33) * 0xff51afd7ed558ccd
		x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
		return x ^ x>>33
	}
	return slices.MaxFunc(names, func(a, b string) int {
		if x, y := weight(a), weight(b); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

// elsewhereError means that a user is in another database.
type elsewhereError struct{ name string }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("the sessions of this user are in the database %q: add it to the list of databases of this server", e.name)
}

// elsewhere returns an *elsewhereError if a user is in another database.
func elsewhere(ctx context.Context, db querier, key session.Key) error {
	var name string
	err := db.QueryRow(ctx, sqlElsewhere, slotOf(key)).Scan(&name)
	if none(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("looking for the database of a user: %w", err)
	}
	return &elsewhereError{name}
}

// location is what a database knows of a slot.
type location struct {
	Name string
	Here bool
	Hop  int32
}

// slot returns what the database knows of a slot. One without a row is here.
func (s *backend) slot(ctx context.Context, slot int32) (w location, err error) {
	err = s.read(ctx, "looking for the database of a user", func(ctx context.Context, conn *pgxpool.Conn) error {
		err := conn.QueryRow(ctx, sqlSlot, slot).Scan(&w.Name, &w.Here, &w.Hop)
		if none(err) {
			w = location{Name: s.member.name, Here: true}
			return nil
		}
		return err
	})
	return w, err
}

// allSlots returns what the database knows of all slots.
func (s *backend) allSlots(ctx context.Context) (known map[int32]location, err error) {
	err = s.read(ctx, "reading where users are", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlSlots)
		if err != nil {
			return err
		}
		known = map[int32]location{}
		var slot int32
		var w location
		_, err = pgx.ForEachRow(rows, []any{&slot, &w.Name, &w.Here, &w.Hop}, func() error {
			known[slot] = w
			return nil
		})
		return err
	})
	return known, err
}
