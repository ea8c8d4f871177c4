package parley

import (
	"context"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/webhook"
	"github.com/parley-run/parley/session"
)

// openWebhooks prepares what publishes events. The engine uses it.
func (s *Server) openWebhooks() {
	if s.outbox != nil {
		s.webhooks = &webhook.Service{Box: s.outbox, Store: s.store.Outbox}
	}
}

// startWebhooks starts what sends webhooks.
func (s *Server) startWebhooks() {
	if s.webhooks != nil && !s.cfg.Sessions.Passive {
		s.webhooks.Start(s.engine)
	}
}

// scheduleMissed publishes that nothing was started for a time of a schedule.
func (s *Server) scheduleMissed(ctx context.Context, d *session.DueSchedule) error {
	at := d.Next.UTC().Format(time.RFC3339Nano)
	return s.webhooks.Publish(ctx, d.Key(), "schedule "+d.User+" "+d.ID+" "+at, webhook.ScheduleMissed, "",
		map[string]string{"schedule": d.ID, "time": at})
}

// budgetReached publishes that a user has reached a budget.
func (s *Server) budgetReached(ctx context.Context, r run.Reached) error {
	return s.webhooks.Publish(ctx, session.Key{App: r.App, User: r.User}, "budget "+r.User+" "+r.Budget+" "+r.Day, webhook.BudgetReached, "",
		map[string]string{"budget": r.Budget, "day": r.Day, "message": r.Message})
}
