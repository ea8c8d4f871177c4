// Package document encodes sessions, runs and states as clients get them, without
// the secret keys of states. Where clients get a state in another form, redact.State
// leaves them out.
package document

import (
	"maps"
	"slices"
	"strconv"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Session appends the JSON of a session. The bytes of its events are
// those that were stored.
func Session(dst []byte, s *session.Session) []byte {
	entries := s.Seen()
	size := 256
	for _, e := range entries {
		size += len(e.JSON) + 1
	}
	dst = SessionHead(slices.Grow(dst, size), s)
	for i, e := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e.JSON...)
	}
	return SessionTail(dst, s)
}

// SessionHead appends what comes before the events of a session.
func SessionHead(dst []byte, s *session.Session) []byte {
	dst = append(dst, `{"id":`...)
	dst = wire.Quote(dst, s.ID)
	dst = append(dst, `,"appName":`...)
	dst = wire.Quote(dst, s.App)
	dst = append(dst, `,"userId":`...)
	dst = wire.Quote(dst, s.User)
	if o := s.Origin; o != nil {
		dst = wire.Quote(append(dst, `,"forkedFrom":{"sessionId":`...), o.Session)
		if o.Event != "" {
			dst = wire.Quote(append(dst, `,"atEventId":`...), o.Event)
		}
		if o.Replay != "" {
			dst = wire.Quote(append(dst, `,"replayOf":`...), o.Replay)
		}
		dst = append(wire.Quote(append(dst, `,"rootId":`...), o.Root), '}')
	}
	dst = State(append(dst, `,"state":`...), s.State)
	return append(dst, `,"events":[`...)
}

// SessionTail appends what comes after the events of a session.
func SessionTail(dst []byte, s *session.Session) []byte {
	dst = append(dst, `],"lastUpdateTime":`...)
	dst = wire.Number(dst, event.Seconds(s.Updated))
	return append(dst, '}')
}

// State appends the JSON of a state, without its secret keys.
func State(dst []byte, state session.State) []byte {
	dst = append(dst, '{')
	start := len(dst)
	for _, k := range slices.Sorted(maps.Keys(state)) {
		if tool.IsSecret(k) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = wire.Quote(dst, k)
		dst = append(dst, ':')
		dst = append(dst, state[k]...)
	}
	return append(dst, '}')
}

// Entries appends the JSON array of events.
func Entries(dst []byte, entries []*session.Entry) []byte {
	return Array(dst, entries, func(dst []byte, e *session.Entry) []byte { return append(dst, e.JSON...) })
}

// Array appends a JSON array, item by item.
func Array[T any](dst []byte, items []T, item func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, one := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, one)
	}
	return append(dst, ']')
}

// Run appends the JSON of a run.
func Run(dst []byte, r *session.Run) []byte {
	member := func(name, value string) {
		if value != "" {
			dst = append(wire.Quote(append(dst, ','), name), ':')
			dst = wire.Quote(dst, value)
		}
	}
	dst = wire.Quote(append(dst, `{"id":`...), r.ID)
	member("appName", r.Key.App)
	member("userId", r.Key.User)
	member("sessionId", r.Key.ID)
	member("status", string(r.Status))
	member("stop", string(r.Stop))
	member("resumes", r.Resumes)
	member("resumedBy", r.ResumedBy)
	if r.Attempt > 0 {
		dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(r.Attempt), 10)
	}
	if f := r.Failure; f != nil {
		dst = wire.Quote(append(dst, `,"error":{"type":`...), f.Type)
		dst = wire.Quote(append(dst, `,"message":`...), f.Message)
		if f.Reported {
			dst = append(dst, `,"reported":true`...)
		}
		dst = append(dst, '}')
	}
	if r.Usage.Total != 0 {
		if usage, err := r.Usage.MarshalJSON(); err == nil {
			dst = append(append(dst, `,"usageMetadata":`...), usage...)
		}
		cost := r.Cost()
		if cost.Unpriced < r.Usage.Total {
			dst = append(append(dst, `,"costUsd":`...), price.USD(cost.Nanos)...)
		}
		if cost.Unpriced > 0 {
			dst = strconv.AppendInt(append(dst, `,"unpricedTokens":`...), cost.Unpriced, 10)
		}
	}
	dst = wire.Number(append(dst, `,"createTime":`...), event.Seconds(r.Created))
	if !r.Ended.IsZero() {
		dst = wire.Number(append(dst, `,"endTime":`...), event.Seconds(r.Ended))
	}
	return append(dst, '}')
}
