// Package replaytest repeats the runs of a conversation with what was recorded of them,
// and fails a test if a replay differs.
package replaytest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// Run repeats a run, which must have been recorded.
func Run(t *testing.T, srv *parley.Server, key session.Key, id string) {
	t.Helper()
	report, err := srv.Replay(context.WithoutCancel(t.Context()), key, id, replay.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Same && !report.FromLog {
		return
	}
	doc, err := json.MarshalIndent(report, "", " ")
	t.Errorf("the replay of a run of %s differs, or the run was not recorded: %s (%v)", key.App, doc, err)
}

// Runs repeats all runs of a user of an application. There must be at least one. It may
// be called from a cleanup.
func Runs(t *testing.T, srv *parley.Server, app, user string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	list, _, err := srv.Sessions().List(ctx, app, user, session.Page{})
	if err != nil {
		t.Fatal(err)
	}
	repeated := 0
	for _, one := range list {
		if one.Origin != nil && one.Origin.Replay != "" { // it is a replay
			continue
		}
		full, err := srv.Sessions().Get(ctx, one.Key)
		if err != nil {
			t.Fatal(err)
		}
		events, err := full.Events()
		if err != nil {
			t.Fatal(err)
		}
		var runs []string
		for _, ev := range events {
			if ev.InvocationID != "" && !slices.Contains(runs, ev.InvocationID) {
				runs = append(runs, ev.InvocationID)
			}
		}
		for _, id := range runs {
			Run(t, srv, one.Key, id)
		}
		repeated += len(runs)
	}
	if repeated == 0 {
		t.Errorf("the user %s of %s has no runs", user, app)
	}
}
