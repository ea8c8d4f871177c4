package parley

import (
	"cmp"
	"context"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/playback"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

func (c *RecordingConfig) validate() error {
	if c.Share > 1 {
		return wrong("Recording.Share", "%v is more than 1, which is all runs", c.Share)
	}
	return nil
}

// newRecorder returns what records runs; nil if none are.
func (s *Server) newRecorder() *playback.Recorder {
	c := &s.cfg.Recording
	share := c.Share
	if share == 0 && s.cfg.UI.Enabled && s.cfg.local() {
		share = 1
	}
	if share <= 0 || s.store.Recordings == nil {
		return nil
	}
	return playback.NewRecorder(s.store.Recordings, share, max(cmp.Or(c.TTL, 7*24*time.Hour), 0), s.apps.Code, s.cfg.Log)
}

// edges are those of the runs of the server; nil if none are recorded.
func (s *Server) edges() func(run.Beginning) run.Edges {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.Edges
}

// newReplays is the service that repeats runs.
func (s *Server) newReplays(names func(string) (model.Model, error)) *playback.Service {
	cfg := &s.cfg
	limits := cfg.Limits.engine() // what is recorded does not count for those of a day
	limits.DayTokens, limits.DayCost, limits.WarnDayCost = 0, 0, 0
	return &playback.Service{
		Store: s.store, Recorder: s.recorder, Artifacts: s.artifacts, Models: names, Code: s.apps.Code, Logins: logins{s.logins},
		MaySpend: s.engine.MaySpend, Spend: s.engine.Spend, Log: cfg.Log,
		Engine: func(store session.Store, edges func(run.Beginning) run.Edges, other run.Logins) *run.Engine {
			return run.NewEngine(run.Options{
				Passive: true, Store: store, Agent: s.apps.Agent, Models: names, Log: cfg.Log, MaxModelCalls: cfg.Limits.ModelCalls, Now: cfg.Now,
				Logins: other, CredentialCall: string(cfg.Logins.Call), Artifacts: s.artifacts,
				Limits: limits, Prices: s.prices, Bounds: cfg.Limits.bounds(), Observer: repeated{unstored{s.telemetry}}, Edges: edges,
			})
		},
	}
}

// repeated observes replays, whose usage is mostly that of the recording. What they
// have used themselves is counted by the engine of the server.
type repeated struct{ unstored }

func (r repeated) Ended(row *session.Run, lost bool) {
	free := *row
	free.Usage, free.Models = event.Usage{}, nil
	r.unstored.Ended(&free, lost)
}

// Replay repeats a run that has ended, with recorded answers of models and tools as
// far as the plan says so, and returns how it differs. The replay is stored as a
// session of its own; nothing of the run changes. A plan that cannot be carried out is
// a *replay.PlanError; if the run has not ended, the error is replay.ErrActive.
func (s *Server) Replay(ctx context.Context, key session.Key, runID string, plan replay.Plan) (*replay.Report, error) {
	report, err := s.replays.Replay(ctx, key, runID, ident.Session(), plan)
	return report, public(absent(err, key, runID))
}

// Recording returns what is known of the calls of models and tools in a run that has
// ended.
func (s *Server) Recording(ctx context.Context, key session.Key, runID string) (*replay.Recording, error) {
	recording, err := s.replays.Recording(ctx, key, runID)
	return recording, public(absent(err, key, runID))
}
