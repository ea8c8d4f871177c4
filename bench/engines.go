package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// engineTurns is how many turns are measured in each round.
const engineTurns = 200

// engines measures how long the agent in TypeScript takes to load from the cache,
// and how long a turn of it takes, in QuickJS and in Node.js.
func engines(ctx context.Context, b *bench) ([]result, error) {
	const name = "engines"
	cache, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	dir := filepath.Join(cache, "app")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "index.ts"), typescriptAgent, 0o600)); err != nil {
		return nil, err
	}
	results, err := b.engine(ctx, name, "quickjs", dir, cache, nil)
	if err != nil {
		return nil, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		b.logf("%s: there is no Node.js", name)
		return results, nil
	}
	others, err := b.engine(ctx, name, "node", dir, cache, []string{node, "-e", "0"})
	if err != nil {
		return nil, err
	}
	others[0].Unit, others[0].ValueLimit = "ms to load in node, besides node -e 0", limitNode
	return append(results, others...), nil
}

// engine measures one engine. What the command bare takes does not count.
func (b *bench) engine(ctx context.Context, name, engine, dir, cache string, bare []string) ([]result, error) {
	var loads, turns []float64
	for round := range b.rounds + 1 {
		began := time.Now()
		if bare != nil {
			if err := exec.CommandContext(ctx, bare[0], bare[1:]...).Run(); err != nil {
				return nil, err
			}
		}
		less := time.Since(began)
		began = time.Now()
		srv, err := parley.Open(ctx, parley.Config{
			Scripts: parley.ScriptConfig{Dir: dir, AppName: typescriptApp, Engine: parley.Engine(engine), CacheDir: cache}, Models: map[string]model.Model{"bench-weather": weatherModel{}},
			Stdout: io.Discard, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
		loaded := time.Since(began) - less
		began = time.Now()
		for i := range engineTurns {
			for _, failed := range srv.Stream(ctx, parley.Request{App: typescriptApp, User: user, Session: fmt.Sprintf("s-%d", i), Message: event.Text(event.RoleUser, "?")}) {
				err = errors.Join(err, failed)
			}
		}
		turn := time.Since(began) / engineTurns
		srv.Close(context.WithoutCancel(ctx))
		if err != nil {
			return nil, err
		}
		if round == 0 {
			continue // which fills the cache
		}
		loads, turns = append(loads, loaded.Seconds()*1000), append(turns, float64(turn.Microseconds()))
		b.logf("%s: %s: round %d of %d: loaded in %v, %v for a turn", name, engine, round, b.rounds, loaded, turn)
	}
	return []result{
		{Scenario: name, Unit: "ms to load in " + engine, Parley: median(loads), ValueLimit: limitStartAgain},
		{Scenario: name, Unit: "µs for a turn in " + engine, Parley: median(turns)},
	}, nil
}
