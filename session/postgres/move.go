package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/retry"
)

// A slot moves in three transactions. The first one, in the database that it leaves,
// moves its rows to parley_moving, where no statement finds them, and notes where the
// slot goes; writers wait for it, and then find nothing. The second one, in the
// database where it arrives, adds and compares the rows, and notes that the slot is
// here. The third one deletes the rows from parley_moving. If the process ends in
// between, the next one makes the rest: that of a later call of Move, or a server that
// looks for a user of the slot.

// kinds are the tables with rows of users, in an order in which rows can be added.
// where selects the rows of a slot: o are the sessions (ordinal, slot) and u the slots
// (slot, lowest, highest), with the digests of their users.
var kinds = []rowsOf{
	{"parley_sessions", "o", "t.ordinal = o.ordinal"},
	{"parley_initial", "o", "t.session = o.ordinal"},
	{"parley_events", "o", "t.session = o.ordinal"},
	{"parley_runs", "o", "t.session = o.ordinal"},
	{"parley_journal", "o", "t.session = o.ordinal"},
	{"parley_deaths", "o", "t.session = o.ordinal"},
	{"parley_recordings", "o", "t.session = o.ordinal"},
	{"parley_recording_parts", "o", "t.session = o.ordinal"},
	{"parley_said", "o", "t.session = o.ordinal"},
	{"parley_feedback", "o", "t.session = o.ordinal"},
	{"parley_said_until", "o", "t.session = o.ordinal"},
	{"parley_subscriptions", "o", "t.session = o.ordinal"},
	{"parley_deliveries", "o, parley_subscriptions b", "b.session = o.ordinal AND t.subscription = b.number"},
	{endpointDeliveries, "o", "t.session = o.ordinal"},
	{"parley_published", "o", "t.session = o.ordinal"},
	{"parley_state", "o", "t.owner = int8send(o.ordinal)"},
	{userState, "u", "t.owner >= u.lowest AND t.owner < u.highest AND octet_length(t.owner) = 32 AND substr(t.name, 1, 5) = 'user:'"},
	{"parley_secrets", "u", "t.owner >= u.lowest AND t.owner < u.highest"},
	{"parley_memories", "u", "t.owner >= u.lowest AND t.owner < u.highest"},
	{"parley_memory_words", "u", "t.owner >= u.lowest AND t.owner < u.highest"},
	{"parley_schedules", "u", "t.owner >= u.lowest AND t.owner < u.highest"},
	{"parley_firings", "u", "t.owner >= u.lowest AND t.owner < u.highest"},
}

// rowsOf are the rows of users in a table.
type rowsOf struct{ table, using, where string }

const (
	// endpointDeliveries are those rows of parley_deliveries that belong to endpoints.
	endpointDeliveries = "parley_deliveries of endpoints"

	// userState are those rows of parley_state that belong to users.
	userState = "parley_state of users"

	sqlMoveSettings = `SELECT set_config('TimeZone', 'UTC', true), set_config('bytea_output', 'hex', true), set_config('statement_timeout', '0', true)`

	// $1 slots, $2 and $3 the bounds of their users.
	slotRange = `unnest($1::integer[], $2::bytea[], $3::bytea[]) AS u (slot, lowest, highest)`

	// Each index has a part of the sessions.
	sqlSessionsOf = `SELECT s.ordinal, ` + slotExpression + ` FROM parley_sessions s WHERE s.ordinal = ANY (ARRAY(
			SELECT v.ordinal FROM ` + slotRange + ` JOIN parley_sessions v ON NOT v.hidden AND v.owner >= u.lowest AND v.owner < u.highest
			UNION ALL
			SELECT h.ordinal FROM ` + slotRange + ` JOIN parley_sessions h ON h.hidden AND h.owner >= u.lowest AND h.owner < u.highest))
		ORDER BY s.ordinal`

	// In the order in which other statements lock runs.
	sqlLockRuns = `SELECT FROM parley_runs WHERE session = ANY ($1::bigint[]) ORDER BY session, number FOR UPDATE`

	// What adds firings locks their schedule.
	sqlLockSchedules = `SELECT FROM parley_schedules t JOIN ` + slotRange + ` ON t.owner >= u.lowest AND t.owner < u.highest FOR UPDATE OF t`

	// $1 users: applications, $2 names, $3 slots.
	sqlLeaveUsage = `WITH d AS (DELETE FROM %s t USING unnest($1::text[], $2::text[], $3::integer[]) AS u (app, usr, slot)
			WHERE t.app = u.app AND t.usr = u.usr RETURNING u.slot, row_to_json(t)::text AS body)
		INSERT INTO parley_moving (slot, kind, body) SELECT slot, 'parley_usage_log', body FROM d`

	sqlLeaveModels = `WITH d AS (DELETE FROM parley_model_usage t USING unnest($1::text[], $2::text[], $3::integer[]) AS u (app, usr, slot)
			WHERE t.app = u.app AND t.usr = u.usr RETURNING u.slot, t.*)
		INSERT INTO parley_moving (slot, kind, body) SELECT slot, 'parley_usage_log', json_build_object('day', day, 'app', app, 'usr', usr,
			'runs', 0, 'prompt', 0, 'candidates', 0, 'total', 0, 'cached', 0, 'thoughts', 0, 'tool_prompt', 0,
			'models', json_build_array(json_build_array(to_jsonb(d) - '{slot,day,app,usr}'::text[])))::text FROM d`

	// Text is the same in all versions of Postgres, and so is its hash.
	digestOf = `count(*), coalesce(sum(('x' || left(md5(body), 15))::bit(60)::bigint), 0)::text`
)

