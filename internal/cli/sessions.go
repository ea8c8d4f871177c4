package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/session"
)

// sessionFlags configure where sessions are stored, and how their runs behave.
type sessionFlags struct {
	url              string
	lease, ttl, wait time.Duration
	concurrency      *choice
	onDisconnect     *choice
}

func (s *sessionFlags) define(flags *pflag.FlagSet) {
	s.concurrency = oneOf("enqueue", "reject", "interrupt", "rollback")
	s.onDisconnect = oneOf("continue", "cancel")
	s.concurrency.kind, s.onDisconnect.kind = "policy", "policy"
	flags.StringVar(&s.url, "session_db_url", "", "database of sessions and runs: a `url` like\nsqlite:///path/to/file.db, postgres://user@host/db or\nagentengine://id, or several of Postgres, separated by\ncommas (default memory, until the server ends)")
	flags.DurationVar(&s.ttl, "session_ttl", 0, "delete sessions that have not changed for this `time`,\nsuch as 720h (default never)")
	flags.DurationVar(&s.wait, "wait_ttl", 7*24*time.Hour, "`time` that a run waits for an answer of a user, or for\na result from outside; 0 means without limit")
	flags.DurationVar(&s.lease, "run_lease", 10*time.Second, "`time` without a renewed lease after which another\nserver that shares the database takes over a run")
	flags.Var(s.concurrency, "concurrency", "policy for a message to a busy session: enqueue,\nreject, interrupt or rollback; a request can override\nit")
	flags.Var(s.onDisconnect, "on_disconnect", "continue or cancel a run whose client disconnects; a\nrequest can override it")
}

func (s *sessionFlags) configure(cfg *parley.Config) {
	cfg.Sessions.URL, cfg.Sessions.RunLease, cfg.Sessions.TTL = s.url, s.lease, s.ttl
	if cfg.Sessions.WaitTTL = s.wait; s.wait == 0 {
		cfg.Sessions.WaitTTL = -1
	}
	cfg.Sessions.OnBusy, cfg.Sessions.OnDisconnect = session.Policy(s.concurrency.value), parley.Disconnect(s.onDisconnect.value)
}
