package postgres

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

const (
	// notifyPause is the minimum interval between notifications.
	notifyPause = 25 * time.Millisecond
	// hintSize is the size of a hint in a payload, and hintsEach is how many fit
	// into one with its sender: Postgres allows 8000 bytes.
	hintSize  = 11
	hintsEach = 600
	// listenCheck is the interval at which an idle connection is checked.
	listenCheck = 20 * time.Second
	// manyDeleted is the number of deleted keys in a state from which on they are
	// purged.
	manyDeleted = 64

	// A hint is not worth waiting for the disk.
	sqlNotify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text)`

	// Other databases still have to learn of a key that was deleted lately.
	sqlPrune = `DELETE FROM parley_state WHERE ctid = ANY (ARRAY(
		SELECT t.ctid FROM parley_state t
		WHERE t.value IS NULL AND (t.stamp IS NULL OR t.stamp < clock_timestamp() - interval '1 day') AND t.owner IN ($1::bytea, $2::bytea, (SELECT int8send(ordinal) FROM parley_sessions WHERE digest = $3))
		FOR UPDATE SKIP LOCKED))`
)

// hints are the pending notifications.
type hints struct {
	mu    sync.Mutex
	wake  chan struct{}
	hints map[uint64]struct{}
	prune map[session.Key]struct{} // sessions whose state has many deleted keys
}

// changed schedules a notification of a change.
func (s *backend) changed(key session.Key) {
	p := &s.pending
	p.mu.Lock()
	if p.hints == nil {
		p.hints = map[uint64]struct{}{}
	}
	p.hints[key.Hint()] = struct{}{}
	p.mu.Unlock()
	p.signal()
	s.indexing.grown.Add(key)
}

// prune schedules the purge of deleted keys of a state.
func (s *backend) prune(key session.Key) {
	p := &s.pending
	p.mu.Lock()
	if p.prune == nil {
		p.prune = map[session.Key]struct{}{}
	}
	p.prune[key] = struct{}{}
	p.mu.Unlock()
	p.signal()
}

// signal wakes notify.
func (p *hints) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *hints) take() (map[uint64]struct{}, map[session.Key]struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hints, prune := p.hints, p.prune
	p.hints, p.prune = nil, nil
	return hints, prune
}

// notify sends notifications until the store is closed.
func (s *backend) notify() {
	var folded time.Time
	for {
		select {
		case <-s.pending.wake:
			s.sendHints()
			if time.Since(folded) >= foldPause {
				s.fold()
				folded = time.Now()
			}
		case <-s.life.Done():
			s.sendHints()
			return
		}
		_ = retry.Sleep(s.life, notifyPause) // if the store is closed, the last hints are sent now
	}
}

// sendHints sends the pending hints. Those that cannot be sent are dropped: listeners
// have lost their connections, too, and assume any change when they reconnect.
func (s *backend) sendHints() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	hints, prune := s.pending.take()
	if s.db.Outage() != nil {
		return
	}
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(hints)), hintsEach) {
		if _, err := s.pool.Exec(ctx, sqlNotify, s.channel, payload(s.sender, chunk)); err != nil {
			s.log.LogAttrs(ctx, slog.LevelDebug, "other processes were not told of changes", slog.Any("err", err))
		}
	}
	for key := range prune {
		user, app, digest := key.OwnerDigest(), key.AppDigest(), key.Digest()
		if _, err := s.pool.Exec(ctx, sqlPrune, user[:], app[:], digest[:]); err != nil {
			s.log.LogAttrs(ctx, slog.LevelDebug, "deleted keys of a state were not removed", slog.Any("err", err))
		}
	}
}

// fold adds the usage of ended runs to the sums by day. Until then, both are read.
func (s *backend) fold() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.outage(true) != nil {
		return
	}
	if _, err := s.pool.Exec(ctx, sqlFoldUsage); err != nil {
		s.log.LogAttrs(ctx, slog.LevelDebug, "usage was not summed up", slog.Any("err", err))
	}
}

// payload returns the sender and the hints behind it, each with a fixed number of
// characters.
func payload(sender string, hints []uint64) string {
	var b strings.Builder
	b.WriteString(sender)
	for _, hint := range hints {
		b.WriteString(base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, hint)))
	}
	return b.String()
}

// hintsIn decodes a payload. An invalid one means any session.
func hintsIn(payload, self string) []uint64 {
	if strings.HasPrefix(payload, self) {
		return nil
	}
	var found []uint64
	for rest := payload[min(hintSize, len(payload)):]; rest != ""; {
		if len(rest) < hintSize {
			return []uint64{0}
		}
		b, err := base64.RawURLEncoding.DecodeString(rest[:hintSize])
		if err != nil {
			return []uint64{0}
		}
		found, rest = append(found, binary.BigEndian.Uint64(b)), rest[hintSize:]
	}
	return found
}

// Watch implements session.Leases, on its own connection. After it reconnects, any
// change may have been missed.
func (s *backend) Watch(ctx context.Context, changed func(hint uint64)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)() //nolint:contextcheck // it ends with the store, too
	first := retry.Backoff{Wait: firstWait, Max: 20 * lastWait}
	for pauses := first; ; {
		if o := s.db.Outage(); o != nil {
			select {
			case <-o.Over:
			case <-ctx.Done():
				return
			}
		}
		start := time.Now()
		err := s.listen(ctx, changed)
		if ctx.Err() != nil {
			return
		}
		s.log.LogAttrs(ctx, slog.LevelInfo, "the changes of other processes are not heard", slog.Any("err", err))
		if time.Since(start) > time.Second {
			pauses = first
		}
		if retry.Sleep(ctx, pauses.Next()) != nil {
			return
		}
	}
}

// listener makes the connection that listens.
func (s *backend) listener(ctx context.Context) (*pgx.Conn, error) {
	if s.address.listen != nil {
		return pgx.ConnectConfig(ctx, s.address.listen.Copy())
	}
	return s.connect(ctx)
}

// listen receives notifications until the connection breaks.
func (s *backend) listen(ctx context.Context, changed func(uint64)) error {
	conn, err := s.listener(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if s.address.listen != nil || !s.pooled.Load() { // otherwise others may get the connection
		if _, err := conn.Exec(ctx, sqlNoTimeouts, false); err != nil {
			return err
		}
	}
	// Behind a pooler, connections of the pool survive a promotion.
	if err := s.observe(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel}.Sanitize()); err != nil {
		return err
	}
	changed(0)
	for {
		n, err := wait(ctx, conn)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		for _, hint := range hintsIn(n.Payload, s.sender) {
			changed(hint)
		}
	}
}

// wait returns the next notification, or nil after a while in which the connection
// was alive.
func wait(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	short, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	n, err := conn.WaitForNotification(short)
	if err == nil || ctx.Err() != nil || !errors.Is(short.Err(), context.DeadlineExceeded) {
		return n, err
	}
	check, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	return nil, conn.Ping(check)
}