// table returns the table of a kind.
func table(kind string) string {
	name, _, _ := strings.Cut(kind, " ")
	return name
}

// retryTransient repeats a step of a move for a minute while it fails with a transient error.
func retryTransient(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(time.Minute)
	for pauses := (retry.Backoff{Wait: firstWait, Max: time.Second}); ; {
		err := try()
		if err == nil || judge(err) == final || time.Now().After(deadline) {
			return err
		}
		if err := retry.Sleep(ctx, pauses.Next()); err != nil {
			return err
		}
	}
}

// transact calls f in a transaction without the time limit of other calls.
func (s *backend) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	return retryTransient(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return tag(ctx, conn, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlMoveSettings); err != nil {
				return err
			}
			return f(tx)
		}))
	})
}

// user is a user of an application.
type user struct{ app, name string }

// leave removes slots from the database, on their way to another one. usage are
// users of these slots who may have usage without having sessions.
func (s *backend) leave(ctx context.Context, list []int32, to string, usage map[user]int32) error {
	return s.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockSlots, slotLock, list); err != nil {
			return fmt.Errorf("locking users: %w", err)
		}
		gone := map[int32]bool{}
		rows, err := tx.Query(ctx, `SELECT slot FROM parley_slots WHERE slot = ANY ($1::integer[]) AND NOT here`, list)
		if err != nil {
			return err
		}
		var slot int32
		if _, err := pgx.ForEachRow(rows, []any{&slot}, func() error { gone[slot] = true; return nil }); err != nil {
			return fmt.Errorf("reading where users are: %w", err)
		}
		var left []int32
		for _, slot := range list {
			if !gone[slot] {
				left = append(left, slot)
			}
		}
		if len(left) == 0 {
			return nil
		}
		// What may be there is of an earlier move that is complete.
		if _, err := tx.Exec(ctx, `DELETE FROM parley_moving WHERE slot = ANY ($1::integer[])`, left); err != nil {
			return err
		}
		var occupied bool
		if err := tx.QueryRow(ctx, sqlOccupied).Scan(&occupied); err != nil {
			return err
		}
		if occupied {
			if err := leaveRows(ctx, tx, left, usage); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `INSERT INTO parley_slots AS t (slot, here, name, hop) SELECT u.slot, false, $2::text, 1 FROM unnest($1::integer[]) AS u (slot)
			ON CONFLICT (slot) DO UPDATE SET here = false, name = excluded.name, hop = t.hop + 1`, left, to)
		return err
	})
}

// sessionsOf returns the ordinals of the sessions of slots, and the slot of each.
func sessionsOf(ctx context.Context, tx pgx.Tx, list []int32, lock string) (ordinals []int64, places []int32, err error) {
	from, to := ownersOf(list)
	rows, err := tx.Query(ctx, sqlSessionsOf+lock, list, from, to)
	if err != nil {
		return nil, nil, fmt.Errorf("reading sessions: %w", err)
	}
	var ordinal int64
	var slot int32
	_, err = pgx.ForEachRow(rows, []any{&ordinal, &slot}, func() error {
		ordinals, places = append(ordinals, ordinal), append(places, slot)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading sessions: %w", err)
	}
	return ordinals, places, nil
}

// leaveRows moves the rows of slots to parley_moving.
func leaveRows(ctx context.Context, tx pgx.Tx, list []int32, usage map[user]int32) error {
	from, to := ownersOf(list)
	ordinals, places, err := sessionsOf(ctx, tx, list, ` FOR UPDATE OF s`)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlLockRuns, ordinals); err != nil {
		return fmt.Errorf("locking runs: %w", err)
	}
	if _, err := tx.Exec(ctx, sqlLockSchedules, list, from, to); err != nil {
		return fmt.Errorf("locking schedules: %w", err)
	}
	users := maps.Clone(usage)
	if users == nil {
		users = map[user]int32{}
	}
	rows, err := tx.Query(ctx, `SELECT DISTINCT s.app, s.usr, o.slot FROM parley_sessions s
		JOIN unnest($1::bigint[], $2::integer[]) AS o (ordinal, slot) ON s.ordinal = o.ordinal`, ordinals, places)
	if err != nil {
		return err
	}
	var one user
	var slot int32
	if _, err := pgx.ForEachRow(rows, []any{&one.app, &one.name, &slot}, func() error { users[one] = slot; return nil }); err != nil {
		return err
	}
	for _, k := range slices.Backward(kinds) { // what refers to other rows is deleted first
		var err error
		if k.using == "u" {
			_, err = tx.Exec(ctx, `WITH d AS (DELETE FROM `+table(k.table)+` t USING `+slotRange+` WHERE `+k.where+`
					RETURNING u.slot, row_to_json(t)::text AS body)
				INSERT INTO parley_moving (slot, kind, body) SELECT slot, $4::text, body FROM d`, list, from, to, k.table)
		} else {
			_, err = tx.Exec(ctx, `WITH d AS (DELETE FROM `+table(k.table)+` t
					USING unnest($1::bigint[], $2::integer[]) AS `+strings.Replace(k.using, "o", "o (ordinal, slot)", 1)+` WHERE `+k.where+`
					RETURNING o.slot, row_to_json(t)::text AS body)
				INSERT INTO parley_moving (slot, kind, body) SELECT slot, $3::text, body FROM d`, ordinals, places, k.table)
		}
		if err != nil {
			return fmt.Errorf("moving rows of %s: %w", k.table, err)
		}
	}
	var apps, names []string
	places = nil
	for u, slot := range users {
		apps, names, places = append(apps, u.app), append(names, u.name), append(places, slot)
	}
	// In this order: what another process folds in the meantime is in the second.
	for _, name := range []string{"parley_usage_log", "parley_usage"} {
		if _, err := tx.Exec(ctx, fmt.Sprintf(sqlLeaveUsage, name), apps, names, places); err != nil {
			return fmt.Errorf("moving rows of %s: %w", name, err)
		}
	}
	if _, err := tx.Exec(ctx, sqlLeaveModels, apps, names, places); err != nil {
		return fmt.Errorf("moving rows of parley_model_usage: %w", err)
	}
	return nil
}

// errDiffers means that what has arrived is not what has left.
var errDiffers = errors.New("the rows that have arrived differ from those that have left; nothing was deleted")

// arrive adds slots that have left another database for this one, and deletes what is
// left of them there. It has no effect for slots that have arrived.
func (s *backend) arrive(ctx context.Context, list []int32, source *backend) error {
	past, err := source.counted(ctx)
	if err != nil {
		return err
	}
	if err := s.advance(ctx, past); err != nil {
		return err
	}
	there, err := source.allSlots(ctx)
	if err != nil {
		return err
	}
	err = s.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockSlots, slotLock, list); err != nil {
			return fmt.Errorf("locking users: %w", err)
		}
		known := map[int32]int32{}
		rows, err := tx.Query(ctx, `SELECT slot, hop FROM parley_slots WHERE slot = ANY ($1::integer[])`, list)
		if err != nil {
			return err
		}
		var slot, hop int32
		if _, err := pgx.ForEachRow(rows, []any{&slot, &hop}, func() error { known[slot] = hop; return nil }); err != nil {
			return fmt.Errorf("reading where users are: %w", err)
		}
		var due, hops []int32
		for _, slot := range list {
			if w := there[slot]; !w.Here && w.Name == s.member.name && w.Hop > known[slot] {
				due, hops = append(due, slot), append(hops, w.Hop)
			}
		}
		if len(due) == 0 {
			return nil
		}
		if err := arriveRows(ctx, tx, due, source); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO parley_slots (slot, here, name, hop) SELECT u.slot, true, $3::text, u.hop FROM unnest($1::integer[], $2::integer[]) AS u (slot, hop)
			ON CONFLICT (slot) DO UPDATE SET here = true, name = excluded.name, hop = excluded.hop`, due, hops, s.member.name)
		return err
	})
	if err != nil {
		return err
	}
	return source.transact(ctx, func(tx pgx.Tx) error {
		// A slot may have come back since.
		_, err := tx.Exec(ctx, `DELETE FROM parley_moving m USING parley_slots p, unnest($1::integer[], $2::integer[]) AS u (slot, hop)
			WHERE m.slot = u.slot AND p.slot = u.slot AND p.hop = u.hop AND NOT p.here`, list, hopsOf(list, there))
		return err
	})
}

func hopsOf(list []int32, known map[int32]location) []int32 {
	hops := make([]int32, len(list))
	for i, slot := range list {
		hops[i] = known[slot].Hop
	}
	return hops
}

// mostRows is how many rows are added with one statement.
const mostRows = 500

// arriveRows copies the rows of slots, and compares them.
func arriveRows(ctx context.Context, tx pgx.Tx, list []int32, source *backend) error {
	conn, err := source.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return tag(ctx, conn, addRows(ctx, tx, list, conn))
}

func addRows(ctx context.Context, tx pgx.Tx, list []int32, conn *pgxpool.Conn) error {
	rows, err := conn.Query(ctx, `SELECT DISTINCT kind FROM parley_moving WHERE slot = ANY ($1::integer[])`, list)
	if err != nil {
		return err
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("reading what moves: %w", err)
	}
	for _, k := range append(kindNames(), "parley_usage_log") {
		if !slices.Contains(there, k) {
			continue
		}
		count, sum, err := digestMoving(ctx, conn, list, k)
		if err != nil {
			return err
		}
		added, err := copyRows(ctx, tx, conn, list, k)
		if err != nil {
			return fmt.Errorf("adding rows to %s: %w", table(k), err)
		}
		if added != count {
			return fmt.Errorf("%s: %w", k, errDiffers)
		}
		if k == "parley_usage_log" {
			continue // the table has no key, and rows of runs that have ended since
		}
		count2, sum2, err := digestHere(ctx, tx, list, k)
		if err != nil {
			return err
		}
		if count2 != count || sum2 != sum {
			return fmt.Errorf("%s: %d rows instead of %d: %w", k, count2, count, errDiffers)
		}
	}
	return nil
}

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.table)
	}
	return names
}

func digestMoving(ctx context.Context, db querier, list []int32, kind string) (count int64, sum string, err error) {
	err = db.QueryRow(ctx, `SELECT `+digestOf+` FROM parley_moving WHERE slot = ANY ($1::integer[]) AND kind = $2`, list, kind).Scan(&count, &sum)
	if err != nil {
		return 0, "", fmt.Errorf("comparing rows: %w", err)
	}
	return count, sum, nil
}

// digestHere is like digestMoving for the rows that were added.
func digestHere(ctx context.Context, tx pgx.Tx, list []int32, kind string) (count int64, sum string, err error) {
	k := kinds[slices.IndexFunc(kinds, func(k rowsOf) bool { return k.table == kind })]
	from, to := ownersOf(list)
	source, args := slotRange, []any{list, from, to}
	if k.using != "u" {
		ordinals, _, err := sessionsOf(ctx, tx, list, "")
		if err != nil {
			return 0, "", err
		}
		source, args = `unnest($1::bigint[]) AS `+strings.Replace(k.using, "o", "o (ordinal)", 1), []any{ordinals}
	}
	err = tx.QueryRow(ctx, `SELECT `+digestOf+` FROM (SELECT row_to_json(t)::text AS body FROM `+source+`, `+table(kind)+` t WHERE `+k.where+`) AS rows`, args...).Scan(&count, &sum)
	if err != nil {
		return 0, "", fmt.Errorf("comparing rows: %w", err)
	}
	return count, sum, nil
}

// copyRows adds rows of one kind, some at a time.
func copyRows(ctx context.Context, tx pgx.Tx, conn *pgxpool.Conn, list []int32, kind string) (added int64, err error) {
	name := table(kind)
	var columns string
	err = tx.QueryRow(ctx, `SELECT string_agg(quote_ident(attname), ', ') FROM pg_catalog.pg_attribute
		WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, name).Scan(&columns)
	if err != nil {
		return 0, err
	}
	insert := `INSERT INTO ` + name + ` (` + columns + `) OVERRIDING SYSTEM VALUE
		SELECT ` + columns + ` FROM unnest($1::text[]) AS u (body), json_populate_record(NULL::` + name + `, u.body::json)`
	rows, err := conn.Query(ctx, `SELECT body FROM parley_moving WHERE slot = ANY ($1::integer[]) AND kind = $2 ORDER BY number`, list, kind)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var some []string
	size := 0
	flush := func() error {
		tag, err := tx.Exec(ctx, insert, some)
		added += tag.RowsAffected()
		some, size = nil, 0
		return err
	}
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			return added, err
		}
		some = append(some, body)
		if size += len(body); len(some) == mostRows || size > mostBytes {
			if err := flush(); err != nil {
				return added, err
			}
		}
	}
	if err := rows.Err(); err != nil || len(some) == 0 {
		return added, err
	}
	return added, flush()
}
